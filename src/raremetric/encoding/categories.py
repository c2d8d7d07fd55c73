"""Levels of text as 0/1 columns."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

MISSING_LEVEL = "(missing)"
# The levels of truth values, in all file formats and spellings.
BOOLEANS = {"false": "False", "true": "True"}
_BINARY = {"0": "False", "1": "True", "0.0": "False", "1.0": "True"}


class CategoryEncoder(BaseEstimator):
    """Encode a column of text as one 0/1 column per level, in alphabetical order.

    If there are two levels, there is one column, for the second. A level that was not seen in
    `fit` is encoded as 0 in all columns, or as 0.5 if there were two levels.

    Attributes
    ----------
    levels_ : list of str
        The levels of `fit`; a missing value is a level of its own.
    """

    kind = "onehot"

    def fit(self, column: Any) -> CategoryEncoder:
        """Learn the levels."""
        self.levels_ = sorted(count_levels(column))
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column."""
        codes = self._codes(column)
        if len(self.levels_) == 2:
            return np.where(codes < 0, 0.5, codes)[:, np.newaxis]
        encoded = np.zeros((len(codes), len(self.levels_)))
        rows = np.flatnonzero(codes >= 0)
        encoded[rows, codes[rows]] = 1.0
        return encoded

    def feature_names(self, name: str) -> list[str]:
        """Such as ``color=red`` for a level of a column ``color``."""
        return [f"{name}={level}" for level in self.levels_[len(self.levels_) == 2 :]]

    def _codes(self, column: Any) -> NDArray[np.int64]:
        """Index of each row's level; -1 for a level that was not seen in `fit`."""
        levels, codes = levels_and_codes(column)
        position = {level: index for index, level in enumerate(self.levels_)}
        levels = known_spellings(levels, self.levels_)
        translation = [position.get(level, -1) for level in [*levels, MISSING_LEVEL]]
        return np.array(translation, dtype=np.int64)[codes]  # code -1 selects the last entry


def levels_and_codes(column: Any) -> tuple[list[str], NDArray]:
    """Levels as text, and the index of each row's level; -1 where the value is missing."""
    values = column.astype("category").cat
    return [str(level) for level in values.categories], values.codes.to_numpy()


def count_levels(column: Any) -> dict[str, int]:
    """Number of rows of each level that occurs."""
    levels, codes = levels_and_codes(column)
    # The first entry counts the missing values.
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(levels) + 1)
    named = zip([MISSING_LEVEL, *levels], counts.tolist(), strict=True)
    return {level: count for level, count in named if count}


def known_spellings(levels: Sequence[str], known: Collection[str]) -> list[str]:
    """Truth values and codes as the known levels are written; other levels are not changed."""
    known = {*known}
    if known and known <= {*BOOLEANS.values(), MISSING_LEVEL}:
        spellings = BOOLEANS | _BINARY
        return [spellings.get(level.lower(), level) for level in levels]
    shorter = map(without_zero, levels)
    return [
        short if short in known and level not in known else level
        for level, short in zip(levels, shorter, strict=True)
    ]


def without_zero(level: str) -> str:
    """A whole number without its decimal zero: 7 for 7.0."""
    return level[:-2] if re.fullmatch(r"-?\d+\.0", level) else level
