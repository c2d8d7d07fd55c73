"""Metric learning for the class you care about and have few examples of."""

__version__ = "0.1.0.dev0"
