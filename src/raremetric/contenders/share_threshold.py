"""The threshold on shares of votes, chosen by the shares of rows outside of folds."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.contenders.base import Quality
from raremetric.contenders.vote_folds import N_NEIGHBORS
from raremetric.selection import Aim, Sample, fit_sigmoid, standard_error, validate


class VoteThreshold(NamedTuple):
    """A threshold on shares of votes, and what is expected of it."""

    threshold: float
    quality: Quality


def vote_threshold(
    shares: NDArray, sample: Sample, aim: Aim, given: float | None = None
) -> VoteThreshold:
    """The threshold on out-of-fold shares of votes that maximizes the aim, or the given one.

    The shares are calibrated to probabilities, as the scores of other contenders are. The
    threshold lies halfway between two shares that occur.

    Parameters
    ----------
    shares : ndarray of shape (n_samples,)
        NaN for rows that were not validated, which are left out.
    sample : Sample
    aim : Aim
    given : float or None, default=None
    """
    rows = np.isfinite(shares)
    shares, sample = shares[rows], sample.take(rows)
    sigmoid = fit_sigmoid(shares, sample.positive, sample.weights)
    p = sigmoid(shares)
    cut = aim.threshold(p, sample)
    if given is not None:
        threshold = given
    elif sigmoid.slope == 0:  # higher shares do not mean more positives
        threshold = 0.5
    else:
        chosen, others = shares[p >= cut], shares[p < cut]
        above = chosen.min(initial=1 + 1 / N_NEIGHBORS)
        threshold = float((above + others.max(initial=0.0)) / 2)
    predicted = shares >= threshold
    quality = Quality(
        float(aim.value(predicted, sample)),
        standard_error(predicted[np.newaxis], sample, aim.utility),
        validate(shares[np.newaxis], sample, predicted[np.newaxis]),
        aim.missed(p, cut, sample) if given is None else None,
    )
    return VoteThreshold(threshold, quality)
