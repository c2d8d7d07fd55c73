"""Which rows of a large table to learn from, and which to hold out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.sampling import even_quotas

MAX_HELD_OUT = 100_000  # rows of each class
MIN_HELD_OUT = 100  # rows of each class; fewer do not suffice to calibrate probabilities
HELD_OUT_SHARE = 5  # at least one row in five is held out, if that gives MIN_HELD_OUT rows

Ranks = list[NDArray[np.int64]]  # for each class, which of its rows: 0 for the first


def plan_sample(
    counts: NDArray, limit: int | None, rng: np.random.RandomState
) -> tuple[list[Ranks], list[Ranks]]:
    """Draw rows at random, without replacement, with equal probabilities within each class.

    A row is drawn by its rank among the rows of its class in the whole table, so that the rows that
    are drawn do not depend on the partitions.

    Parameters
    ----------
    counts : ndarray of shape (n_partitions, n_classes)
        Number of rows of each class in each partition.
    limit : int or None
        See `sample_sizes`.
    rng : RandomState

    Returns
    -------
    learned, held_out : lists of Ranks
        Which rows of each partition to learn from and to hold out.
    """
    totals = counts.sum(axis=0)
    parts: tuple[list[Ranks], list[Ranks]] = ([], [])
    drawn = []
    for total, n_learned, n_held_out in zip(totals, *sample_sizes(totals, limit), strict=True):
        order = np.random.default_rng(rng.randint(2**31 - 1)).choice(
            total, n_learned + n_held_out, replace=False
        )
        drawn.append((np.sort(order[:n_learned]), np.sort(order[n_learned:])))
    starts = np.cumsum(counts, axis=0) - counts
    for start, count in zip(starts, counts, strict=True):
        for which, found in enumerate(parts):
            found.append(
                [within(own[which], *each) for own, *each in zip(drawn, start, count, strict=True)]
            )
    return parts


def sample_sizes(totals: NDArray, limit: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows of each class to learn from, and how many to hold out.

    Parameters
    ----------
    totals : ndarray of shape (n_classes,)
        Number of rows of each class.
    limit : int or None
        Maximum number of rows to learn from, the same number of each class; None for all rows. Of
        more rows than that, at least a fifth of each class is held out, unless this would be less
        than ``MIN_HELD_OUT`` rows.
    """
    if limit is None or limit >= totals.sum():
        return totals, np.zeros_like(totals)
    quotas = np.array(even_quotas(totals, limit))
    share = totals // HELD_OUT_SHARE
    learned = np.where(share >= MIN_HELD_OUT, np.minimum(quotas, totals - share), quotas)
    return learned, np.minimum(totals - learned, MAX_HELD_OUT)


def represent(codes: NDArray, weights: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Weights in the same proportions within each class, of which these are the totals."""
    return weights * (totals / np.bincount(codes, weights))[codes]


def within(numbers: NDArray, low: Any, count: Any) -> NDArray[np.int64]:
    """Sorted numbers from `low` on, `count` in all, counted from `low`."""
    first, last = np.searchsorted(numbers, [low, low + count])
    return numbers[first:last] - low


def chosen_rows(codes: NDArray, ranks: Ranks) -> NDArray[np.int64]:
    """Sorted positions of the rows with these ranks within their classes."""
    found = [np.flatnonzero(codes == c)[own] for c, own in enumerate(ranks) if len(own)]
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *found]))
