"""Folds: those that a ``cv`` parameter asks for, and stratified ones that are made without one.

They keep the rows of a group, and copies of a row, together.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils import check_random_state

from raremetric.copies import join_groups, why_so_few
from raremetric.validation import Labels, check_integer

Folds = list[tuple[NDArray, NDArray]]  # rows to learn from and rows to validate on


def resolve_cv(
    cv: Any,
    X: NDArray,
    y: NDArray,
    row_numbers: NDArray[np.int64],
    n_given: int,
    groups: NDArray | None,
    copies: NDArray | None = None,
) -> Any:
    """A ``cv`` parameter as None, a number, or a list of folds: positions among the examples.

    A splitter sees the examples that are left, and their groups if there are any; a list of folds
    refers to the ``n_given`` examples given to ``fit``.
    """
    if cv is None or isinstance(cv, Integral):
        return None if cv is None else check_integer(cv, "cv", low=2)
    refers_to_given = not hasattr(cv, "split")

    def positions(part) -> NDArray[np.int64]:
        part = np.asarray(part)
        part = np.flatnonzero(part) if part.dtype == bool else part
        if refers_to_given:
            _check_row_numbers(part, n_given)
            part = np.searchsorted(row_numbers, part[np.isin(part, row_numbers)])
        return part

    groups = None if groups is None else join_groups(copies, groups)
    found = check_cv(cv, y, classifier=True).split(X, y, groups)
    folds = [(positions(train), positions(test)) for train, test in found]
    if not folds:
        raise ValueError("cv is an empty list. Give at least one (train, test) pair of rows.")
    for train, test in folds:
        if len(both := np.intersect1d(train, test)):
            raise ValueError(
                f"A fold of cv tests {len(both)} of the rows that it learns from, such as row "
                f"{row_numbers[both[0]]}. Its two parts must not have rows in common."
            )
    return folds


def _check_row_numbers(part: NDArray, n_given: int) -> None:
    """Refuse what is not a number of one of the rows."""
    if part.size and not np.issubdtype(part.dtype, np.integer):
        raise ValueError(f"The folds of cv must contain row numbers; got {part.dtype} values.")
    wrong = part[(part < 0) | (part >= n_given)]
    if wrong.size:
        raise ValueError(
            f"A fold of cv contains the row {wrong[0]}; with {n_given} examples, rows are numbered "
            f"from 0 to {n_given - 1}."
        )


def make_repeats(
    cv: Any,
    labels: Labels,
    rows: NDArray[np.int64],
    seed: int,
    thorough: bool = False,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> list[Folds]:
    """The folds of each repeat of some rows, given by their numbers; see `make_folds`.

    ``cv`` is that of `resolve_cv`: None for the default number of folds; a list contains row
    numbers. Groups and copies are those of all rows, and ignored if it is a list. With a number,
    there are two repeats.
    """
    together = [None if each is None else each[rows] for each in (groups, copies)]
    if cv is None:
        repeats = make_folds(labels, seed, thorough, *together)
    elif isinstance(cv, int):
        rng = np.random.RandomState(seed)
        repeats = [stratified_folds(labels, cv, rng, *together) for _ in range(2)]
    else:
        repeats = split_into_repeats([restrict_fold(fold, rows) for fold in cv])
    _check_classes(repeats, labels)
    return repeats


def make_folds(
    labels: Labels,
    seed: int,
    thorough: bool = False,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> list[Folds]:
    """`stratified_folds` for each repeat, and for one more; see `fold_numbers`.

    If ``thorough``, the first repeats are the same as without.
    """
    n_folds, n_repeats = fold_numbers(labels, thorough)
    rng = np.random.RandomState(seed)
    return [stratified_folds(labels, n_folds, rng, groups, copies) for _ in range(n_repeats + 1)]


def fold_numbers(labels: Labels, thorough: bool = False) -> tuple[int, int]:
    """Number of folds and number of repeats, of which there are twice as many if ``thorough``.

    There are more folds where examples or positives are few. A metric that is fitted without a
    fifth of few examples has other distances than one fitted on all of them, and would need
    another threshold.
    """
    n_samples, rarest = len(labels.codes), int(labels.counts.min())
    few = n_samples <= 500 or (rarest < 40 and n_samples <= 2000)
    return 10 if few else 5, (2 if few or n_samples <= 1000 else 1) * (2 if thorough else 1)


def stratified_folds(
    labels: Labels,
    n_folds: int,
    rng: np.random.RandomState | int | None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> Folds:
    """`shuffled_folds`, but no more than the rarest class has examples, groups or sets of copies.

    If there are groups, there must be two classes, of which the second is the positive one.
    """
    sizes = sets_per_class(labels.codes, join_groups(copies, groups))
    if sizes.min() < 2:
        message = _indivisible(labels, int(sizes.argmin()), groups is not None)
        raise ValueError(message + why_so_few(copies, groups))
    return shuffled_folds(labels.codes, int(min(n_folds, sizes.min())), rng, groups, copies)


def parts_of(
    labels: Labels, n_parts: int, groups: NDArray | None = None, copies: NDArray | None = None
) -> Folds:
    """`shuffled_folds` to choose on; all rows are one part if a class cannot be divided."""
    n_sets = int(sets_per_class(labels.codes, join_groups(copies, groups)).min())
    if n_sets < 2:
        rows = np.arange(len(labels.codes))
        return [(rows, rows)]
    return shuffled_folds(labels.codes, min(n_parts, n_sets), 0, groups, copies)


def _indivisible(labels: Labels, c: int, has_groups: bool) -> str:
    """What to say if a class cannot be divided into two parts."""
    label = labels.classes.tolist()[c]
    if has_groups:
        where, advice = "in one group", "Use other groups, or none."
    else:
        where, advice = "copies of one row", "Add other examples of this class."
    name = ("negative", "positive")[c] if has_groups or label in (False, True) else repr(label)
    return (
        f"All {name} examples are {where}, so that none can be held out for validation without "
        f"the others. {advice}"
    )


def sets_per_class(codes: NDArray, sets: NDArray | None) -> NDArray[np.int64]:
    """Number of sets, such as groups, with examples of each class; of examples without sets."""
    if sets is None:
        return np.bincount(codes)
    return np.array([len(np.unique(sets[codes == c])) for c in range(codes.max() + 1)])


def shuffled_folds(
    y: NDArray,
    n_folds: int,
    random_state: np.random.RandomState | int | None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> Folds:
    """Shuffled folds with about the same share of each class.

    No group is in two folds, and no row is in another fold than its copies, see `Copies`. A set of
    copies with different labels counts as an example of the rarest of these classes.

    Notes
    -----
    The groups are shuffled here: ``StratifiedGroupKFold(shuffle=True)`` confuses them before
    scikit-learn 1.8, so that a fold may have no example of a class. The folds are those of later
    versions.
    """
    if groups is None:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
        if copies is None:
            return list(splitter.split(y, y))
        y, sets = _label_sets(y, copies)
        return [
            (np.flatnonzero(~is_test), np.flatnonzero(is_test))
            for is_test in (np.isin(sets, test) for _, test in splitter.split(y, y))
        ]
    names, codes = np.unique(join_groups(copies, groups), return_inverse=True)
    order = np.arange(len(names))
    check_random_state(random_state).shuffle(order)
    positions = np.argsort(order)
    return list(StratifiedGroupKFold(n_folds).split(y, y, positions[codes]))


def _label_sets(y: NDArray, copies: NDArray) -> tuple[NDArray, NDArray[np.int64]]:
    """The label of each set of copies, the rarest of its rows, and the set of each row."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rarest_first = np.argsort(counts, kind="stable")
    _, sets = np.unique(copies, return_inverse=True)
    ranks = np.full(sets.max() + 1, len(classes))
    np.minimum.at(ranks, sets, np.argsort(rarest_first)[codes])
    return classes[rarest_first[ranks]], sets


def split_into_repeats(folds: Folds) -> list[Folds]:
    """Folds whose validation parts do not overlap are one repeat; all repeats score the same rows.

    This accepts the folds of, for example, `StratifiedKFold`, `RepeatedStratifiedKFold` and
    `TimeSeriesSplit`. With the latter, the first rows are in no validation part.
    """
    repeats: list[Folds] = []
    seen: set[int] = set()
    for fold in folds:
        own = set(fold[1].tolist())
        if not repeats or seen & own:
            repeats.append([])
            seen = set()
        repeats[-1].append(fold)
        seen |= own
    scored = [frozenset(scored_rows(each).tolist()) for each in repeats]
    if len(set(scored)) != 1:
        raise ValueError(
            "The validation parts of cv must not overlap, or all of them must be repeated, as by "
            "RepeatedStratifiedKFold. Use another splitter than, for example, ShuffleSplit."
        )
    return repeats


def scored_rows(folds: Folds) -> NDArray[np.int64]:
    """The rows that are in the validation part of a fold; all repeats have the same."""
    return np.sort(np.concatenate([validation for _, validation in folds]))


def restrict_fold(fold: tuple[NDArray, NDArray], rows: NDArray) -> tuple[NDArray, NDArray]:
    """The same fold when only some rows, which are sorted, are left."""
    train, validation = (np.flatnonzero(np.isin(rows, part)) for part in fold)
    return train, validation


def _check_classes(repeats: Sequence[Folds], labels: Labels) -> None:
    """Refuse folds that cannot be learned from, and a class that is never validated."""
    names = ("the negative class", "the positive class")
    for train, _ in (fold for folds in repeats for fold in folds):
        counts = np.bincount(labels.codes[train], minlength=2)
        if counts.min() < 1:
            raise ValueError(
                f"A fold of cv leaves no example of {names[int(counts.argmin())]} to learn from. "
                "Use fewer folds, or folds with both classes."
            )
    counts = np.bincount(labels.codes[scored_rows(repeats[0])], minlength=2)
    if counts.min() < 1:
        raise ValueError(
            f"No example of {names[int(counts.argmin())]} is in a validation part of cv, so that "
            "no threshold can be chosen. Use other folds."
        )
