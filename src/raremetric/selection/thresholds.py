"""What is to be maximized, and the threshold on probabilities that does so."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.selection.sample import Sample, Utility
from raremetric.validation import check_real, warn_user

NUMBER = r"\d+(?:\.\d+)?"
MAX_COST = 1e100  # sums and products of larger ones could overflow


def f_utility(beta: float) -> Utility:
    """F-beta of (expected) counts; 0 where no example is positive or predicted to be."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        weighted = (1 + beta**2) * tp
        return weighted / np.maximum(weighted + beta**2 * fn + fp, 1e-300)

    return utility


def precision_utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """Share of the positive class among the examples that are predicted positive."""
    return tp / np.maximum(tp + fp, 1e-300)


def recall_utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """Share of the examples of the positive class that are predicted positive."""
    return tp / np.maximum(tp + fn, 1e-300)


def balanced_utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """Mean of the recalls of the two classes."""
    return (recall_utility(tn, fp, fn, tp) + recall_utility(tp, fn, fp, tn)) / 2


def cost_utility(costs: NDArray) -> Utility:
    """Negative mean cost, for ``costs[actual, predicted]`` with the positive class second."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        total = costs[0, 0] * tn + costs[0, 1] * fp + costs[1, 0] * fn + costs[1, 1] * tp
        return -total / np.maximum(tn + fp + fn + tp, 1e-300)

    return utility


MEASURES = ("average_precision", "utility", "log_loss")


class Constraint(NamedTuple):
    """A measure that must not be below a minimum."""

    measure: Utility
    minimum: float


class Aim(NamedTuple):
    """What a ``scoring`` parameter asks for."""

    utility: Utility  # what is maximized, and reported
    measures: tuple[str, ...] = MEASURES  # candidates are ranked by the sum of these ranks
    constraint: Constraint | None = None

    def objective(self, tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        """What the threshold maximizes: the utility where the constraint is met.

        Where it is not met, the value is negative, and higher the closer the measure is to its
        minimum.
        """
        utility = self.utility(tn, fp, fn, tp)
        if self.constraint is None:
            return utility
        measure = self.constraint.measure(tn, fp, fn, tp)
        return np.where(measure >= self.constraint.minimum, utility, measure - 1)

    def threshold(self, p: NDArray, sample: Sample) -> float:
        """The best threshold on the probabilities of these rows, for the table."""
        return best_threshold(p, sample.in_table(self.objective), sample.weights)

    def value(self, predicted: NDArray, sample: Sample) -> NDArray:
        """The utility of predictions, (..., n_samples), in the table."""
        utility = sample.in_table(self.utility)
        return observed_utility(predicted, sample.positive, utility, sample.weights)

    def missed(self, p: NDArray, threshold: float, sample: Sample) -> float | None:
        """The expected value of the constrained measure at a threshold, if it is too low."""
        if self.constraint is None:
            return None
        weights = np.ones(len(p)) if sample.weights is None else sample.weights
        positive, negative, predicted = weights * p, weights * (1 - p), p >= threshold
        value = sample.in_table(self.constraint.measure)(
            negative[~predicted].sum(), negative[predicted].sum(),
            positive[~predicted].sum(), positive[predicted].sum(),
        )  # fmt: skip
        return float(value) if value < self.constraint.minimum - 1e-9 else None


OTHER_AIMS = (
    "a constraint such as 'precision>=0.8' or 'recall>=0.9', or 2 x 2 costs [[tn, fp], [fn, tp]]"
)


def check_aim(scoring, others: str = OTHER_AIMS) -> Aim:
    """Validate a ``scoring`` parameter; ``others`` are the aims that are no names, in words."""
    advice = ""
    if isinstance(scoring, str):
        if scoring == "balanced_accuracy":
            return Aim(balanced_utility)
        if scoring == "average_precision":
            return Aim(f_utility(1.0), ("average_precision",))
        if match := re.fullmatch(rf"f({NUMBER})", scoring):
            beta = check_real(float(match[1]), "The beta in scoring", low=0, closed="neither")
            return Aim(f_utility(beta))
        if match := re.fullmatch(rf"(precision|recall) *>= *({NUMBER})", scoring):
            return _constrained(match[1], float(match[2]))
        if scoring in ("precision", "recall"):
            advice = f" The highest {scoring} alone is of no use: give the minimum of one of them."
        elif scoring == "accuracy":
            advice = " For accuracy, give costs of 1 for each error."
    elif callable(scoring):
        advice = (
            " The threshold is chosen by expected numbers of errors, which a scorer does not take: "
            "see sklearn.model_selection.TunedThresholdClassifierCV."
        )
    elif np.shape(scoring) == (2, 2):
        return Aim(cost_utility(_check_costs(scoring)))
    raise ValueError(
        "scoring must be 'f1', another F-beta such as 'f2' or 'f0.5', 'balanced_accuracy', "
        f"'average_precision', {others}; got {scoring!r}.{advice}"
    )


def _constrained(name: str, minimum: float) -> Aim:
    """The highest recall with a minimum precision, or the other way around.

    The utility jumps where the constraint is just met, so candidates are not ranked by it.
    """
    check_real(minimum, f"The minimum {name} in scoring", low=0, high=1, closed="right")
    measure, utility = precision_utility, recall_utility
    if name == "recall":
        measure, utility = utility, measure
    return Aim(utility, ("average_precision", "log_loss"), Constraint(measure, minimum))


def _check_costs(scoring) -> NDArray[np.float64]:
    costs = np.asarray(scoring, dtype=np.float64)
    if not np.isfinite(costs).all():
        raise ValueError(f"The costs in scoring must be finite; got {costs.tolist()}.")
    excess = np.array([costs[0, 1] - costs[0, 0], costs[1, 0] - costs[1, 1]])
    if excess.min() <= 0:
        raise ValueError(
            "With costs [[tn, fp], [fn, tp]] as scoring, a wrong prediction must cost more than a "
            f"correct one in both rows; got {costs.tolist()}."
        )
    if np.abs(costs).max() > MAX_COST or excess.min() < 1 / MAX_COST:
        raise ValueError(
            f"The costs in scoring must be between 1/{MAX_COST:g} and {MAX_COST:g} in size; got "
            f"{costs.tolist()}. Only their ratios matter: multiply all of them by the same number."
        )
    return costs


def best_threshold(p: NDArray, utility: Utility, weights: NDArray | None = None) -> float:
    """The threshold on probabilities with the highest expected utility on these examples.

    With the examples sorted by p, for each i the first i are predicted positive, and each of them
    counts as p true and 1 − p false positives. For the best i, the threshold is halfway between
    the i-th probability and the next. Examples with the same probability are not separated.
    """
    if weights is None:
        p, weights = np.sort(p)[::-1], np.ones(len(p))
    else:
        order = np.argsort(p)[::-1]
        p, weights = p[order], weights[order]
    n_predicted = np.concatenate([[0.0], np.cumsum(weights)])
    tp = np.concatenate([[0.0], np.cumsum(weights * p)])
    fp, fn = n_predicted - tp, tp[-1] - tp
    values = utility(n_predicted[-1] - n_predicted - fn, fp, fn, tp)
    values[1:-1][p[1:] == p[:-1]] = -np.inf
    best = int(np.argmax(values))
    above = 1.0 if best == 0 else p[best - 1]
    below = 0.0 if best == len(p) else p[best]
    return float((above + below) / 2)


def observed_utility(
    predicted: NDArray, positive: NDArray, utility: Utility, weights: NDArray | None = None
) -> NDArray:
    """The utility of predictions of shape (..., n_samples), of which some are ``positive``."""
    weights = np.ones(len(positive)) if weights is None else weights
    tp = np.sum(weights * (predicted & positive), axis=-1)
    fp = np.sum(weights * (predicted & ~positive), axis=-1)
    n_positive, n_negative = np.sum(weights * positive), np.sum(weights * ~positive)
    return utility(n_negative - fp, fp, n_positive - tp, tp)


def warn_missed(scoring: Any, expected: float | None, rows: str) -> None:
    """Say that no threshold reaches the minimum of an aim, if the expected value is not None."""
    if expected is not None:
        warn_user(
            f"No threshold for {rows} meets scoring={scoring!r}. The threshold with the highest "
            f"expected value is used; this value is {expected:.3g}."
        )
