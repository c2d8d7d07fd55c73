"""Numbers as features: finite floats, with the median where a value is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dates import is_date_column
from raremetric.datasets.dialect import date_message
from raremetric.extras import import_optional


def is_number(column: Any) -> bool:
    """Whether a column of a DataFrame holds numbers; booleans are a category."""
    types = import_optional("pandas").api.types
    if is_date_column(column) or types.is_timedelta64_dtype(column):
        raise ValueError(date_message(column.name))
    return types.is_numeric_dtype(column) and not types.is_bool_dtype(column)


def as_floats(column: Any) -> NDArray[np.float64]:
    """The values of a column of numbers; an error if one is infinite."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values))) + 1
        raise ValueError(f"Column {column.name!r} holds an infinite value in row {row}.")
    return values


def fill_numbers(out: NDArray[np.float64], column: Any, median: float) -> None:
    """Encode a column, which may hold numbers as text."""
    if import_optional("pandas").api.types.is_bool_dtype(column):
        raise ValueError(
            f"Column {column.name!r} was numeric when the encoder was fitted, but now it holds "
            "True and False. Convert it to the numbers that they stand for."
        )
    if not is_number(column):
        numbers = import_optional("pandas").to_numeric(column.astype(object), errors="coerce")
        wrong = numbers.isna().to_numpy() & column.notna().to_numpy()
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"Column {column.name!r} was numeric when the encoder was fitted, but row "
                f"{row + 1} holds {column.iloc[row]!r}."
            )
        column = numbers
    values = as_floats(column)
    out[:] = np.where(np.isnan(values), median, values)
