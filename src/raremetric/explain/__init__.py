"""Why a row gets its score, why two points are near, and which columns a model uses."""

from raremetric.explain.contributions import ColumnContributions, column_contributions
from raremetric.explain.distances import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
)
from raremetric.explain.pictures import plot_neighbors

__all__ = [
    "ColumnContributions",
    "column_contributions",
    "counterfactual_changes",
    "distance_contributions",
    "feature_weights",
    "has_exact_split",
    "plot_neighbors",
]
