"""What candidates are tuned on: the sampled examples, their weights, and the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from raremetric.copies import join_groups
from raremetric.features.landmarks import draw_evenly
from raremetric.rare.candidates import prior_weights
from raremetric.rare.ensemble import Selection, select
from raremetric.rare.fitting import MoreRows, join_weights
from raremetric.validation import Labels, check_integer, check_labels
from raremetric.voting import Aim, check_aim, stratified_folds
from raremetric.voting.training import split_examples

Folds = Sequence[tuple[NDArray, NDArray]]  # rows to learn from and rows to validate on
MORE_ROWS = 20  # times as many rows as can be neighbors are the maximum that trees learn from
MORE_VALIDATED = 10  # times as many are the maximum that are validated, too
# In a first round. If its folds have fewer, a sample gets more folds. Without a sample, or with
# fewer in all folds, all metrics see all folds; then at most as many rows as can be neighbors are
# validated, too.
MIN_POSITIVES = 20


class Examples(NamedTuple):
    """The examples that ``fit`` was given, without those of weight zero."""

    X: NDArray[np.float64]
    labels: Labels
    weights: NDArray[np.float64] | None
    row_numbers: NDArray[np.int64]  # in the data that ``fit`` was given
    groups: NDArray | None
    cv: Any  # None, a number of folds, or a list of folds of these examples
    copies: NDArray[np.int64] | None  # see `Copies`; None to treat them as different examples


def resolve_cv(
    cv: Any,
    X: NDArray,
    y: NDArray,
    row_numbers: NDArray,
    n_given: int,
    groups: NDArray | None,
    copies: NDArray | None = None,
) -> Any:
    """A ``cv`` parameter as None, a number, or a list of folds of the examples."""
    if cv is None:
        return None
    if isinstance(cv, Integral):
        return check_integer(cv, "cv", low=2)
    groups = None if groups is None else join_groups(copies, groups)
    return split_examples(cv, X, y, row_numbers, n_given, groups)


class TuningSet(NamedTuple):
    """The examples that candidates are tuned on, and the folds of each repeat.

    The last rows of X may be no examples, but rows that are only validated, and that trees learn
    from in the other folds: see `with_more_validated`.
    """

    X: NDArray[np.float64]
    labels: Labels  # the second class is the positive one
    rows: NDArray[np.int64]  # the numbers of the examples among all rows that ``fit`` was given
    weights: NDArray[np.float64] | None  # with a mean of one; None for all the same
    class_weights: NDArray[np.float64]  # how many examples of its class each one represents
    aim: Aim
    seed: int
    repeats: list[Folds]
    more: MoreRows | None = None  # rows that were not sampled
    tree_share: float = 1.0  # of the rows that are no examples: that many are for the trees

    @property
    def n_folds(self) -> int:
        """Number of folds of all repeats together."""
        return sum(map(len, self.repeats))

    @property
    def scored(self) -> NDArray[np.int64]:
        """The examples that are in the validation part of a fold; all repeats have the same."""
        return np.sort(np.concatenate([validation for _, validation in self.repeats[0]]))

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
        times = MORE_VALIDATED if self.labels.counts.min() >= MIN_POSITIVES else 1
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
        codes = np.concatenate([self.labels.codes, validated.y])
        weights = join_weights(self.weights, validated.weights, self.n_examples, n_validated)
        before = np.bincount(self.labels.codes, self.weights, minlength=2)
        represented = before / np.bincount(codes, weights, minlength=2)
        return self._represent(
            represented,
            X=np.concatenate([self.X, validated.X]),
            labels=self.labels._replace(codes=codes, counts=np.bincount(codes, minlength=2)),
            weights=weights,
            repeats=repeats,
            more=left if len(left.X) else None,
        )

    def restricted(self, rows: NDArray[np.int64]) -> TuningSet:
        """Some of the rows, given by their sorted positions, with the same folds.

        Of the rows that only trees learn from, the same share is kept as of the examples. Rows
        that are no examples are among them, if they are not given.
        """
        labels, examples = self.labels, rows[rows < self.n_examples]
        left = np.setdiff1d(np.arange(self.n_examples, len(self.X)), rows)
        counts = np.bincount(labels.codes[rows], minlength=2)
        return self._represent(
            labels.counts / counts,
            X=self.X[rows],
            labels=labels._replace(codes=labels.codes[rows], counts=counts),
            rows=self.rows[examples],
            weights=None if self.weights is None else self.weights[rows],
            repeats=[[restrict_fold(fold, rows) for fold in folds] for folds in self.repeats],
            more=self._more_and(left),
            tree_share=self.tree_share * len(examples) / self.n_examples,
        )

    def _represent(self, represented: NDArray, **changes: Any) -> TuningSet:
        """Other rows, each of which represents so many of the rows before, by class."""
        class_weights = self.class_weights * represented
        aim = self.aim.with_class_weights(represented)._replace(class_weights=class_weights)
        return self._replace(aim=aim, class_weights=class_weights, **changes)

    def rows_for_trees(self, validation: NDArray[np.int64]) -> MoreRows | None:
        """The rows that trees learn from beside the examples, if these rows are validated."""
        held = np.setdiff1d(np.arange(self.n_examples, len(self.X)), validation)
        found = self._more_and(held)
        return None if found is None else found.thinned(self.tree_share)

    def _more_and(self, rows: NDArray[np.int64]) -> MoreRows | None:
        """The rows of ``more``, and some of X, by position."""
        if not len(rows):
            return self.more
        found = MoreRows(self.X, self.labels.codes, self.weights).take(rows)
        return found if self.more is None else found.joined(self.more)

    def select(
        self,
        scores: NDArray,
        groups: Sequence[str],
        group_weights: Mapping[str, float] | None = None,
        metrics: NDArray[np.int64] | None = None,
    ) -> Selection:
        """Keep the best candidates; probabilities and threshold are those for all examples.

        Parameters
        ----------
        scores : ndarray of shape (n_candidates, n_repeats, n_samples)
            Out-of-fold scores; those of examples that are not ``scored`` are ignored.
        groups : sequence of str
            The group of each candidate.
        group_weights : mapping of str to float or None, default=None
            The prior weight of each group; None for `prior_weights`.
        metrics : ndarray of int or None, default=None
            See `average_best`.
        """
        scored = self.scored
        weights = None if self.weights is None else self.weights[scored]
        positive = self.labels.codes[scored] == 1
        if group_weights is None:
            group_weights = prior_weights(int(self.labels.counts.min()))
        found = select(
            scores[:, :, scored], groups, positive, self.aim, group_weights, weights, metrics
        )
        return found.with_odds(self.class_weights[1] / self.class_weights[0])


def make_tuning_set(
    X: NDArray,
    labels: Labels,
    *,
    scoring: Any,
    max_samples: int | None,
    random_state: Any,
    thorough: bool,
    cv: Any = None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
    weights: NDArray | None = None,
    owner: str = "",
) -> TuningSet:
    """Sample the examples to tune on, and make their folds.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
        Of two classes, of which the second is the positive one.
    scoring, max_samples, random_state
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
    owner : str
        Subject of error messages.
    """
    aim = check_aim(scoring)
    rng = check_random_state(random_state)
    seed = rng.randint(2**31 - 1)
    limit = len(X) if max_samples is None else check_integer(max_samples, "max_samples", low=4)
    rows = draw_evenly(len(X), labels.codes, limit, rng)
    sampled = check_labels(labels.classes[labels.codes[rows]], owner)
    class_weights, own_weights = split_weights(labels, sampled, rows, weights)
    together = [None if each is None else each[rows] for each in (groups, copies)]
    if cv is None:
        repeats: list[Folds] = make_folds(sampled, seed, thorough, *together)
    elif isinstance(cv, int):
        repeats = [stratified_folds(sampled, cv, np.random.RandomState(seed), *together)]
    else:
        repeats = split_into_repeats([restrict_fold(fold, rows) for fold in cv])
    check_folds(repeats, sampled)
    aim = aim.with_class_weights(class_weights)
    more = None
    if len(rows) < len(X) and groups is None and (cv is None or isinstance(cv, int)):
        more = _rows_left(X, labels, weights, rows, MORE_ROWS * limit, rng, copies)
    own_X = X if len(rows) == len(X) else X[rows]
    return TuningSet(own_X, sampled, rows, own_weights, class_weights, aim, seed, repeats, more)


def _rows_left(
    X: NDArray,
    labels: Labels,
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
    return MoreRows(X[left], labels.codes[left], own)


def make_folds(
    labels: Labels,
    seed: int,
    thorough: bool = False,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> list[Folds]:
    """Stratified folds for each repeat; no more folds than the rarer class has examples.

    There are more folds where examples or positives are few. A metric that is fitted without a
    fifth of few examples has other distances than one fitted on all of them, and would need
    another threshold.

    Parameters
    ----------
    labels : Labels
    seed : int
    thorough : bool, default=False
        Repeat twice as often; the first half of the repeats is then the same as without.
    groups : ndarray of shape (n_samples,) or None, default=None
        If given, examples of one group are in the same fold.
    copies : ndarray of shape (n_samples,) or None, default=None
        If given, copies of a row are in the same fold.
    """
    n_folds, n_repeats = fold_numbers(labels, thorough)
    rng = np.random.RandomState(seed)
    return [stratified_folds(labels, n_folds, rng, groups, copies) for _ in range(n_repeats)]


def fold_numbers(labels: Labels, thorough: bool = False) -> tuple[int, int]:
    """Number of folds and number of repeats: see `make_folds`."""
    n_samples, rarest = len(labels.codes), int(labels.counts.min())
    few = n_samples <= 500 or (rarest < 40 and n_samples <= 2000)
    return 10 if few else 5, (2 if few or n_samples <= 1000 else 1) * (2 if thorough else 1)


def split_weights(
    labels: Labels, sampled: Labels, rows: NDArray, weights: NDArray | None
) -> tuple[NDArray, NDArray | None]:
    """How much of its class each sampled row represents, and the weights of the sampled rows.

    The latter have a mean of one, so that the ridge of the calibration does not depend on their
    scale. None in place of weights that are all one.
    """
    if weights is None:
        return labels.counts / sampled.counts, None
    own = weights[rows]
    class_weights = np.bincount(labels.codes, weights) / np.bincount(sampled.codes, own)
    own = own / own.mean()
    return class_weights, None if (own == 1).all() else own


def restrict_fold(
    fold: tuple[NDArray, NDArray], rows: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The same fold when only some rows, which are sorted, are left."""
    train, validation = (np.flatnonzero(np.isin(rows, part)) for part in fold)
    return train, validation


def split_into_repeats(folds: Folds) -> list[Folds]:
    """Folds whose validation parts do not overlap are one repeat; all repeats score the same rows.

    This accepts the folds of, for example, `StratifiedKFold`, `RepeatedStratifiedKFold` and
    `TimeSeriesSplit`. With the latter, the first rows are in no validation part.
    """
    repeats: list[list[tuple[NDArray, NDArray]]] = []
    seen: set[int] = set()
    for fold in folds:
        own = set(fold[1].tolist())
        if not repeats or seen & own:
            repeats.append([])
            seen = set()
        repeats[-1].append(fold)
        seen |= own
    scored = [frozenset(np.concatenate([part for _, part in each]).tolist()) for each in repeats]
    if len(set(scored)) != 1:
        raise ValueError(
            "The validation parts of cv must not overlap, or all of them must be repeated, as by "
            "RepeatedStratifiedKFold. Use another splitter than, for example, ShuffleSplit."
        )
    return list(repeats)


def check_folds(repeats: Sequence[Folds], labels: Labels) -> None:
    """Refuse folds that cannot be learned from, and a class that is never validated."""
    names = ("the negative class", "the positive class")
    for train, _ in (fold for folds in repeats for fold in folds):
        counts = np.bincount(labels.codes[train], minlength=2)
        if counts.min() < 1:
            raise ValueError(
                f"A fold of cv leaves no example of {names[int(counts.argmin())]} to learn from. "
                "Use fewer folds, or folds with both classes."
            )
    scored = np.concatenate([validation for _, validation in repeats[0]])
    counts = np.bincount(labels.codes[scored], minlength=2)
    if counts.min() < 1:
        raise ValueError(
            f"No example of {names[int(counts.argmin())]} is in a validation part of cv, so that "
            "no threshold can be chosen. Use other folds."
        )
