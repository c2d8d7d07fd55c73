"""Transformers to apply before a metric: feature weights, and nonlinear features of a kernel."""

from raremetric.features.importances import ImportanceWeights
from raremetric.features.landmarks import KernelLandmarks

__all__ = ["ImportanceWeights", "KernelLandmarks"]
