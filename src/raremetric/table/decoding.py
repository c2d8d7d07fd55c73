"""From encoded numbers back to the columns that a user knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets import TableEncoder


def column_groups(encoder: TableEncoder) -> list[list[int]]:
    """Of each raw column the places of its encoded ones."""
    stops = np.cumsum(
        [
            len(levels) - (len(levels) == 2) if kind == "onehot" else 1
            for kind, levels in zip(encoder.kinds_, encoder.levels_, strict=True)
        ]
    )
    return [list(range(start, stop)) for start, stop in zip([0, *stops], stops, strict=False)]


def sum_by_column(encoder: TableEncoder, parts: NDArray) -> NDArray:
    """Add up what belongs to one raw column: (n, n_encoded) to (n, n_columns)."""
    return np.column_stack([parts[:, group].sum(axis=1) for group in column_groups(encoder)])


def decode(encoder: TableEncoder, row: NDArray) -> dict[str, Any]:
    """The values of a row by raw column: a number, a level, or None for a level not seen in fit.

    Where a number was missing, it is the median that the encoder put in its place.
    """
    values: dict[str, Any] = {}
    for name, kind, levels, group in zip(
        encoder.feature_names_in_,
        encoder.kinds_,
        encoder.levels_,
        column_groups(encoder),
        strict=True,
    ):
        value = float(row[group[0]])
        if kind == "number":
            values[str(name)] = value
        elif kind == "rank" or len(levels) == 2:
            values[str(name)] = levels[int(value)] if value in range(len(levels)) else None
        else:
            hits = np.flatnonzero(row[group])
            values[str(name)] = levels[hits[0]] if len(hits) else None
    return values
