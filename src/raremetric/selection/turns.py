"""Models of all folds as one average: which fold fits what, and how much less noise it has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray

from raremetric.selection.choice import Average, mean_and_std
from raremetric.selection.folds import Folds
from raremetric.selection.sample import Sample

T = TypeVar("T")
Model = TypeVar("Model")
LEAST = 0.5  # times as large as before is the smallest spread of an average with less noise


def take_turns(items: Sequence[T], n_folds: int) -> list[list[T]]:
    """Which of the items each fold uses: one after the other, and each of them at least once."""
    turns: list[list[T]] = [[] for _ in range(n_folds)]
    for i in range(max(n_folds, len(items)) if items else 0):
        turns[i % n_folds].append(items[i % len(items)])
    return turns


class Turns(NamedTuple):
    """Which of the kept candidates are fitted in each fold; all their models are averaged.

    The model of a fold is one that the calibration can trust: it was not fitted on the rows that it
    scores out of fold. The average of such models has less noise than each of them.
    """

    candidates: list[list[int]]  # positions among the kept candidates, of each fold
    folds: Folds

    @classmethod
    def of(cls, folds: Folds, groups: Sequence[Sequence[Sequence[int]]]) -> Turns:
        """The candidates of a group that are fitted together take turns with others of the group.

        ``groups`` holds, for each group, lists of candidates that are fitted together.
        """
        found: list[list[int]] = [[] for _ in folds]
        for group in groups:
            for own, parts in zip(found, take_turns(group, len(folds)), strict=True):
                own += [candidate for part in parts for candidate in part]
        return cls([sorted(own) for own in found], folds)

    @property
    def shares(self) -> NDArray[np.float64]:
        """The share of its weight that a candidate has in each fold, (n_candidates, n_folds)."""
        n_candidates = 1 + max(max(own, default=0) for own in self.candidates)
        used = np.zeros((n_candidates, len(self.folds)))
        for fold, own in enumerate(self.candidates):
            used[own, fold] = 1
        return used / used.sum(axis=1, keepdims=True)

    def combine(
        self, average: Average, scores: NDArray, turn_scores: NDArray, sample: Sample
    ) -> tuple[NDArray[np.int64], Average, NDArray[np.float64]]:
        """The average of the models of all folds, and what it can be calibrated with.

        ``scores`` are those of the kept candidates, (n_candidates, n_repeats, n_rows), ``average``
        is theirs, and ``turn_scores`` are those that `fit` returns, of the first of these rows.

        Each model is standardized, so that its scores of the rows that it was not fitted on have
        the mean and the spread of the out-of-fold scores of the same rows: models of some folds
        score all rows a little higher, and there may be only one of a candidate.

        Returns the candidate of each model, one fold after the other, the average of the models,
        and out-of-fold averages, (n_repeats, n_rows), which vary as those of new rows do.
        """
        candidates = np.concatenate(self.candidates).astype(np.int64)
        folds = np.repeat(np.arange(len(self.folds)), [len(own) for own in self.candidates])
        weights, means, scales = (column[candidates] for column in average)
        weights, turn_scores = weights * self.shares[candidates, folds], turn_scores.copy()
        for i, (candidate, fold) in enumerate(zip(candidates, folds, strict=True)):
            rows = self.folds[fold][1]
            own = None if sample.weights is None else sample.weights[rows]
            held_out = turn_scores[candidate, rows]
            mean, spread = mean_and_std(held_out, own)
            of_repeats = mean_and_std(scores[candidate][:, rows], own)
            before, spread_before = of_repeats[0].mean(), np.sqrt(np.mean(of_repeats[1] ** 2))
            factor = spread / spread_before if min(spread, spread_before) > 0 else 1.0
            means[i], scales[i] = mean + factor * (means[i] - before), factor * scales[i]
            turn_scores[candidate, rows] = before + (held_out - mean) / factor
        averaged = self._reduce_noise(average, scores, turn_scores, sample)
        return candidates, Average(weights, means, scales), averaged

    def fit(
        self,
        fit_fold: Callable[[list[int], NDArray, NDArray], tuple[Model, NDArray]],
        n_jobs: int | None = None,
    ) -> tuple[list[Model], NDArray[np.float64]]:
        """What ``fit_fold(candidates, train, validation)`` returns for each fold, joined.

        This is a model, and the scores of the validated rows, (n_candidates, n_validation). Returns
        the models, and the scores of all kept candidates, (n_candidates, n_rows), which are NaN
        where it was not the candidate's turn.
        """
        tasks = [(own, *fold) for own, fold in zip(self.candidates, self.folds, strict=True)]
        found = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(fit_fold)(*task) for task in tasks
        )
        n_rows = sum(len(validation) for _, validation in self.folds)
        scores = np.full((len(self.shares), n_rows), np.nan)
        for (own, _, validation), (_, part) in zip(tasks, found, strict=True):
            scores[np.array(own)[:, np.newaxis], validation] = part
        return [model for model, _ in found], scores

    def _reduce_noise(
        self, average: Average, scores: NDArray, turn_scores: NDArray, sample: Sample
    ) -> NDArray[np.float64]:
        """Out-of-fold averages, (n_repeats, n_rows), with the spread of averages of new rows.

        The score of a held-out row comes from the models of one fold, that of a new row from those
        of all folds: within a class, it varies less. How much less is known from two scores of the
        same rows by models of different folds: what they have in common is no noise. The averages
        are moved toward the mean of their class.
        """
        n_examples, shares = turn_scores.shape[1], self.shares
        averaged = average(scores)
        first, second = average.terms(scores[:, 0, :n_examples]), average.terms(turn_scores)
        fold_of_row = np.empty(n_examples, dtype=np.int64)
        for fold, (_, validation) in enumerate(self.folds):
            fold_of_row[validation] = fold
        of_row = shares[:, fold_of_row]
        weights = sample.weights
        whole = first.sum(axis=0)
        change = np.sum(of_row * np.where(of_row > 0, first - second, 0.0), axis=0)
        found = averaged.copy()
        for own in (~sample.positive, sample.positive):
            rows = np.flatnonzero(own[:n_examples] & (of_row > 0).any(axis=0))
            if min(np.count_nonzero(of_row[:, rows] > 0, axis=1), default=0) < 2:
                continue  # too few to know
            common = 0.0
            for each, turn in zip(second, of_row, strict=True):
                both = rows[turn[rows] > 0]
                common += _covariance(whole[both], each[both], weights, both)
            noise = len(self.folds) / 2 * _covariance(change[rows], change[rows], weights, rows)
            spread = _covariance(whole[rows], whole[rows], weights, rows)
            factor = np.sqrt(np.clip((common + noise) / spread, LEAST**2, 1)) if spread > 0 else 1.0
            used = None if weights is None else weights[own]
            mean = np.average(averaged[:, own].mean(axis=0), weights=used)
            found[:, own] = mean + factor * (averaged[:, own] - mean)
        return found


def _covariance(a: NDArray, b: NDArray, weights: NDArray | None, rows: NDArray) -> float:
    used = None if weights is None else weights[rows]
    a, b = a - np.average(a, weights=used), b - np.average(b, weights=used)
    return float(np.average(a * b, weights=used))
