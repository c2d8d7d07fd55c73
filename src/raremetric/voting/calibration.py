"""From scores to probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

RIDGE = 0.01  # on the slope, for standardised scores: keeps it finite


class Sigmoid(NamedTuple):
    """p = 1 / (1 + exp(−(slope · score + intercept)))."""

    slope: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def __call__(self, scores: NDArray) -> NDArray:
        """Probabilities; the last axis of ``scores`` holds the examples."""
        return expit(self.log_odds(scores))

    def log_odds(self, scores: NDArray) -> NDArray:
        """Their logarithmic odds; the last axis of ``scores`` holds the examples."""
        return self.slope[..., np.newaxis] * scores + self.intercept[..., np.newaxis]


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
