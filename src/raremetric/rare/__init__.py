"""RareClassifier: many metrics are tried, judged by cross-validation, and the best averaged."""

from raremetric.rare.classifier import RareClassifier

__all__ = ["RareClassifier"]
