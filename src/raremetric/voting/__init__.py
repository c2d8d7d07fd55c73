"""From distances to decisions: scores, calibration, thresholds, votes."""

from raremetric.voting.calibration import RIDGE, Sigmoid, fit_sigmoid
from raremetric.voting.evaluation import (
    Evaluation,
    average_precision,
    evaluate,
    log_loss,
    rank,
    stratified_folds,
)
from raremetric.voting.readings import (
    READINGS,
    ClassNeighbors,
    Reading,
    class_scores,
    distance_floor,
    nearest_of_each_class,
)
from raremetric.voting.thresholds import (
    Utility,
    balanced_utility,
    best_threshold,
    cost_utility,
    f_utility,
    observed_utility,
)

__all__ = [
    "READINGS",
    "RIDGE",
    "ClassNeighbors",
    "Evaluation",
    "Reading",
    "Sigmoid",
    "Utility",
    "average_precision",
    "balanced_utility",
    "best_threshold",
    "class_scores",
    "cost_utility",
    "distance_floor",
    "evaluate",
    "f_utility",
    "fit_sigmoid",
    "log_loss",
    "nearest_of_each_class",
    "observed_utility",
    "rank",
    "stratified_folds",
]
