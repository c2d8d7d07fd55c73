"""The rows that metrics are fitted and judged on, with their folds; and those only for trees."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.rare.fitting import MoreRows, join_weights
from raremetric.rare.policy import MORE_ROWS, MORE_VALIDATED
from raremetric.selection import Folds, Sample, draw_rows
from raremetric.selection.cv import make_repeats, restrict_fold
from raremetric.selection.race import MIN_POSITIVES
from raremetric.validation import Labels


class Examples(NamedTuple):
    """The examples that ``fit`` was given, without those of weight zero."""

    X: NDArray[np.float64]
    labels: Labels
    weights: NDArray[np.float64] | None
    row_numbers: NDArray[np.int64]  # in the data that ``fit`` was given
    groups: NDArray | None
    cv: Any  # None, a number of folds, or a list of folds of these examples
    copies: NDArray[np.int64] | None  # see `Copies`; None to treat them as different examples


class TuningSet(NamedTuple):
    """The rows that metrics are fitted and judged on, and the folds of each repeat.

    The last rows of X may be no examples, but rows that are only validated, and that trees learn
    from in the other folds: see `with_more_validated`.
    """

    X: NDArray[np.float64]
    sample: Sample  # the classes of the rows of X, and what each of them stands for
    rows: NDArray[np.int64]  # the numbers of the examples among all rows that ``fit`` was given
    seed: int
    repeats: list[Folds]
    more: MoreRows | None = None  # rows that were not sampled
    tree_share: float = 1.0  # of the rows that are no examples: that many are for the trees

    @property
    def n_folds(self) -> int:
        """Number of folds of all repeats together."""
        return sum(map(len, self.repeats))

    @property
    def n_examples(self) -> int:
        """Number of rows that can be neighbors, the first rows of X."""
        return len(self.rows)

    @property
    def n_for_trees(self) -> int:
        """Number of rows that trees can learn from: all that are here."""
        return len(self.X) + (0 if self.more is None else len(self.more.X))

    def with_more_validated(self) -> TuningSet:
        """The same examples and folds, which validate some of the rows that were not sampled, too.

        Of a large table, all rows of a rare class are examples, but few of the others. Too few to
        judge candidates by: the negatives that look like positives are a small part of them.
        """
        if self.more is None:
            return self
        rng = np.random.RandomState(self.seed)
        order = rng.permutation(len(self.more.X))
        # Without a first round, all metrics see all folds: this takes more time and memory.
        times = MORE_VALIDATED if self.sample.counts.min() >= MIN_POSITIVES else 1
        n_validated = min(len(order), times * self.n_examples)
        validated, left = (self.more.take(np.sort(part)) for part in np.split(order, [n_validated]))
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
        positive = np.concatenate([self.sample.positive, validated.y])
        weights = join_weights(self.sample.weights, validated.weights, self.n_examples, n_validated)
        before = np.bincount(self.sample.positive, self.sample.weights)
        return self._replace(
            X=np.concatenate([self.X, validated.X]),
            sample=self.sample.replaced(positive, weights, before / np.bincount(positive, weights)),
            repeats=repeats,
            more=left if len(left.X) else None,
        )

    def restricted(self, rows: NDArray[np.int64]) -> TuningSet:
        """Some of the rows, given by their sorted positions, with the same folds.

        Of the rows that only trees learn from, the same share is kept as of the examples. Rows
        that are no examples are among them, if they are not given.
        """
        examples = rows[rows < self.n_examples]
        left = np.setdiff1d(np.arange(self.n_examples, len(self.X)), rows)
        part = self.sample.take(rows)
        return self._replace(
            X=self.X[rows],
            sample=part.replaced(part.positive, part.weights, self.sample.counts / part.counts),
            rows=self.rows[examples],
            repeats=[[restrict_fold(fold, rows) for fold in folds] for folds in self.repeats],
            more=self._more_and(left),
            tree_share=self.tree_share * len(examples) / self.n_examples,
        )

    def rows_for_trees(self, validation: NDArray[np.int64]) -> MoreRows | None:
        """The rows that trees learn from beside the examples, if these rows are validated."""
        held = np.setdiff1d(np.arange(self.n_examples, len(self.X)), validation)
        found = self._more_and(held)
        return None if found is None else found.thinned(self.tree_share)

    def _more_and(self, rows: NDArray[np.int64]) -> MoreRows | None:
        """The rows of ``more``, and some of X, by position."""
        if not len(rows):
            return self.more
        found = MoreRows(self.X, self.sample.positive, self.sample.weights).take(rows)
        return found if self.more is None else found.joined(self.more)


def make_tuning_set(
    X: NDArray,
    labels: Labels,
    *,
    max_samples: int | None,
    random_state: Any,
    thorough: bool,
    cv: Any = None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
    weights: NDArray | None = None,
) -> TuningSet:
    """Sample the examples to tune on, and make their folds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
        Of two classes, of which the second is the positive one.
    max_samples, random_state
        See `RareClassifier`.
    thorough : bool
        Whether to repeat twice as often.
    cv : int, list of (train, validation) or None
        None for the default number of folds. A list contains row numbers of `X`.
    groups : ndarray of shape (n_samples,) or None
        Examples of one group are in the same fold. Ignored if `cv` is a list, like `copies`.
    copies : ndarray of shape (n_samples,) or None
        See `Copies`; copies of a row are in the same fold.
    weights : ndarray of shape (n_samples,) or None
    """
    rng = check_random_state(random_state)
    seed, positive = rng.randint(2**31 - 1), labels.codes == 1
    rows = draw_rows(positive, max_samples, rng)
    sample = Sample.of(positive, rows, weights)
    repeats = make_repeats(cv, sample.labels, rows, seed, thorough, groups, copies)
    more = None
    if len(rows) < len(X) and groups is None and (cv is None or isinstance(cv, int)):
        more = _rows_left(X, positive, weights, rows, MORE_ROWS * len(rows), rng, copies)
    own_X = X if len(rows) == len(X) else X[rows]
    return TuningSet(own_X, sample, rows, seed, repeats, more)


def _rows_left(
    X: NDArray,
    positive: NDArray,
    weights: NDArray | None,
    rows: NDArray,
    limit: int,
    rng: np.random.RandomState,
    copies: NDArray | None = None,
) -> MoreRows | None:
    """The rows that are not among ``rows``, or a sample of them, without copies of any row.

    They have no place in given folds, and not in folds that keep groups together.
    """
    left = np.setdiff1d(np.arange(len(X)), rows, assume_unique=True)
    if copies is not None:
        left = left[np.sort(np.unique(copies[left], return_index=True)[1])]
        left = left[~np.isin(copies[left], copies[rows])]
        if not len(left):
            return None
    if len(left) > limit:
        left = np.sort(rng.permutation(left)[:limit])
    own = None if weights is None else weights[left] / weights[rows].mean()
    return MoreRows(X[left], positive[left], own)
