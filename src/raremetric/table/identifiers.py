"""Columns that name or count the rows instead of describing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from pandas.api import types

from raremetric.table.reading.levels import EXACT_INTEGERS

MIN_ROWS = 50  # with fewer, whole numbers can all be different by chance


def identifier_kind(column: Any) -> str:
    """How a column identifies rows instead of describing them; empty if it does not."""
    if len(column) < MIN_ROWS or column.isna().any():
        return ""
    if types.is_numeric_dtype(column) and column.min() >= EXACT_INTEGERS and column.max() < 2**64:
        return "contains numbers of more than 15 digits and seems to be an identifier"
    if not column.is_unique:
        return ""
    if types.is_datetime64_any_dtype(column):
        return ""
    if not types.is_numeric_dtype(column):
        return "is different in every row and seems to be an identifier"
    values = column.to_numpy(dtype=np.float64)
    if not np.all(values == np.floor(values)):
        return ""
    steps = np.diff(values)
    if np.all(steps > 0) or np.all(steps < 0):
        return "counts the rows: it contains whole numbers in the order of the file"
    if np.ptp(values) < 2 * len(values):
        return "numbers the rows: it contains different whole numbers without large gaps"
    return ""
