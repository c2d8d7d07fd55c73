"""Metric learning for the class you care about but have few examples of."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from raremetric.classifier import MetricKNNClassifier
    from raremetric.datasets import list_datasets, load_dataset
    from raremetric.encoding import TableEncoder
    from raremetric.features import BoostedLeaves, ImportanceWeights, KernelLandmarks
    from raremetric.learners.discriminant import BalancedDiscriminant
    from raremetric.learners.euclidean import Euclidean
    from raremetric.learners.gmml import GMML
    from raremetric.learners.iml import IML
    from raremetric.learners.itml import ITML
    from raremetric.learners.lmnn import LMNN
    from raremetric.rare import RareClassifier
    from raremetric.tuning import IMLCV

__version__ = "0.1.0"

__all__ = [
    "GMML",
    "IML",
    "IMLCV",
    "ITML",
    "LMNN",
    "BalancedDiscriminant",
    "BoostedLeaves",
    "Euclidean",
    "ImportanceWeights",
    "KernelLandmarks",
    "MetricKNNClassifier",
    "RareClassifier",
    "TableEncoder",
    "__version__",
    "list_datasets",
    "load_dataset",
]

# A public name is imported when it is first used, so that `import raremetric` takes no time.
_MODULE_OF = {
    "GMML": "raremetric.learners.gmml",
    "IML": "raremetric.learners.iml",
    "IMLCV": "raremetric.tuning",
    "ITML": "raremetric.learners.itml",
    "LMNN": "raremetric.learners.lmnn",
    "BalancedDiscriminant": "raremetric.learners.discriminant",
    "BoostedLeaves": "raremetric.features",
    "Euclidean": "raremetric.learners.euclidean",
    "ImportanceWeights": "raremetric.features",
    "KernelLandmarks": "raremetric.features",
    "MetricKNNClassifier": "raremetric.classifier",
    "RareClassifier": "raremetric.rare",
    "TableEncoder": "raremetric.encoding",
    "list_datasets": "raremetric.datasets",
    "load_dataset": "raremetric.datasets",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_MODULE_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
