"""Classifiers of data that do not fit in memory, with Dask; nothing else knows about it."""

from raremetric.extras import import_optional

import_optional("dask.distributed", "raremetric.dask")  # one sentence if it is not installed

from raremetric.dask.classifier import DaskClassifier  # noqa: E402

__all__ = ["DaskClassifier"]
