"""The rows that a task learns from and those it is tested on, as numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import (
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)

from raremetric.encoding import TableEncoder
from raremetric.validation import take_rows

N_FOLDS = 5


class Split(NamedTuple):
    """Rows to learn from and to test on, and the folds within the former."""

    train: NDArray
    test: NDArray
    folds: list[tuple[NDArray, NDArray]]  # positions within train


def make_split(y: NDArray, split: int, test_size: float, groups: NDArray | None = None) -> Split:
    """Split number ``split``: one RandomState for the split and then for the folds.

    Rows of a group are on one side, also in the folds.
    """
    rng = np.random.RandomState(split)
    if groups is not None:
        halves = GroupShuffleSplit(1, test_size=test_size, random_state=rng)
        train, test = next(halves.split(y, y, groups))
        by_group = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=rng)
        return Split(train, test, list(by_group.split(train, y[train], groups[train])))
    train, test = train_test_split(
        np.arange(len(y)), stratify=y, shuffle=True, test_size=test_size, random_state=rng
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=rng)
    return Split(train, test, list(folds.split(train, y[train])))


def encoded(X: Any, split: Split) -> tuple[NDArray, NDArray]:
    """Both parts of the rows as numbers; a data frame is encoded as its training part says."""
    train, test = take_rows(X, split.train), take_rows(X, split.test)
    if isinstance(X, np.ndarray):
        return train, test
    encoder = TableEncoder().fit(train)
    return encoder.transform(train), encoder.transform(test)
