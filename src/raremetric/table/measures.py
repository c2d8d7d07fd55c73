"""Measures of predictions on a test fold, the measure of an aim, and which methods are best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    fbeta_score,
    matthews_corrcoef,
    precision_recall_curve,
    precision_score,
    recall_score,
)

from raremetric.selection import check_aim
from raremetric.table.aims import minimum_of

# Of true classes, predictions, scores, and the weights of the rows or None.
Measure = Callable[[NDArray, NDArray, NDArray, NDArray | None], float]


def _of_predictions(function: Callable, **settings: Any) -> Measure:
    return lambda y, predicted, score, w: function(y, predicted, sample_weight=w, **settings)


MEASURES: dict[str, Measure] = {
    "F1": _of_predictions(f1_score, zero_division=0),
    "precision": _of_predictions(precision_score, zero_division=0),
    "recall": _of_predictions(recall_score, zero_division=0),
    "average precision": lambda y, predicted, score, w: average_precision_score(
        y, score, sample_weight=w
    ),
    "balanced accuracy": _of_predictions(balanced_accuracy_score),
    "MCC": _of_predictions(matthews_corrcoef),
}


def measure_of(scoring: Any) -> tuple[str, Measure]:
    """The measure that methods are compared by, for `scoring` of `RareClassifier`, and its name.

    For a minimum precision, it is the highest recall that the scores reach with this precision on
    the test fold, and the other way around. For costs, see `cost_savings`.
    """
    check_aim(scoring)
    if not isinstance(scoring, str):
        return "cost savings", partial(cost_savings, costs=np.asarray(scoring, dtype=np.float64))
    if found := minimum_of(scoring):
        measure = partial(best_beyond, given=found.name, minimum=found.value)
        return f"{found.maximized} at {found.name} {found.value:g}", measure
    if not scoring.startswith("f"):
        name = scoring.replace("_", " ")
        return name, MEASURES[name]
    beta = float(scoring[1:])
    if beta == 1:
        return "F1", MEASURES["F1"]
    return f"F{beta:g}", _of_predictions(fbeta_score, beta=beta, zero_division=0)


def best_beyond(
    y: NDArray, predicted: Any, score: NDArray, weights: Any, *, given: str, minimum: float
) -> float:
    """The highest recall of all thresholds with a minimum precision, or the other way around.

    Zero if no threshold has the minimum.
    """
    precision, recall, _ = precision_recall_curve(y, score, sample_weight=weights)
    precision, recall = precision[:-1], recall[:-1]  # the last point predicts no positive
    held, wanted = (precision, recall) if given == "precision" else (recall, precision)
    return float(wanted[held >= minimum - 1e-12].max(initial=0.0))


def cost_savings(
    y: NDArray, predicted: NDArray, score: Any, weights: Any, *, costs: NDArray
) -> float:
    """Share of the avoidable costs that the predictions save.

    It is 0 if they cost as much as the cheaper of predicting all rows as positive and all as
    negative, 1 if they are all correct, and negative if they cost more than both.
    """
    counts = confusion_matrix(y, predicted, labels=[0, 1], sample_weight=weights)
    sizes = counts.sum(axis=1)
    trivial = min(float(sizes @ costs[:, label]) for label in (0, 1))
    ideal = float(sizes @ np.diag(costs))
    return (trivial - float((counts * costs).sum())) / (trivial - ideal)


def positives_on_top(y: NDArray, score: NDArray, size: int) -> float:
    """Number of positives among the ``size`` rows with the highest scores.

    From rows with the same score as the last one, the expected number in a random draw.
    """
    last = np.sort(score)[::-1][size - 1]
    above, tied = score > last, score == last
    return float(y[above].sum() + (size - above.sum()) * y[tied].mean())


def best_group(scores: Mapping[str, NDArray], test_ratio: float) -> set[str]:
    """The methods that cannot be distinguished from the one with the highest mean.

    They are those for which mean(d) ≤ t √((1 / n_folds + test_ratio) var(d)), where d are the
    differences to the best on each fold, test_ratio is the number of test rows per training row,
    and t is the 97.5 % quantile of Student's distribution with n_folds − 1 degrees of freedom: 2.8
    for five folds. The training sets of the folds overlap, so the differences are not independent,
    and the usual variance of their mean, var(d) / n_folds, is too small. The factor is that of
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    """
    if not scores:
        return set()
    best = max(scores, key=lambda key: scores[key].mean())
    quantile = student.ppf(0.975, len(scores[best]) - 1)
    group = set()
    for key, values in scores.items():
        differences = scores[best] - values
        error = np.sqrt((1 / len(values) + test_ratio) * np.var(differences, ddof=1))
        if differences.mean() <= quantile * error + 1e-12:
            group.add(key)
    return group
