"""From scores of candidates to a decision: folds, measures, ranks, average, threshold.

Nothing here knows where scores come from.
"""

from raremetric.selection.averaging import Average, average_best, weigh_groups
from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.choice import Selection, select
from raremetric.selection.folds import Folds, sets_per_class, shuffled_folds, stratified_folds
from raremetric.selection.measures import Evaluation, evaluate, pool, rank, standard_error, validate
from raremetric.selection.thresholds import (
    Aim,
    AtThreshold,
    best_threshold,
    check_aim,
    f_utility,
    observed_utility,
)

__all__ = [
    "Aim",
    "AtThreshold",
    "Average",
    "Evaluation",
    "Folds",
    "Selection",
    "Sigmoid",
    "average_best",
    "best_threshold",
    "check_aim",
    "evaluate",
    "f_utility",
    "fit_sigmoid",
    "observed_utility",
    "pool",
    "rank",
    "select",
    "sets_per_class",
    "shuffled_folds",
    "standard_error",
    "stratified_folds",
    "validate",
    "weigh_groups",
]
