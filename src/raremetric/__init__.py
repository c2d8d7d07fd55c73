"""Metric learning for the class you care about but have few examples of."""

from typing import TYPE_CHECKING

from raremetric.extras import lazy_names

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
    from raremetric.learners.mlfp import MLFP
    from raremetric.rare import RareClassifier
    from raremetric.tuning import IMLCV

__version__ = "0.1.0"

# A public name is imported when it is first used, so that `import raremetric` takes no time.
__getattr__, __dir__, _names = lazy_names(
    __name__,
    {
        "classifier": ["MetricKNNClassifier"],
        "datasets": ["list_datasets", "load_dataset"],
        "encoding": ["TableEncoder"],
        "features": ["BoostedLeaves", "ImportanceWeights", "KernelLandmarks"],
        "learners.discriminant": ["BalancedDiscriminant"],
        "learners.euclidean": ["Euclidean"],
        "learners.gmml": ["GMML"],
        "learners.iml": ["IML"],
        "learners.itml": ["ITML"],
        "learners.lmnn": ["LMNN"],
        "learners.mlfp": ["MLFP"],
        "rare": ["RareClassifier"],
        "tuning": ["IMLCV"],
    },
)
__all__ = [*_names, "__version__"]
