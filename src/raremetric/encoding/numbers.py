"""Numbers as features: finite floats, with the median where a value is missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_bool_dtype, is_numeric_dtype, is_timedelta64_dtype
from sklearn.base import BaseEstimator

from raremetric.encoding.dates import date_message, is_date_column


class NumberEncoder(BaseEstimator):
    """Keep numbers; a missing one becomes the median.

    Attributes
    ----------
    median_ : float
        Median of the column in `fit`.
    """

    kind = "number"

    def fit(self, column: Any) -> NumberEncoder:
        """Learn the median."""
        values = _as_floats(column)
        present = values[~np.isnan(values)]
        if not len(present):
            raise ValueError(f"Column {column.name!r} is empty. Leave it out.")
        self.median_ = 2 * float(np.median(present / 2))  # a sum could overflow
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column, which may hold numbers as text."""
        if is_bool_dtype(column):
            raise ValueError(
                f"Column {column.name!r} was numeric when the encoder was fitted, but now it holds "
                "True and False. Convert it to the numbers that they stand for."
            )
        if not is_number(column):
            numbers = pd.to_numeric(column.astype(object), errors="coerce")
            wrong = numbers.isna().to_numpy() & column.notna().to_numpy()
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(
                    f"Column {column.name!r} was numeric when the encoder was fitted, but row "
                    f"{row + 1} holds {column.iloc[row]!r}."
                )
            column = numbers
        values = _as_floats(column)
        return np.where(np.isnan(values), self.median_, values)[:, np.newaxis]

    def feature_names(self, name: str) -> list[str]:
        """The name of the column."""
        return [name]


def is_number(column: Any) -> bool:
    """Whether a column of a DataFrame holds numbers; booleans are a category."""
    if is_date_column(column) or is_timedelta64_dtype(column):
        raise ValueError(date_message(column.name))
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def _as_floats(column: Any) -> NDArray[np.float64]:
    """The values of a column of numbers; an error if one is infinite."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values))) + 1
        raise ValueError(f"Column {column.name!r} holds an infinite value in row {row}.")
    return values
