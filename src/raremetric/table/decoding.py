"""From encoded numbers back to the columns that a user knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets import TableEncoder


def column_starts(encoder: TableEncoder) -> NDArray[np.int64]:
    """Of each raw column the place of its first encoded one."""
    widths = [
        max(len(levels) - (len(levels) == 2), 1) if kind == "onehot" else 1
        for kind, levels in zip(encoder.kinds_, encoder.levels_, strict=True)
    ]
    return np.cumsum([0, *widths[:-1]])


def sum_by_column(encoder: TableEncoder, parts: NDArray) -> NDArray:
    """Add up what belongs to one raw column: (n, n_encoded) to (n, n_columns)."""
    return np.add.reduceat(parts, column_starts(encoder), axis=1)


def largest_by_column(encoder: TableEncoder, changes: NDArray) -> NDArray:
    """Of the changes by one raw column's parts the largest in size: changes do not add up."""
    stops = [*column_starts(encoder)[1:], changes.shape[1]]
    pieces = [
        changes[:, start:stop] for start, stop in zip(column_starts(encoder), stops, strict=True)
    ]
    largest = [np.argmax(np.abs(piece), axis=1)[:, np.newaxis] for piece in pieces]
    return np.hstack(
        [
            np.take_along_axis(piece, place, axis=1)
            for piece, place in zip(pieces, largest, strict=True)
        ]
    )


def decode(encoder: TableEncoder, row: NDArray) -> dict[str, Any]:
    """The values of a row by raw column: a number, a level, or None for a level not seen in fit.

    Where a number was missing, it is the median that the encoder put in its place.
    """
    values: dict[str, Any] = {}
    for name, kind, levels, start in zip(
        encoder.feature_names_in_,
        encoder.kinds_,
        encoder.levels_,
        column_starts(encoder),
        strict=True,
    ):
        value = float(row[start])
        if kind == "number":
            values[str(name)] = value
        elif kind == "rank" or len(levels) == 2:
            values[str(name)] = levels[int(value)] if value in range(len(levels)) else None
        else:
            hits = np.flatnonzero(row[start : start + len(levels)])
            values[str(name)] = levels[hits[0]] if len(hits) else None
    return values
