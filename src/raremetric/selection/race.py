"""A race of candidates: those that are hopeless after some folds are not tried on the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.selection.folds import Folds
from raremetric.selection.measures import rank_by_aim
from raremetric.selection.sample import Sample
from raremetric.selection.thresholds import Aim


class FirstRound(NamedTuple):
    """After which folds hopeless candidates are dropped, if there is one repeat only."""

    n_folds: int  # of more than n_folds + 1; else one
    # In these folds. If they have fewer, a sample gets more folds. Without a sample, or with fewer
    # in all folds, all candidates see all folds.
    min_positives: int

    def _n_first(self, folds: Folds) -> int:
        return self.n_folds if len(folds) > self.n_folds + 1 else 1

    def with_enough_positives(self, folds: Folds, positive: NDArray[np.bool_]) -> Folds:
        """The first folds, as many as validate enough positives; none if all have too few."""
        found = np.cumsum([np.count_nonzero(positive[validation]) for _, validation in folds])
        if found[-1] < self.min_positives:
            return []
        enough = int(np.searchsorted(found, self.min_positives)) + 1
        return folds[: max(self._n_first(folds), enough)]

    def rounds_of(self, folds: Folds, positive: NDArray[np.bool_]) -> list[Folds]:
        """The folds of one repeat in two rounds, or in one if the first would say too little."""
        n_first = self._n_first(folds)
        if len(folds) == n_first or len(self.with_enough_positives(folds, positive)) != n_first:
            return [folds]
        return [folds[:n_first], folds[n_first:]]


def race(
    score: Callable[[NDArray, NDArray, NDArray], NDArray],
    sizes: Sequence[int],
    repeats: Sequence[Folds],
    sample: Sample,
    aim: Aim,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Score candidates fold by fold, and leave out those that rank too low.

    ``score(candidates, train, validation)`` fits some candidates, given by their numbers, on some
    rows, and scores others: (n_candidates, n_validation). ``sizes`` says how many are tried on each
    fold, one repeat after the other. Returns the candidates that were tried on all folds, and their
    scores, (n_finalists, n_repeats, n_samples), which are NaN for rows that no fold validates.
    """
    running, seen = np.arange(sizes[0]), np.zeros(0, dtype=np.int64)
    scores = np.full((len(running), len(repeats), len(sample.positive)), np.nan)
    folds = [(number, *fold) for number, repeat in enumerate(repeats) for fold in repeat]
    for size, (repeat, train, validation) in zip(sizes, folds, strict=True):
        if size < len(running) and len(np.unique(sample.positive[seen])) == 2:
            rows = np.sort(seen)
            groups = ["all"] * len(running)
            ranks = rank_by_aim(scores[running, 0][:, rows], groups, sample.take(rows), aim)
            running = running[ranks <= size]
        scores[running, repeat, validation[:, np.newaxis]] = score(running, train, validation).T
        seen = np.concatenate([seen, validation]) if repeat == 0 else seen
    return running, scores[running]
