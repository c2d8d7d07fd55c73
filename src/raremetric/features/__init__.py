"""Transformers to apply before a metric: feature weights, features of a kernel or of trees."""

from raremetric.features.importances import ImportanceWeights
from raremetric.features.landmarks import KernelLandmarks
from raremetric.features.trees import BoostedLeaves

__all__ = ["BoostedLeaves", "ImportanceWeights", "KernelLandmarks"]
