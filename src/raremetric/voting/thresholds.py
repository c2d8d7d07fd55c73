"""What a decision is worth, and the threshold that makes it worth most."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Utility = Callable[[NDArray, NDArray, NDArray, NDArray], NDArray]  # of tn, fp, fn, tp


def f_utility(beta: float) -> Utility:
    """F-beta of expected counts; 0 where there is nothing to find and nothing is called."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        weighted = (1 + beta**2) * tp
        return weighted / np.maximum(weighted + beta**2 * fn + fp, 1e-300)

    return utility


def balanced_utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
    """Mean of the recalls of the two classes."""
    return (tp / np.maximum(tp + fn, 1e-300) + tn / np.maximum(tn + fp, 1e-300)) / 2


def cost_utility(costs: NDArray) -> Utility:
    """Less the cost: ``costs[actual, predicted]``, the positive class second."""

    def utility(tn: NDArray, fp: NDArray, fn: NDArray, tp: NDArray) -> NDArray:
        return -(costs[0, 0] * tn + costs[0, 1] * fp + costs[1, 0] * fn + costs[1, 1] * tp)

    return utility


def best_threshold(p: NDArray, utility: Utility) -> float:
    """The threshold on probabilities that maximises the expected utility on these examples.

    Sorted by p, the first i are called positive; what is true of them is counted as p says. At the
    best i the threshold lies halfway between the i-th and the next.
    """
    p = np.sort(p)[::-1]
    called = np.arange(len(p) + 1)
    tp = np.concatenate([[0.0], np.cumsum(p)])
    fp, fn = called - tp, tp[-1] - tp
    best = int(np.argmax(utility(len(p) - called - fn, fp, fn, tp)))
    above = 1.0 if best == 0 else p[best - 1]
    below = 0.0 if best == len(p) else p[best]
    return float((above + below) / 2)


def observed_utility(called: NDArray, positive: NDArray, utility: Utility) -> NDArray:
    """The utility that was really had: calls of shape (..., n), truth of shape (n,)."""
    tp = np.sum(called & positive, axis=-1).astype(float)
    fp = np.sum(called & ~positive, axis=-1).astype(float)
    n_positive = np.count_nonzero(positive)
    return utility(len(positive) - n_positive - fp, fp, n_positive - tp, tp)
