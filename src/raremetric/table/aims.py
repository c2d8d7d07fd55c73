"""What to maximize: its text, its words and its measure; which methods are best by it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import t as student
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    confusion_matrix,
    f1_score,
    fbeta_score,
    get_scorer,
    get_scorer_names,
    log_loss,
    matthews_corrcoef,
    precision_recall_curve,
    precision_score,
    recall_score,
)

from raremetric.selection import check_aim
from raremetric.validation import check_option

AIMS_AS_TEXT = (
    "costs such as 'cost:fp=1,fn=20', or a minimum such as 'precision>=0.8' (on the command line, "
    "also --min-precision 0.8 or --min-recall 0.9)"
)


def check_scoring(scoring: Any) -> Any:
    """What to maximize, as `RareClassifier` takes it; costs can be given as text."""
    if not isinstance(scoring, str):
        scoring = np.asarray(scoring).tolist()
        check_aim(scoring)
        return scoring
    scoring = parse_scoring(scoring)
    check_aim(scoring, AIMS_AS_TEXT)
    return scoring


def aim_of(scoring: Any) -> Any:
    """What a comparison tunes for: `scoring` itself, or F1 if it is a scorer of scikit-learn."""
    return "f1" if isinstance(scoring, str) and scoring in _other_scorers() else scoring


def _other_scorers() -> set[str]:
    """The scorers of scikit-learn that are no aim of `RareClassifier`."""
    return {*get_scorer_names()} - {"f1", "average_precision", "balanced_accuracy"}


def parse_scoring(text: str) -> Any:
    """What to maximize, as `RareClassifier` takes it, from the text of an option.

    A name such as "f1", or costs such as "cost:fp=1,fn=20"; ``tn`` and ``tp`` are 0 by default.
    """
    if not text.startswith("cost:"):
        return text
    costs = {"tn": 0.0, "fp": 1.0, "fn": 1.0, "tp": 0.0}
    for part in text.removeprefix("cost:").split(","):
        name, _, value = part.partition("=")
        try:
            costs[check_option(name.strip(), "cost", costs)] = float(value)
        except ValueError as error:
            raise ValueError(
                f"Costs must be given like 'cost:fp=1,fn=20'; got {text!r}."
            ) from error
    return [[costs["tn"], costs["fp"]], [costs["fn"], costs["tp"]]]


class Minimum(NamedTuple):
    """An aim with a minimum."""

    name: str  # "precision" or "recall"
    value: float

    @property
    def maximized(self) -> str:
        """The other one of precision and recall."""
        return "recall" if self.name == "precision" else "precision"


def minimum_of(scoring: Any) -> Minimum | None:
    """The minimum of an aim such as "precision>=0.8"; None if it has none."""
    if not isinstance(scoring, str) or ">=" not in scoring:
        return None
    name, _, value = scoring.partition(">=")
    return Minimum(name.strip(), float(value))


def describe_scoring(scoring: Any) -> str:
    """What was maximized, in words."""
    if minimum := minimum_of(scoring):
        return f"{minimum.maximized} with {scoring}"
    if isinstance(scoring, str):
        return scoring
    (tn, fp), (fn, tp) = scoring
    return f"negative cost per row (tn={tn:g}, fp={fp:g}, fn={fn:g}, tp={tp:g})"


def score_name(scoring: Any) -> str:
    """The name of the value of what was maximized."""
    if not isinstance(scoring, str):
        return "negative cost per row"
    return measure_of(scoring)[0] if minimum_of(scoring) is None else describe_scoring(scoring)


def quality_figures(
    scoring: Any, score: float, spread: float | None, measures: Mapping[str, float]
) -> Any:
    """What a model records of its expected quality: the score is the value of what was maximized.

    For the average precision, a classifier reports the F1 at its threshold, which is not that.
    """
    if scoring == "average_precision":
        score, spread = measures["average_precision"], None
    return {
        "score": float(score),
        "score_std": None if spread is None else float(spread),
        "validation": {name: float(value) for name, value in measures.items()},
    }


def unmet_minimum(
    scoring: Any, measures: Mapping[str, float], kind: str = "cross-validated"
) -> list[str]:
    """A sentence if a precision or recall has a minimum but is below it, else nothing.

    The threshold is chosen by the expected value, so that this can happen with every threshold.
    ``kind`` says on which rows it was measured.
    """
    minimum = minimum_of(scoring)
    if minimum is None:
        return []
    value = measures.get(minimum.name, 1.0)
    if value >= minimum.value:
        return []
    return [
        f"The {kind} {minimum.name} at the threshold is {value:.3g}, below the minimum of "
        f"{minimum.value:g}."
    ]


# Of true classes, predictions, log-odds, and the weights of the rows or None.
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
    "log-loss": lambda y, predicted, score, w: log_loss(
        y, expit(score), sample_weight=w, labels=[0, 1]
    ),
    "MCC": _of_predictions(matthews_corrcoef),
}


class _Answers(ClassifierMixin, BaseEstimator):
    """What a method said of some rows, as a classifier for the scorers of scikit-learn."""

    classes_ = np.arange(2)

    def __init__(self, predicted: NDArray, score: NDArray):
        self.predicted = predicted
        self.score_ = score

    def predict(self, X: Any) -> NDArray:
        return self.predicted

    def decision_function(self, X: Any) -> NDArray:
        return self.score_

    def predict_proba(self, X: Any) -> NDArray:
        return expit(np.column_stack([-self.score_, self.score_]))


def _of_scorer(name: str) -> Measure:
    def measure(y: NDArray, predicted: NDArray, score: NDArray, w: NDArray | None) -> float:
        weights = {} if w is None else {"sample_weight": w}
        return float(
            get_scorer(name)(_Answers(predicted, score), score[:, np.newaxis], y, **weights)
        )

    return measure


def show_measure(name: str, value: float, digits: int = 1) -> str:
    """A mean or standard deviation of a measure: in percent, except for losses."""
    if name == "log-loss" or name.startswith("neg "):
        return f"{value:.{digits + 2}f}"
    return f"{100 * value:.{digits}f}"


def measure_of(scoring: Any) -> tuple[str, Measure]:
    """The measure that methods are compared by, for `scoring` of `RareClassifier`, and its name.

    For a minimum precision, it is the highest recall that the scores reach with this precision on
    the test fold, and the other way around. For costs, see `cost_savings`. It can also be the name
    of a scorer of scikit-learn.
    """
    if aim_of(scoring) != scoring:
        return scoring.replace("_", " "), _of_scorer(scoring)
    check_aim(scoring)
    if not isinstance(scoring, str):
        return "cost savings", partial(cost_savings, costs=np.asarray(scoring, dtype=np.float64))
    if found := minimum_of(scoring):
        measure = partial(best_beyond, given=found.name, minimum=found.value)
        return f"{found.maximized} at {found.name} {found.value:g}", measure
    if not scoring.startswith("f"):
        name = scoring.replace("_", " ")
        return name, MEASURES.get(name, _of_predictions(balanced_accuracy_score))
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


def behind_best(scores: Mapping[str, NDArray], test_ratio: float) -> dict[str, tuple[float, float]]:
    """How far each method is behind the one with the highest mean, and how far chance can put it.

    The second number is t √((1 / n_folds + test_ratio) var(d)), where d are the differences to the
    best on each fold, test_ratio is the number of test rows per training row, and t is the 97.5 %
    quantile of Student's distribution with n_folds − 1 degrees of freedom: 2.8 for five folds. The
    training sets of the folds overlap, so the differences are not independent, and the usual
    variance of their mean, var(d) / n_folds, is too small. The factor is that of C. Nadeau and
    Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003).
    """
    if not scores:
        return {}
    best = max(scores.values(), key=np.mean)
    quantile = student.ppf(0.975, len(best) - 1)
    found = {}
    for key, values in scores.items():
        differences = best - values
        error = np.sqrt((1 / len(values) + test_ratio) * np.var(differences, ddof=1))
        found[key] = float(differences.mean()), float(quantile * error)
    return found
