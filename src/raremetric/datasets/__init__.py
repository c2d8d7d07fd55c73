"""Data sets by name, and variants with a rarer class."""

from raremetric.datasets.imbalance import TooFewMinorityError, with_minority_share
from raremetric.datasets.loading import (
    DatasetInfo,
    check_dataset_name,
    dataset_origin,
    describe_dataset,
    list_datasets,
    load_dataset,
)

__all__ = [
    "DatasetInfo",
    "TooFewMinorityError",
    "check_dataset_name",
    "dataset_origin",
    "describe_dataset",
    "list_datasets",
    "load_dataset",
    "with_minority_share",
]
