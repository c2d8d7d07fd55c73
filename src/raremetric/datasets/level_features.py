"""Levels of text as 0/1 columns, and their counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.levels import MISSING_LEVEL, known_spellings


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


def level_codes(column: Any, known: list[str]) -> NDArray[np.int64]:
    """Index of each row's level among the known levels; -1 for an unknown level."""
    levels, codes = levels_and_codes(column)
    position = {level: index for index, level in enumerate(known)}
    levels = known_spellings(levels, known)
    translation = [position.get(level, -1) for level in [*levels, MISSING_LEVEL]]
    return np.array(translation, dtype=np.int64)[codes]  # code -1 selects the last entry


def fill_levels(out: NDArray[np.float64], column: Any, levels: list[str]) -> None:
    """Encode a column; a level that was not seen in `fit` is 0 everywhere, or 0.5 of two levels."""
    codes = level_codes(column, levels)
    if len(levels) == 2:
        out[:, 0] = np.where(codes < 0, 0.5, codes)
    else:
        rows = np.flatnonzero(codes >= 0)
        out[rows, codes[rows]] = 1.0


def level_names(name: str, levels: list[str]) -> list[str]:
    """Names of the 0/1 columns; of two levels, only the second has one."""
    return [f"{name}={level}" for level in levels[len(levels) == 2 :]]


def decode_level(features: NDArray, levels: list[str]) -> str | None:
    """The level of a row; None if it was not seen in `fit`."""
    if len(levels) == 2:
        return levels[int(features[0])] if features[0] in (0, 1) else None
    hits = np.flatnonzero(features)
    return levels[hits[0]] if len(hits) else None
