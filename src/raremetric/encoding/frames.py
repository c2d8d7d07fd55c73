"""Tables of any library as a DataFrame of pandas, with columns of plain types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import infer_dtype
from scipy.sparse import issparse
from sklearn.utils import check_array

# What pandas calls the content of a column of objects.
NUMBERS = frozenset({"integer", "floating", "mixed-integer-float", "decimal"})
DATES = frozenset({"date", "datetime", "datetime64"})


def as_frame(X: Any) -> Any:
    """A table of pandas, polars or Arrow, or an array, as a DataFrame; pandas' own is not copied.

    The columns of an array are numbered.
    """
    if isinstance(X, pd.DataFrame):
        return X
    if hasattr(X, "to_pandas"):
        return X.to_pandas(date_as_object=False)
    if isinstance(X, list | tuple) or hasattr(X, "__array__") or issparse(X):
        return pd.DataFrame(check_array(X, dtype=None, ensure_all_finite=False))
    raise TypeError(
        "X must be a data frame of pandas, polars or Arrow, or an array with two dimensions; got "
        f"{type(X).__name__}."
    )


def position_names(frame: Any) -> list[str]:
    """The names of columns that have none: x0, x1, …"""
    return [f"x{j}" for j in range(frame.shape[1])]


def with_names(frame: Any) -> Any:
    """The same table; its columns are called x0, x1, … if they have numbers instead of names."""
    names = frame.columns
    if not any(isinstance(name, str) for name in names):
        return frame.set_axis(position_names(frame), axis="columns")
    if not all(isinstance(name, str) for name in names) or not names.is_unique:
        raise ValueError(
            "The names of the columns must be different, and all of them strings or none of them."
        )
    return frame


def plain_columns(frame: Any) -> Any:
    """The same table with columns of plain types."""
    return pd.DataFrame({name: plain_column(frame[name]) for name in frame}, copy=False)


def plain_column(column: Any) -> Any:
    """A column whose type says what it holds: objects become numbers, dates or text."""
    if column.dtype != object:
        return column
    kind = infer_dtype(column, skipna=True)
    if kind in NUMBERS or column.isna().all():
        values = column.to_numpy(np.float64, na_value=np.nan)
        return pd.Series(values, column.index, name=column.name)
    if kind in DATES:
        return pd.to_datetime(column)
    return column if kind in ("string", "boolean") else column.map(str, na_action="ignore")
