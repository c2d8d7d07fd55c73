"""Stratified folds that keep the rows of a group, and copies of a row, together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.utils import check_random_state

from raremetric.copies import join_groups, why_so_few
from raremetric.validation import Labels

Folds = list[tuple[NDArray, NDArray]]  # rows to learn from and rows to validate on


def stratified_folds(
    labels: Labels,
    n_folds: int,
    rng: np.random.RandomState | int | None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> Folds:
    """`shuffled_folds`, but no more than the rarest class has examples, groups or sets of copies.

    Parameters
    ----------
    labels : Labels
        Of two classes if there are groups, of which the second is the positive one.
    n_folds : int
    rng : int, RandomState instance or None
    groups, copies : ndarray of shape (n_samples,) or None, default=None
        See `shuffled_folds`.
    """
    sizes = sets_per_class(labels.codes, join_groups(copies, groups))
    if sizes.min() < 2:
        message = _indivisible(labels, int(sizes.argmin()), groups is not None)
        raise ValueError(message + why_so_few(copies, groups))
    return shuffled_folds(labels.codes, int(min(n_folds, sizes.min())), rng, groups, copies)


def shuffled_folds(
    y: NDArray,
    n_folds: int,
    random_state: np.random.RandomState | int | None,
    groups: NDArray | None = None,
    copies: NDArray | None = None,
) -> Folds:
    """Shuffled folds with about the same share of each class.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
    n_folds : int
    random_state : int, RandomState instance or None
    groups : ndarray of shape (n_samples,) or None, default=None
        A number for each example; no group is in two folds.
    copies : ndarray of shape (n_samples,) or None, default=None
        See `Copies`; no row is in another fold than its copies. A set of copies with different
        labels counts as an example of the rarest of these classes.

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


def sets_per_class(codes: NDArray, sets: NDArray | None) -> NDArray[np.int64]:
    """Number of sets, such as groups, with examples of each class; of examples without sets."""
    if sets is None:
        return np.bincount(codes)
    return np.array([len(np.unique(sets[codes == c])) for c in range(codes.max() + 1)])


def _label_sets(y: NDArray, copies: NDArray) -> tuple[NDArray, NDArray[np.int64]]:
    """The label of each set of copies, the rarest of its rows, and the set of each row."""
    classes, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    rarest_first = np.argsort(counts, kind="stable")
    _, sets = np.unique(copies, return_inverse=True)
    ranks = np.full(sets.max() + 1, len(classes))
    np.minimum.at(ranks, sets, np.argsort(rarest_first)[codes])
    return classes[rarest_first[ranks]], sets


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
