"""What is to be maximized, and the threshold on probabilities that does so."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.validation import check_real

Utility = Callable[[NDArray, NDArray, NDArray, NDArray], NDArray]  # of tn, fp, fn, tp


def f_utility(beta: float) -> Utility:
    """F-beta of (expected) counts; 0 where no example is positive or predicted to be."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        weighted = (1 + beta**2) * tp
        return weighted / np.maximum(weighted + beta**2 * fn + fp, 1e-300)

    return utility


def balanced_utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """Mean of the recalls of the two classes."""
    return (tp / np.maximum(tp + fn, 1e-300) + tn / np.maximum(tn + fp, 1e-300)) / 2


def cost_utility(costs: NDArray) -> Utility:
    """Negative total cost, for ``costs[actual, predicted]`` with the positive class second."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        return -(costs[0, 0] * tn + costs[0, 1] * fp + costs[1, 0] * fn + costs[1, 1] * tp)

    return utility


class Aim(NamedTuple):
    """What a ``scoring`` parameter asks for."""

    utility: Utility
    threshold_free: bool = False  # only the order of the scores matters

    def with_class_weights(self, class_weights: NDArray) -> Aim:
        """The same aim when each example counts several times.

        Parameters
        ----------
        class_weights : ndarray of shape (2,)
            How many examples each negative and each positive one represents.
        """
        utility, (negative, positive) = self.utility, class_weights

        def weighted(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
            return utility(negative * tn, negative * fp, positive * fn, positive * tp)

        return self._replace(utility=weighted)


def check_aim(scoring) -> Aim:
    """Validate a ``scoring`` parameter."""
    if isinstance(scoring, str):
        if scoring == "balanced_accuracy":
            return Aim(balanced_utility)
        if scoring == "average_precision":
            return Aim(f_utility(1.0), threshold_free=True)
        match = re.fullmatch(r"f(\d+(?:\.\d+)?)", scoring)
        if match:
            beta = check_real(float(match[1]), "beta", low=0, closed="neither")
            return Aim(f_utility(beta))
    elif not callable(scoring) and np.shape(scoring) == (2, 2):
        return Aim(cost_utility(_check_costs(scoring)))
    raise ValueError(
        "scoring must be 'f1', another F-beta such as 'f2' or 'f0.5', 'balanced_accuracy', "
        "'average_precision', or 2 x 2 costs [[tn, fp], [fn, tp]]; got "
        f"{scoring!r}."
    )


def _check_costs(scoring) -> NDArray[np.float64]:
    costs = np.asarray(scoring, dtype=np.float64)
    if not np.isfinite(costs).all():
        raise ValueError(f"The costs in scoring must be finite; got {costs.tolist()}.")
    if costs[0, 1] <= costs[0, 0] or costs[1, 0] <= costs[1, 1]:
        raise ValueError(
            "With costs [[tn, fp], [fn, tp]] as scoring, a wrong prediction must cost more than a "
            f"correct one in both rows; got {costs.tolist()}."
        )
    return costs


def best_threshold(p: NDArray, utility: Utility, weights: NDArray | None = None) -> float:
    """The threshold on probabilities with the highest expected utility on these examples.

    With the examples sorted by p, for each i the first i are predicted positive, and each of them
    counts as p true and 1 − p false positives. For the best i, the threshold is halfway between
    the i-th probability and the next.
    """
    if weights is None:
        p, weights = np.sort(p)[::-1], np.ones(len(p))
    else:
        order = np.argsort(p)[::-1]
        p, weights = p[order], weights[order]
    n_predicted = np.concatenate([[0.0], np.cumsum(weights)])
    tp = np.concatenate([[0.0], np.cumsum(weights * p)])
    fp, fn = n_predicted - tp, tp[-1] - tp
    best = int(np.argmax(utility(n_predicted[-1] - n_predicted - fn, fp, fn, tp)))
    above = 1.0 if best == 0 else p[best - 1]
    below = 0.0 if best == len(p) else p[best]
    return float((above + below) / 2)


def observed_utility(
    predicted: NDArray, positive: NDArray, utility: Utility, weights: NDArray | None = None
) -> NDArray:
    """The utility of predictions.

    Parameters
    ----------
    predicted : ndarray of bool of shape (..., n_samples)
        Whether the positive class is predicted.
    positive : ndarray of bool of shape (n_samples,)
        Whether it is the true class.
    utility : Utility
    weights : ndarray of shape (n_samples,) or None
        How much each example counts; None for all the same.
    """
    weights = np.ones(len(positive)) if weights is None else weights
    tp = np.sum(weights * (predicted & positive), axis=-1)
    fp = np.sum(weights * (predicted & ~positive), axis=-1)
    n_positive, n_negative = np.sum(weights * positive), np.sum(weights * ~positive)
    return utility(n_negative - fp, fp, n_positive - tp, tp)
