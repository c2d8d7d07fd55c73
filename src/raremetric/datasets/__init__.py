"""Data sets by name, the user's own files, and rarer variants of both."""

from raremetric.datasets.dialect import TableError
from raremetric.datasets.encoding import TableEncoder
from raremetric.datasets.imbalance import TooFewMinorityError, with_minority_share
from raremetric.datasets.loading import DatasetInfo, describe_dataset, list_datasets, load_dataset
from raremetric.datasets.tables import iter_table, read_table

__all__ = [
    "DatasetInfo",
    "TableEncoder",
    "TableError",
    "TooFewMinorityError",
    "describe_dataset",
    "iter_table",
    "list_datasets",
    "load_dataset",
    "read_table",
    "with_minority_share",
]
