"""The class column of a user's table: what its labels are, and which of them is positive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.columns import convert_column
from raremetric.datasets.dialect import TableError, is_numeric
from raremetric.validation import Labels


def read_labels(name: str, column: Any) -> Labels:
    """The class of each row; at least two classes, and no row without."""
    values = convert_column(name, column, as_category=True)
    if values is None:
        raise TableError(f"the target column {name!r} is empty.")
    codes = values.codes
    empty = codes < 0
    if empty.any():
        raise TableError(
            f"the target column {name!r} is empty in {empty.sum()} of {len(codes)} rows, first in "
            f"data row {np.argmax(empty) + 1}: remove those rows."
        )
    classes = _classes(values.categories.tolist())
    if classes.dtype.kind == "f":
        raise TableError(
            f"the target column {name!r} holds {len(classes)} different numbers such as "
            f"{classes[0]:g}, not classes. Name another column, or turn it into classes first."
        )
    # "1" and "1.0" are two texts and one number: number the rows anew by the sorted classes.
    classes, merged = np.unique(classes, return_inverse=True)
    codes = merged.astype(codes.dtype)[codes]
    if len(classes) < 2:
        raise TableError(
            f"the target column {name!r} holds a single class, {str(classes[0])!r}, in all "
            f"{len(codes)} rows; at least two are needed."
        )
    return Labels(classes, codes, np.bincount(codes, minlength=len(classes)))


def choose_positive(name: str, labels: Labels, positive: Any) -> tuple:
    """The positive labels as they stand in the file; by default the rarest class."""
    classes, _, counts = labels
    if positive is None:
        return (classes[np.argmin(counts)].item(),)
    wanted = positive if isinstance(positive, list | tuple | set) else [positive]
    by_text = {str(label): label for label in classes.tolist()}
    unknown = [label for label in wanted if str(label) not in by_text]
    if unknown or len({*map(str, wanted)}) >= len(classes):
        what = f"holds no {unknown[0]!r}" if unknown else "would hold positives only"
        held = ", ".join(f"{label} ({count})" for label, count in zip(classes, counts, strict=True))
        raise TableError(f"the target column {name!r} {what}; its classes: {held[:300]}.")
    return tuple(by_text[str(label)] for label in wanted)


def _classes(levels: Sequence[str]) -> NDArray:
    """Levels as integers or floats where all are, otherwise as text."""
    if not all(map(is_numeric, levels)):
        return np.array(levels)
    numbers = np.array(levels, dtype=np.float64)
    return numbers if (numbers % 1).any() else numbers.astype(np.int64)
