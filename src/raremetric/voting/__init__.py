"""From distances to decisions: readings, calibration, thresholds, votes."""

from raremetric.voting.evaluation import (
    Evaluation,
    Sigmoid,
    evaluate,
    fit_sigmoid,
    pool,
    rank,
    standard_error,
    validate,
)
from raremetric.voting.folds import Folds, sets_per_class, shuffled_folds, stratified_folds
from raremetric.voting.readings import (
    POWER_NAMES,
    READINGS,
    Reading,
    class_scores,
    distance_floor,
)
from raremetric.voting.thresholds import (
    Aim,
    AtThreshold,
    best_threshold,
    check_aim,
    f_utility,
    observed_utility,
)

__all__ = [
    "POWER_NAMES",
    "READINGS",
    "Aim",
    "AtThreshold",
    "Evaluation",
    "Folds",
    "Reading",
    "Sigmoid",
    "best_threshold",
    "check_aim",
    "class_scores",
    "distance_floor",
    "evaluate",
    "f_utility",
    "fit_sigmoid",
    "observed_utility",
    "pool",
    "rank",
    "sets_per_class",
    "shuffled_folds",
    "standard_error",
    "stratified_folds",
    "validate",
]
