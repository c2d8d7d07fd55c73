"""The threshold on shares of votes, chosen by the shares of rows outside of folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.contenders.base import Quality
from raremetric.contenders.vote_folds import N_NEIGHBORS
from raremetric.rare.tuning_set import split_weights
from raremetric.selection import (
    Aim,
    best_threshold,
    fit_sigmoid,
    observed_utility,
    standard_error,
    validate,
)
from raremetric.validation import check_labels


class VoteThreshold(NamedTuple):
    """A threshold on shares of votes, and what is expected of it."""

    threshold: float
    quality: Quality


def drawn_threshold(
    shares: NDArray, y: NDArray, judged: NDArray, aim: Aim, weights: NDArray | None
) -> VoteThreshold:
    """The threshold for all rows, from the shares of those that were drawn from each class."""
    if len(judged) < len(y):
        labels, sampled = (check_labels(each, "y") for each in (y, y[judged]))
        class_weights, weights = split_weights(labels, sampled, judged, weights)
        aim = aim.with_class_weights(class_weights)
    return vote_threshold(shares[judged], y[judged] == 1, aim, weights)


def vote_threshold(
    shares: NDArray, positive: NDArray, aim: Aim, weights: NDArray | None
) -> VoteThreshold:
    """The threshold on out-of-fold shares of votes that maximizes the aim, or the given one.

    The shares are calibrated to probabilities, as the scores of other contenders are. The
    threshold lies halfway between two shares that occur.

    Parameters
    ----------
    shares : ndarray of shape (n_samples,)
        NaN for rows that were not validated, which are left out.
    positive : ndarray of bool of shape (n_samples,)
    aim : Aim
    weights : ndarray of shape (n_samples,) or None
    """
    rows = np.isfinite(shares)
    shares, positive = shares[rows], positive[rows]
    weights = None if weights is None else weights[rows]
    sigmoid = fit_sigmoid(shares, positive, weights)
    p = sigmoid(shares)
    cut, threshold = best_threshold(p, aim.objective, weights), aim.given_threshold
    if threshold is None:
        chosen, others = shares[p >= cut], shares[p < cut]
        above = chosen.min(initial=1 + 1 / N_NEIGHBORS)
        threshold = float((above + others.max(initial=0.0)) / 2)
        if sigmoid.slope == 0:  # higher shares do not mean more positives
            threshold = 0.5
    predicted = shares >= threshold
    quality = Quality(
        float(observed_utility(predicted, positive, aim.utility, weights)),
        standard_error(predicted[np.newaxis], positive, aim.utility, weights),
        validate(
            shares[np.newaxis],
            positive,
            predicted[np.newaxis],
            aim.row_weights(positive, weights),
        ),
        aim.missed(p, cut, weights),
    )
    return VoteThreshold(threshold, quality)
