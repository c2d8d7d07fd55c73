"""From scores of candidates to a decision: folds, measures, ranks, average, threshold.

Nothing here knows where scores come from.
"""

from raremetric.selection.calibration import Sigmoid, fit_sigmoid
from raremetric.selection.choice import (
    Average,
    Averaging,
    Choice,
    Decision,
    Groups,
    Quality,
    assess,
    average_best,
    choose,
    decide,
    judge,
)
from raremetric.selection.folds import (
    Folds,
    make_folds,
    make_repeats,
    resolve_cv,
    restrict_fold,
    scored_rows,
    sets_per_class,
    shuffled_folds,
    split_into_repeats,
    stratified_folds,
)
from raremetric.selection.measures import (
    Evaluation,
    evaluate,
    rank,
    standard_error,
    validate,
)
from raremetric.selection.sample import Sample, TrainingData, draw_rows
from raremetric.selection.thresholds import (
    Aim,
    best_threshold,
    check_aim,
    f_utility,
    observed_utility,
)
from raremetric.selection.turns import Turns

__all__ = [
    *("Aim", "Average", "Averaging", "Choice", "Decision", "Evaluation", "Folds", "Groups"),
    *("Quality", "Sample", "Sigmoid", "TrainingData", "Turns", "assess", "average_best"),
    *("best_threshold", "check_aim", "choose", "decide", "draw_rows", "evaluate", "f_utility"),
    *("fit_sigmoid", "judge", "make_folds", "make_repeats", "observed_utility", "rank"),
    *("resolve_cv", "restrict_fold", "scored_rows", "sets_per_class", "shuffled_folds"),
    *("split_into_repeats", "standard_error", "stratified_folds", "validate"),
]
