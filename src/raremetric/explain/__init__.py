"""Why two points are near, and which features the metric uses."""

from raremetric.explain.distances import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
)
from raremetric.explain.pictures import plot_neighbors

__all__ = [
    "counterfactual_changes",
    "distance_contributions",
    "feature_weights",
    "has_exact_split",
    "plot_neighbors",
]
