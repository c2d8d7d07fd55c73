"""Metric learning for the class you care about and have few examples of."""

from raremetric.learners.euclidean import Euclidean
from raremetric.learners.iml import IML

__version__ = "0.1.0.dev0"

__all__ = ["IML", "Euclidean", "__version__"]
