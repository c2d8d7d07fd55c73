"""From scores of candidates to a decision: folds, measures, ranks, average, threshold.

Nothing here knows where scores come from.
"""

from raremetric.selection.averaging import Average, Averaging, average_best, weigh_groups
from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.choice import Selection, select
from raremetric.selection.folds import Folds, sets_per_class, shuffled_folds, stratified_folds
from raremetric.selection.measures import (
    Evaluation,
    evaluate,
    rank,
    rank_by_aim,
    standard_error,
    validate,
)
from raremetric.selection.sample import Sample, draw_rows
from raremetric.selection.thresholds import (
    Aim,
    best_threshold,
    check_aim,
    f_utility,
    observed_utility,
)

__all__ = [
    "Aim",
    "Average",
    "Averaging",
    "Evaluation",
    "Folds",
    "Sample",
    "Selection",
    "Sigmoid",
    "average_best",
    "best_threshold",
    "check_aim",
    "draw_rows",
    "evaluate",
    "f_utility",
    "fit_sigmoid",
    "observed_utility",
    "rank",
    "rank_by_aim",
    "select",
    "sets_per_class",
    "shuffled_folds",
    "standard_error",
    "stratified_folds",
    "validate",
    "weigh_groups",
]
