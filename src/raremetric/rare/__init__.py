"""RareClassifier: the best we have on a rare class, in one call."""

from raremetric.rare.classifier import RareClassifier

__all__ = ["RareClassifier"]
