"""The rows that metrics are fitted and judged on, with their folds; and those only for trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.rare.fitting import MoreRows
from raremetric.rare.policy import MORE_ROWS, MORE_VALIDATED
from raremetric.selection import Folds, Sample, TrainingData, draw_rows, make_repeats, restrict_fold


class TuningSet(NamedTuple):
    """The judged rows of a table, of which the first are examples, and the folds of each repeat.

    Examples can be neighbors. The other judged rows are only validated. Trees learn from these
    rows, too, in the folds that do not validate them, and from some that are not judged.
    """

    table: MoreRows  # all rows; the weights of the examples have a mean of one
    rows: NDArray[np.int64]  # numbers of the judged rows, the examples first
    n_examples: int
    sample: Sample  # the classes of the judged rows, and what each of them stands for
    seed: int
    repeats: list[Folds]  # positions among the judged rows
    others: NDArray[np.int64]  # numbers of the rows that only trees learn from
    # A repeat for the kept candidates alone, whose folds learn from all rows that they do not
    # validate. None if there is no such repeat.
    last: Folds | None
    tree_share: float = 1.0  # of the rows that are no examples: that many are for the trees
    groups: NDArray | None = None  # of all rows of the table, as the copies are
    copies: NDArray | None = None

    @property
    def features(self) -> NDArray[np.float64]:
        """The features of the judged rows, which are a copy unless all rows are examples."""
        return self.table.X if self.n_examples == len(self.table.X) else self.table.X[self.rows]

    @property
    def n_folds(self) -> int:
        """Number of folds of all repeats together."""
        return sum(map(len, self.repeats))

    def together(self, scored: NDArray) -> tuple[NDArray | None, NDArray | None]:
        """The groups and the copies of some of the judged rows."""
        groups, copies = (
            None if each is None else each[self.rows[scored]] for each in (self.groups, self.copies)
        )
        return groups, copies

    def with_more_validated(self) -> TuningSet:
        """The same examples and folds, which validate some of the rows that were not sampled, too.

        Of a large table, all rows of a rare class are examples, but few of the others. Too few to
        judge candidates by: the negatives that look like positives are a small part of them.
        """
        if not len(self.others):
            return self
        rng = np.random.RandomState(self.seed)
        order = rng.permutation(len(self.others))
        n_validated = min(len(order), MORE_VALIDATED * self.n_examples)
        validated, left = (self.others[np.sort(part)] for part in np.split(order, [n_validated]))
        numbers = self.n_examples + np.arange(n_validated)
        repeats = []
        for folds in self.repeats:
            parts = np.array_split(rng.permutation(numbers), len(folds))
            repeats.append(
                [
                    (train, np.concatenate([validation, np.sort(part)]))
                    for (train, validation), part in zip(folds, parts, strict=True)
                ]
            )
        rows = np.concatenate([self.rows, validated])
        judged = self._take(rows)
        before = np.bincount(self.sample.positive, self.sample.weights)
        by = before / np.bincount(judged.y, judged.weights)
        sample = self.sample.replaced(judged.y, judged.weights, by)
        return self._replace(rows=rows, sample=sample, repeats=repeats, others=left)

    def restricted(self, rows: NDArray[np.int64]) -> TuningSet:
        """Some of the judged rows, given by their sorted positions, with the same folds.

        Of the rows that only trees learn from, the same share is kept as of the examples. Rows
        that are no examples are among them, if they are not given.
        """
        n_examples = int(np.sum(rows < self.n_examples))
        left = np.setdiff1d(np.arange(self.n_examples, len(self.rows)), rows)
        part = self.sample.take(rows)
        return self._replace(
            rows=self.rows[rows],
            n_examples=n_examples,
            sample=part.replaced(part.positive, part.weights, self.sample.counts / part.counts),
            repeats=[[restrict_fold(fold, rows) for fold in folds] for folds in self.repeats],
            others=np.concatenate([self.rows[left], self.others]),
            tree_share=self.tree_share * n_examples / self.n_examples,
        )

    def rows_for_trees(self, validation: NDArray | tuple[()] = ()) -> MoreRows | None:
        """The rows that trees learn from beside the examples, if these rows are validated."""
        held = np.setdiff1d(np.arange(self.n_examples, len(self.rows)), validation)
        rows = np.concatenate([self.rows[held], self.others])
        if self.tree_share < 1:  # evenly spaced
            rows = rows[np.arange(0, len(rows), 1 / self.tree_share).astype(np.int64)]
        return self._take(rows) if len(rows) else None

    def _take(self, rows: NDArray[np.int64]) -> MoreRows:
        X, y, weights = self.table
        return MoreRows(X[rows], y[rows], None if weights is None else weights[rows])


def make_tuning_set(
    data: TrainingData,
    positive: NDArray[np.bool_],
    max_samples: int | None = None,
    random_state: Any = None,
    thorough: bool = False,
) -> TuningSet:
    """Sample the examples to tune on, and make their folds, twice as often if ``thorough``."""
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    X, weights, cv = data.X, data.weights, data.cv
    rows = draw_rows(positive, max_samples, rng)
    sample = Sample.of(positive, rows, weights)
    repeats = make_repeats(cv, sample.labels, rows, seed, thorough, data.groups, data.copies)
    last = None
    if len(repeats) > 1 and all(len(train) + len(part) == len(rows) for train, part in repeats[-1]):
        *repeats, last = repeats
    # Other rows have no place in given folds, and not in folds that keep groups together.
    others = np.empty(0, dtype=np.int64)
    if data.groups is None and (cv is None or isinstance(cv, int)):
        others = _other_rows(len(X), rows, data.copies, rng)
    relative = None if weights is None else weights / weights[rows].mean()
    table = MoreRows(X, positive, relative)
    return TuningSet(
        table, rows, len(rows), sample, seed, repeats, others, last, 1.0, data.groups, data.copies
    )


def _other_rows(
    n_samples: int, rows: NDArray, copies: NDArray | None, rng: np.random.RandomState
) -> NDArray[np.int64]:
    """Row numbers that were not drawn, or a sample of them, without copies of any row."""
    left = np.setdiff1d(np.arange(n_samples), rows, assume_unique=True)
    if copies is not None:
        left = left[np.sort(np.unique(copies[left], return_index=True)[1])]
        left = left[~np.isin(copies[left], copies[rows])]
    limit = MORE_ROWS * len(rows)
    return np.sort(rng.permutation(left)[:limit]) if len(left) > limit else left
