"""Metric learning for the class you care about and have few examples of."""

from raremetric.classifier import MetricKNNClassifier
from raremetric.features import ImportanceWeights, KernelLandmarks
from raremetric.learners.discriminant import BalancedDiscriminant
from raremetric.learners.euclidean import Euclidean
from raremetric.learners.gmml import GMML
from raremetric.learners.iml import IML
from raremetric.learners.itml import ITML
from raremetric.learners.lmnn import LMNN
from raremetric.rare import RareClassifier
from raremetric.tuning import IMLCV

__version__ = "0.1.0.dev0"

__all__ = [
    "GMML",
    "IML",
    "IMLCV",
    "ITML",
    "LMNN",
    "BalancedDiscriminant",
    "Euclidean",
    "ImportanceWeights",
    "KernelLandmarks",
    "MetricKNNClassifier",
    "RareClassifier",
    "__version__",
    "list_datasets",
    "load_dataset",
]


def __getattr__(name: str):
    # The data sets are an extra: their room is opened on first use.
    if name in {"list_datasets", "load_dataset"}:
        from raremetric import datasets

        return getattr(datasets, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
