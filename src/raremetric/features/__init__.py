"""Maps that are applied before a metric: what a linear metric cannot see in raw features."""

from raremetric.features.importances import ImportanceWeights
from raremetric.features.landmarks import KernelLandmarks

__all__ = ["ImportanceWeights", "KernelLandmarks"]
