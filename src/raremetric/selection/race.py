"""A race of candidates: those that are hopeless after some folds are not tried on the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from raremetric.selection.folds import Folds

FIRST_FOLDS = 2  # are the first round, if there is one repeat only; one of up to three folds
# In a first round. If its folds have fewer, a sample gets more folds. Without a sample, or with
# fewer in all folds, all candidates see all folds.
MIN_POSITIVES = 20


def with_enough_positives(folds: Folds, positive: NDArray[np.bool_]) -> Folds:
    """The first folds, as many as validate enough positives; none if all of them have too few."""
    found = np.cumsum([np.count_nonzero(positive[validation]) for _, validation in folds])
    if found[-1] < MIN_POSITIVES:
        return []
    return folds[: max(n_first_folds(folds), int(np.searchsorted(found, MIN_POSITIVES)) + 1)]


def n_first_folds(folds: Folds) -> int:
    """How many folds are the first round, if they validate enough positives."""
    return FIRST_FOLDS if len(folds) > FIRST_FOLDS + 1 else 1


def rounds_of(folds: Folds, positive: NDArray[np.bool_]) -> list[Folds]:
    """The folds of one repeat in two rounds, or in one if a first round would say too little."""
    n_first = n_first_folds(folds)
    if len(folds) == n_first or len(with_enough_positives(folds, positive)) != n_first:
        return [folds]
    return [folds[:n_first], folds[n_first:]]
