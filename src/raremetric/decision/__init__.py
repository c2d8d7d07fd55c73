"""From distances to decisions: scores, calibration, thresholds, votes."""

from raremetric.decision.calibration import RIDGE, Sigmoid, fit_sigmoid
from raremetric.decision.judging import (
    Judgement,
    average_precision,
    judge,
    log_loss,
    rank,
    stratified_folds,
)
from raremetric.decision.scores import (
    READINGS,
    ClassNeighbors,
    Reading,
    class_scores,
    distance_floor,
    nearest_of_each_class,
)
from raremetric.decision.thresholds import (
    Utility,
    actual_utility,
    balanced_utility,
    best_threshold,
    cost_utility,
    f_utility,
)

__all__ = [
    "READINGS",
    "RIDGE",
    "ClassNeighbors",
    "Judgement",
    "Reading",
    "Sigmoid",
    "Utility",
    "actual_utility",
    "average_precision",
    "balanced_utility",
    "best_threshold",
    "class_scores",
    "cost_utility",
    "distance_floor",
    "f_utility",
    "fit_sigmoid",
    "judge",
    "log_loss",
    "nearest_of_each_class",
    "rank",
    "stratified_folds",
]
