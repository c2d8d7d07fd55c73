"""Data in partitions: classes are counted, rows are drawn, and other rows are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.dask.calibration import Scores
from raremetric.dask.cluster import run_on_each
from raremetric.sampling import even_quotas
from raremetric.validation import take_rows

MAX_HELD_OUT = 100_000  # rows of each class
MIN_HELD_OUT = 100  # rows of each class; fewer do not suffice to calibrate probabilities
HELD_OUT_SHARE = 5  # at least one row in five is held out, if that gives MIN_HELD_OUT rows

Ranks = list[NDArray[np.int64]]  # for each class, which of its rows: 0 for the first


class Partitions(NamedTuple):
    """Rows with known classes, in partitions."""

    parts: list[tuple]  # what `read` needs for each partition, see `run_on_each`
    # Picklable; from one of `parts` to pieces of the partition: rows, the codes of their classes
    # (0, 1, ..., or -1 for rows to leave out) and their weights.
    read: Callable[..., Iterator[tuple[Any, NDArray, NDArray]]]
    counts: NDArray[np.int64]  # (n_partitions, n_classes), rows of each class in each partition
    sizes: NDArray[np.int64]  # (n_partitions,), all rows
    run: Callable = run_on_each

    def draw(self, ranks: list[Ranks]) -> tuple[tuple[Any, ...], NDArray, NDArray, NDArray]:
        """The rows with these ranks within their classes, for each partition.

        Returns
        -------
        tables : tuple of arrays or tables
        codes, weights, numbers : ndarrays of shape (n_rows,)
            The classes of the rows, their weights, and their numbers in the data.
        """
        drawn = self._on_each(_draw_part, ranks, self.read)
        starts = np.repeat(np.cumsum(self.sizes) - self.sizes, [len(pieces) for pieces in drawn])
        tables, codes, weights, rows = zip(*(each for own in drawn for each in own), strict=True)
        numbers = [start + own for start, own in zip(starts, rows, strict=True)]
        return tables, np.concatenate(codes), np.concatenate(weights), np.concatenate(numbers)

    def score(self, ranks: list[Ranks], score: Callable) -> Scores:
        """The scores of such rows.

        Parameters
        ----------
        ranks : list of Ranks
        score : callable (X, *part) -> scores, rows
            Picklable; the scores of some of the rows, and which rows these are.
        """
        found = self._on_each(_score_part, ranks, (self.read, score))
        return Scores.joined([each for own in found for each in own])

    def _on_each(self, function: Callable, ranks: list[Ranks], shared: Any) -> list[Any]:
        parts = [(own, *part) for own, part in zip(ranks, self.parts, strict=True)]
        return self.run(function, parts, shared)


def _drawn(read: Callable, ranks: Ranks, part: tuple) -> Iterator[tuple]:
    """For each piece: the drawn rows, the codes of their classes, their weights and positions."""
    seen, start = np.zeros(len(ranks), dtype=np.int64), 0
    for X, codes, weights in read(*part):
        of_class = [np.flatnonzero(codes == c) for c in range(len(ranks))]
        sizes = np.array([len(rows) for rows in of_class])
        drawn = [_within(*each) for each in zip(ranks, seen, sizes, strict=True)]
        rows = np.concatenate([rows[own] for rows, own in zip(of_class, drawn, strict=True)])
        if len(rows):
            rows.sort()
            yield take_rows(X, rows), codes[rows], weights[rows], start + rows
        seen, start = seen + sizes, start + len(codes)


def _draw_part(read: Callable, ranks: Ranks, *part: Any) -> list[tuple]:
    return list(_drawn(read, ranks, part))


def _score_part(shared: tuple, ranks: Ranks, *part: Any) -> list[Scores]:
    read, score = shared
    found = []
    for X, codes, weights, _ in _drawn(read, ranks, part):
        values, rows = score(X, *part)
        found.append(Scores(values, codes[rows], weights[rows]))
    return found


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
    totals, starts = counts.sum(axis=0), np.cumsum(counts, axis=0) - counts
    learned, held_out = [], []  # sorted ranks of each class in the whole table
    for total, n_learned, n_held_out in zip(totals, *sample_sizes(totals, limit), strict=True):
        order = np.random.default_rng(rng.randint(2**31 - 1)).choice(
            total, n_learned + n_held_out, replace=False
        )
        learned.append(np.sort(order[:n_learned]))
        held_out.append(np.sort(order[n_learned:]))

    def divided(ranks: Ranks) -> list[Ranks]:
        return [
            [_within(*each) for each in zip(ranks, start, count, strict=True)]
            for start, count in zip(starts, counts, strict=True)
        ]

    return divided(learned), divided(held_out)


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


def _within(numbers: NDArray, low: Any, count: Any) -> NDArray[np.int64]:
    """Sorted numbers from `low` on, `count` in all, counted from `low`."""
    first, last = np.searchsorted(numbers, [low, low + count])
    return numbers[first:last] - low


def represent(codes: NDArray, weights: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """Weights in the same proportions within each class, of which these are the totals."""
    return weights * (totals / np.bincount(codes, weights))[codes]
