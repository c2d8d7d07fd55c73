"""From distances to decisions: scores, calibration, thresholds.

The score of a class is how much farther the other classes are: s = log d_others − log d_own, each
read off the distances to the nearest examples, in one of several ways. One search for neighbors
serves all of them, and every threshold on each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from raremetric.validation import Labels

BLOCK = 2**22  # distances held at a time: 32 MB
RIDGE = 0.01  # on the slope of a calibration, for standardised scores: keeps it finite


class Reading(NamedTuple):
    """How the distance to a class is read off the distances to its nearest examples."""

    size: int  # m
    averaged: bool = False  # the mean of the logs of the first m, or the log of the m-th

    def __call__(self, log_distances: NDArray) -> NDArray:
        """Read sorted log-distances, (n, k); all of them where there are fewer than m."""
        count = min(self.size, log_distances.shape[1])
        if self.averaged:
            return log_distances[:, :count].mean(axis=1)
        return log_distances[:, count - 1]

    def __str__(self) -> str:
        return f"mean of {self.size}" if self.averaged else f"nearest {self.size}"


READINGS = (
    *(Reading(size) for size in (2, 4, 8, 16)),
    *(Reading(size, averaged=True) for size in (2, 5, 10, 20)),
)


class ClassNeighbors(NamedTuple):
    """The nearest training rows of each class: sorted distances and row numbers.

    Each list has one array per class, of shape (n_queries, k) or less where a class has fewer.
    """

    distances: list[NDArray[np.float64]]
    indices: list[NDArray[np.int64]]


def nearest_of_each_class(Z: NDArray, labels: Labels, queries: NDArray, k: int) -> ClassNeighbors:
    """The k nearest rows of Z of each class to each query, exactly, in blocks of bounded memory.

    Ties go to the lowest row number.
    """
    members = [np.flatnonzero(labels.codes == c) for c in range(len(labels.classes))]
    found = [_nearest(Z[rows], queries, min(k, len(rows))) for rows in members]
    return ClassNeighbors(
        [distances for distances, _ in found],
        [rows[places] for rows, (_, places) in zip(members, found, strict=True)],
    )


def _nearest(Z: NDArray, queries: NDArray, k: int) -> tuple[NDArray, NDArray]:
    distances = np.empty((len(queries), k))
    places = np.empty((len(queries), k), dtype=np.int64)
    center = Z.mean(axis=0)  # distances do not change, their rounding does
    Z, queries = Z - center, queries - center
    size = max(1, BLOCK // len(Z))
    for low in range(0, len(queries), size):
        part = queries[low : low + size]
        squares = squared_distances(part, Z)
        if k < len(Z):
            near = np.sort(np.argpartition(squares, k - 1, axis=1)[:, :k], axis=1)
        else:
            near = np.tile(np.arange(k), (len(part), 1))
        found = np.take_along_axis(squares, near, axis=1)
        # Where two rows nearly coincide their inner product cannot say how nearly.
        rows, slots = np.nonzero(found < 1e-6 * squares.max(axis=1, keepdims=True))
        found[rows, slots] = np.sum((part[rows] - Z[near[rows, slots]]) ** 2, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        distances[low : low + size] = np.sqrt(np.take_along_axis(found, order, axis=1))
        places[low : low + size] = np.take_along_axis(near, order, axis=1)
    return distances, places


def squared_distances(A: NDArray, B: NDArray) -> NDArray:
    """‖a − b‖² for all rows of A and B, by one matrix product."""
    squares = A @ (-2.0 * B.T)
    squares += np.einsum("ij,ij->i", A, A)[:, np.newaxis]
    squares += np.einsum("ij,ij->i", B, B)
    return np.maximum(squares, 0.0, out=squares)


def distance_floor(Z: NDArray, n_rows: int = 60) -> float:
    """A tenth of the median distance to the nearest other row: nothing nearer is told apart.

    Repeated rows are at distance zero, and its logarithm would decide alone. A few rows, evenly
    spaced, speak for all.
    """
    rows = np.unique(np.linspace(0, len(Z) - 1, n_rows).astype(int))
    Z = Z - Z.mean(axis=0)
    squares = squared_distances(Z[rows], Z)
    squares[squares <= 1e-10 * squares.max(initial=0.0)] = np.inf
    nearest = squares.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return 0.1 * float(np.sqrt(np.median(nearest))) if len(nearest) else 1.0


def class_scores(
    distances: list[NDArray], floor: float, readings: Sequence[Reading]
) -> NDArray[np.float64]:
    """How much nearer each class is than all others: (n_readings, n_queries, n_classes)."""
    logs = [np.log(np.maximum(part, floor)) for part in distances]
    own = np.stack([[reading(part) for part in logs] for reading in readings])
    if len(logs) == 2:
        others = own[:, ::-1]
    else:
        rest = [np.sort(np.hstack(logs[:c] + logs[c + 1 :]), axis=1) for c in range(len(logs))]
        others = np.stack([[reading(part) for part in rest] for reading in readings])
    return (others - own).transpose(0, 2, 1)


class Sigmoid(NamedTuple):
    """p = 1 / (1 + exp(−(slope · score + intercept)))."""

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def __call__(self, scores: NDArray) -> NDArray:
        """Probabilities; the last axis of ``scores`` holds the examples."""
        return expit(self.slope[..., np.newaxis] * scores + self.intercept[..., np.newaxis])


def fit_sigmoid(scores: NDArray, positive: NDArray, n_iter: int = 30) -> Sigmoid:
    """Platt's logistic regression on one score, with a small ridge, for many scores at once.

    Parameters
    ----------
    scores : ndarray of shape (..., n_samples)
        Scores of examples that were not learned from.
    positive : ndarray of bool of shape (n_samples,)
    n_iter : int
        Newton steps, each at most 2 long.
    """
    mean = scores.mean(axis=-1, keepdims=True)
    spread = scores.std(axis=-1, keepdims=True)
    spread = np.where(spread > 0, spread, 1.0)
    Z = (scores - mean) / spread
    n_positive = np.count_nonzero(positive)
    slope = np.ones(scores.shape[:-1])
    intercept = np.full_like(slope, np.log((n_positive + 1) / (len(positive) - n_positive + 1)))
    for _ in range(n_iter):
        p = expit(slope[..., np.newaxis] * Z + intercept[..., np.newaxis])
        error, curvature = p - positive, p * (1 - p) + 1e-9
        g_slope = np.sum(error * Z, axis=-1) + RIDGE * slope
        g_intercept = np.sum(error, axis=-1)
        h_slope = np.sum(curvature * Z * Z, axis=-1) + RIDGE
        h_cross = np.sum(curvature * Z, axis=-1)
        h_intercept = np.sum(curvature, axis=-1)
        determinant = h_slope * h_intercept - h_cross**2
        d_slope = (h_intercept * g_slope - h_cross * g_intercept) / determinant
        d_intercept = (h_slope * g_intercept - h_cross * g_slope) / determinant
        longest = np.maximum(np.abs(d_slope), np.abs(d_intercept))
        step = 1.0 / np.maximum(1.0, longest / 2)
        slope, intercept = slope - step * d_slope, intercept - step * d_intercept
        if longest.max(initial=0.0) < 1e-8:
            break
    slope = slope / spread[..., 0]
    return Sigmoid(slope, intercept - slope * mean[..., 0])


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


def actual_utility(called: NDArray, positive: NDArray, utility: Utility) -> NDArray:
    """The utility that was really had: calls of shape (..., n), truth of shape (n,)."""
    tp = np.sum(called & positive, axis=-1).astype(float)
    fp = np.sum(called & ~positive, axis=-1).astype(float)
    n_positive = np.count_nonzero(positive)
    return utility(len(positive) - n_positive - fp, fp, n_positive - tp, tp)


def log_loss(p: NDArray, positive: NDArray) -> NDArray:
    """Mean negative log-likelihood of probabilities of shape (..., n)."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.mean(np.where(positive, np.log(p), np.log1p(-p)), axis=-1)


def average_precision(scores: NDArray, positive: NDArray) -> NDArray:
    """Average precision of scores of shape (..., n), for many scores at once."""
    hits = positive[np.argsort(-scores, axis=-1, kind="stable")]
    precision = np.cumsum(hits, axis=-1) / np.arange(1, hits.shape[-1] + 1)
    return np.sum(hits * precision, axis=-1) / np.count_nonzero(positive)
