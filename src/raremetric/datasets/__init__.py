"""Data sets by name, the user's own files, and rarer variants of both."""

from raremetric.datasets.loading import DatasetInfo, describe_dataset, list_datasets, load_dataset

__all__ = ["DatasetInfo", "describe_dataset", "list_datasets", "load_dataset"]
