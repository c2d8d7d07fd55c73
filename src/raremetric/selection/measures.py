"""From out-of-fold scores to probabilities, and how good the scores of each candidate are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import rankdata

from raremetric.selection.thresholds import (
    MEASURES,
    Aim,
    Utility,
    best_threshold,
    f_utility,
    observed_utility,
    precision_utility,
    recall_utility,
)

RIDGE = 0.01  # on the slope, for standardized scores: keeps it finite
BLOCK = 2**15  # scores that are fitted together: 256 kB, which stay in the cache


class Sigmoid(NamedTuple):
    """p = 1 / (1 + exp(−(slope · score + intercept)))."""

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def __call__(self, scores: NDArray) -> NDArray:
        """Probabilities; the last axis of ``scores`` holds the examples."""
        return expit(self.log_odds(scores))

    def log_odds(self, scores: NDArray) -> NDArray:
        """The logarithms of the odds; the last axis of ``scores`` holds the examples."""
        return self.slope[..., np.newaxis] * scores + self.intercept[..., np.newaxis]

    def after(self, first: Sigmoid) -> Sigmoid:
        """The sigmoid of a score if this one was fitted to the log-odds that ``first`` gives."""
        return Sigmoid(self.slope * first.slope, self.slope * first.intercept + self.intercept)


class Evaluation(NamedTuple):
    """Out-of-fold measures, one entry per candidate."""

    utility: NDArray[np.float64]  # what is to be maximized, at the candidate's own threshold
    log_loss: NDArray[np.float64]
    average_precision: NDArray[np.float64]


def fit_sigmoid(
    scores: NDArray, positive: NDArray, weights: NDArray | None = None, n_iter: int = 30
) -> Sigmoid:
    """Platt's logistic regression on one score, with a small ridge, for many scores at once.

    Parameters
    ----------
    scores : ndarray of shape (..., n_samples)
        Scores of examples that the metric was not learned from.
    positive : ndarray of bool of shape (n_samples,)
    weights : ndarray of shape (n_samples,) or None
        How much each example counts; None for all the same.
    n_iter : int
        Maximal number of Newton steps; a step changes no parameter by more than 2.
    """
    rows = scores.reshape(-1, scores.shape[-1])
    size = max(1, BLOCK // rows.shape[1])
    blocks = [
        _fit_sigmoids(rows[low : low + size], positive, weights, n_iter)
        for low in range(0, max(1, len(rows)), size)
    ]
    slope, intercept = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return Sigmoid(slope.reshape(scores.shape[:-1]), intercept.reshape(scores.shape[:-1]))


def _fit_sigmoids(
    scores: NDArray, positive: NDArray, weights: NDArray | None, n_iter: int
) -> Sigmoid:
    """Newton's method for scores of shape (n_scores, n_samples), until all have converged."""
    mean = np.average(scores, axis=-1, weights=weights, keepdims=True)
    spread = np.sqrt(np.average((scores - mean) ** 2, axis=-1, weights=weights, keepdims=True))
    spread = np.where(spread > 0, spread, 1.0)
    Z = (scores - mean) / spread
    n_positive, n_negative = (_total(part, weights) for part in (positive, ~positive))
    slope = np.ones(len(scores))
    intercept = np.full_like(slope, np.log((n_positive + 1) / (n_negative + 1)))
    for _ in range(n_iter):
        p = expit(slope[:, np.newaxis] * Z + intercept[:, np.newaxis])
        error, curvature = p - positive, p * (1 - p) + 1e-9
        if weights is not None:
            error, curvature = weights * error, weights * curvature
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
    # Scores that rank worse than chance say nothing; their order must not be reversed.
    inverted = slope < 0
    slope = np.where(inverted, 0.0, slope / spread[:, 0])
    share = np.log((n_positive + 1) / (n_negative + 1))
    return Sigmoid(slope, np.where(inverted, share, intercept - slope * mean[:, 0]))


def log_loss(p: NDArray, positive: NDArray, weights: NDArray | None = None) -> NDArray:
    """Mean negative log-likelihood of probabilities of shape (..., n_samples)."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return -np.average(np.log(np.where(positive, p, 1 - p)), axis=-1, weights=weights)


def average_precision(
    scores: NDArray, positive: NDArray, weights: NDArray | None = None
) -> NDArray:
    """Average precision of scores of shape (..., n_samples), for many scores at once.

    Examples with the same score share one threshold, so that their order does not matter.
    """
    order = np.argsort(-scores, axis=-1)
    ranked, hits = np.take_along_axis(scores, order, axis=-1), positive[order]
    n = hits.shape[-1]
    counts: NDArray = np.arange(1, n + 1)
    if weights is not None:
        hits, counts = hits * weights[order], np.cumsum(weights[order], axis=-1)
    last_of_equals = np.where(np.diff(ranked, axis=-1, append=-np.inf) != 0, np.arange(n), n)
    last_of_equals = np.minimum.accumulate(last_of_equals[..., ::-1], axis=-1)[..., ::-1]
    precision = np.cumsum(hits, axis=-1) / counts
    precision = np.take_along_axis(precision, last_of_equals, axis=-1)
    return np.sum(hits * precision, axis=-1) / _total(positive, weights)


def evaluate(
    scores: NDArray, positive: NDArray, aim: Aim, weights: NDArray | None = None
) -> Evaluation:
    """Measure the out-of-fold scores of each candidate.

    Parameters
    ----------
    scores : ndarray of shape (n_candidates, n_repeats, n_samples)
        Calibration and threshold are common to all repeats of a candidate.
    positive : ndarray of bool of shape (n_samples,)
    aim : Aim
        What the threshold of each candidate maximizes.
    weights : ndarray of shape (n_samples,) or None
        How much each example counts; None for all the same.
    """
    n_candidates, n_repeats, _ = scores.shape
    pooled = scores.reshape(n_candidates, -1).astype(np.float64)
    truth, pooled_weights = pool(positive, weights, n_repeats)
    p = fit_sigmoid(pooled, truth, pooled_weights)(pooled)
    predicted = np.stack([row >= best_threshold(row, aim.objective, pooled_weights) for row in p])
    return Evaluation(
        observed_utility(predicted, truth, aim.utility, pooled_weights),
        log_loss(p, truth, pooled_weights),
        average_precision(scores, positive, aim.row_weights(positive, weights)).mean(axis=-1),
    )


def rank(
    evaluation: Evaluation, groups: Sequence[str], measures: Sequence[str] = MEASURES
) -> NDArray[np.int64]:
    """Rank of each candidate within its group, from 1 for the best.

    Candidates are ordered by the sum of their ranks in these measures, by default in utility,
    log-loss and average precision. Ties are broken by their order.
    """
    values = [
        evaluation.log_loss if name == "log_loss" else -getattr(evaluation, name)
        for name in measures
    ]
    ranks = np.zeros(len(groups), dtype=np.int64)
    for group in dict.fromkeys(groups):
        members = np.flatnonzero(np.asarray(groups) == group)
        rank_sum = np.sum([rankdata(column[members]) for column in values], axis=0)
        ranks[members[np.argsort(rank_sum, kind="stable")]] = np.arange(1, len(members) + 1)
    return ranks


def validate(
    scores: NDArray,
    positive: NDArray,
    predicted: NDArray,
    weights: NDArray | None = None,
) -> dict[str, float]:
    """Precision, recall, F1, average precision, and predicted positives per 1000 examples.

    Parameters
    ----------
    scores : ndarray of shape (n_repeats, n_samples)
        Out-of-fold scores; the average precision is the mean over the repeats.
    positive : ndarray of bool of shape (n_samples,)
    predicted : ndarray of bool of shape (n_repeats, n_samples)
        The other measures are those of all repeats together.
    weights : ndarray of shape (n_samples,) or None
        How much each example counts; None for all the same.
    """
    flat, truth, pooled = predicted.ravel(), *pool(positive, weights, len(predicted))
    utilities = {"precision": precision_utility, "recall": recall_utility, "f1": f_utility(1.0)}
    values = {
        name: float(observed_utility(flat, truth, utility, pooled))
        for name, utility in utilities.items()
    }
    values["average_precision"] = float(average_precision(scores, positive, weights).mean())
    values["alerts_per_1000"] = 1000 * float(np.average(flat, weights=pooled))
    return values


def standard_error(
    predicted: NDArray, positive: NDArray, utility: Utility, weights: NDArray | None = None
) -> float:
    """Jackknife estimate of the standard error of a utility: leaves out each example in turn.

    Parameters
    ----------
    predicted : ndarray of bool of shape (n_repeats, n_samples)
        An example is left out of all repeats together, because these are not independent.
    positive : ndarray of bool of shape (n_samples,)
    utility : Utility
    weights : ndarray of shape (n_samples,) or None
        How much each example counts; None for all the same.
    """
    n_repeats, n_samples = predicted.shape
    n_predicted = predicted.sum(axis=0)
    weights = np.ones(n_samples) if weights is None else weights
    of_class = [n * weights * own for own in (~positive, positive)
                for n in (n_repeats - n_predicted, n_predicted)]  # fmt: skip
    without = utility(*(counts.sum() - counts for counts in of_class))  # (n_samples,)
    return float(np.sqrt((n_samples - 1) * np.var(without)))


def pool(
    positive: NDArray, weights: NDArray | None, n_repeats: int
) -> tuple[NDArray, NDArray | None]:
    """True classes and weights of the examples of all repeats, one repeat after the other."""
    return np.tile(positive, n_repeats), None if weights is None else np.tile(weights, n_repeats)


def _total(selected: NDArray, weights: NDArray | None) -> float:
    """Number of the selected examples, or the sum of their weights."""
    return float(np.sum(selected if weights is None else weights * selected))
