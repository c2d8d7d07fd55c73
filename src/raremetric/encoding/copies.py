"""Copies of rows in a DataFrame, apart from columns that only identify rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_numeric_dtype

from raremetric.copies import Copies, find_copies
from raremetric.encoding.columns import is_date_column

EXACT_INTEGERS = 2**53  # floats below it hold all integers
MIN_ROWS = 50  # with fewer, whole numbers can all be different by chance
MANY_VALUES = 0.9  # different values per row of a column that may identify rows
MANY_COPIES = 0.1  # share of the rows that are copies without such a column, if it does


def copies_in(data: Any) -> Copies:
    """Rows with equal values in all columns but those that identify or count the rows.

    Texts or whole numbers of which nearly all are different identify rows if a large share of the
    rows are copies without them.
    """
    described = data[[name for name in data.columns if not identifier_kind(data[name])]]
    found = _copies_in(described)
    rest = described[[name for name in described if not _may_identify(described[name])]]
    without = found if rest.shape == described.shape else _copies_in(rest)
    if without.together and without.n_repeats - found.n_repeats >= MANY_COPIES * len(data):
        found, described = without, rest
    return found._replace(left_out=[name for name in data if name not in described])


def _copies_in(data: Any) -> Copies:
    if not len(data.columns):
        return Copies(np.arange(len(data)), 0, True)
    values = np.column_stack([as_numbers(column) for _, column in data.items()])
    return find_copies(values, are_numbers(data))


def _may_identify(column: Any) -> bool:
    """Whether nearly all values are different, and texts or whole numbers."""
    if is_date_column(column) or column.nunique() < MANY_VALUES * len(column):
        return False
    if not is_numeric_dtype(column):
        return True
    values = column.dropna().to_numpy(np.float64)
    return bool(np.all(values == np.floor(values)))


def identifier_kind(column: Any) -> str:
    """How a column identifies rows instead of describing them; empty if it does not."""
    if len(column) < MIN_ROWS or column.isna().any():
        return ""
    if is_numeric_dtype(column) and column.min() >= EXACT_INTEGERS and column.max() < 2**64:
        return "contains numbers of more than 15 digits and seems to be an identifier"
    if not column.is_unique or is_date_column(column):
        return ""
    if not is_numeric_dtype(column):
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


def are_numbers(frame: Any) -> NDArray[np.bool_]:
    """Which columns of a DataFrame hold numbers or dates."""
    columns = [column for _, column in frame.items()]
    return np.array([is_numeric_dtype(column) or is_date_column(column) for column in columns])


def as_numbers(column: Any) -> NDArray:
    """The numbers of a column, or a number for each of its values."""
    if is_numeric_dtype(column):
        return column.to_numpy(np.float64, na_value=np.nan)
    return pd.factorize(column)[0]
