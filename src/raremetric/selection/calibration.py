"""From out-of-fold scores to probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

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


def fit_sigmoid(
    scores: NDArray, positive: NDArray, weights: NDArray | None = None, n_iter: int = 30
) -> Sigmoid:
    """Platt's logistic regression on one score, with a small ridge, for many scores at once.

    ``scores`` are (..., n_samples), of examples that the metric was not learned from. A Newton step
    changes no parameter by more than 2.
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
    n_positive, n_negative = (total_weight(part, weights) for part in (positive, ~positive))
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


def total_weight(selected: NDArray, weights: NDArray | None) -> float:
    """Number of the selected examples, or the sum of their weights."""
    return float(np.sum(selected if weights is None else weights * selected))
