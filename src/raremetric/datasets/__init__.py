"""Data sets by name, the user's own files, and variants with a rarer class."""

from raremetric.datasets.dialect import TableError
from raremetric.datasets.encoding import TableEncoder
from raremetric.datasets.imbalance import TooFewMinorityError, with_minority_share
from raremetric.datasets.loading import (
    DatasetInfo,
    check_dataset_name,
    describe_dataset,
    list_datasets,
    load_dataset,
)
from raremetric.datasets.pieces import iter_table
from raremetric.datasets.tables import read_table

__all__ = [
    "DatasetInfo",
    "TableEncoder",
    "TableError",
    "TooFewMinorityError",
    "check_dataset_name",
    "describe_dataset",
    "iter_table",
    "list_datasets",
    "load_dataset",
    "read_table",
    "with_minority_share",
]
