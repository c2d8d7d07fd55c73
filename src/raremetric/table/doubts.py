"""How rows differ from the training data: new levels, missing values, and values out of range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from raremetric.encoding.columns import date_points, is_date_column

MAX_LEVELS = 100  # in a column with more levels, new ones may be usual
RARELY = 0.01  # share of rows with a new level, up to which one of them is unusual
UNLIKELY = 1e-3  # probability below which something cannot be chance
FAR_ROW = "(far from all examples)"
FAR = "are farther from all training examples than 99% of these are from their nearest"


def summarize_columns(frame: Any) -> list[Any]:
    """What the training data holds in each raw column.

    For each column its ``name``, its ``kind`` ("number", "date", "text" or "other"), the share of
    ``missing`` values, ``min`` and ``max`` of a number or date, and ``levels`` of a text. The share
    of rows whose level occurs ``once`` estimates how many rows of other data have a new level
    (Good and Turing).
    """
    summaries = []
    for name in frame.columns:
        column = frame[name]
        summary: dict[str, Any] = {
            "name": str(name),
            "kind": _kind(column),
            "missing": float(column.isna().mean()),
        }
        if summary["kind"] == "number":
            values = _numbers(column)
            summary |= {"min": float(np.nanmin(values)), "max": float(np.nanmax(values))}
        elif summary["kind"] == "date":
            points = date_points(column)
            present = points[~np.isnat(points)]
            summary |= {"min": str(present.min()), "max": str(present.max())}
        elif summary["kind"] == "text":
            counts = column.dropna().astype(str).value_counts()
            summary["levels"] = sorted(counts[counts > 0].index)
            summary["once"] = float((counts == 1).sum() / max(counts.sum(), 1))
        summaries.append(summary)
    return summaries


def find_doubts(summaries: Sequence[Any], frame: Any) -> dict[tuple[str, str], NDArray]:
    """The rows of a table that differ from the training data, if there are any, as booleans.

    The keys are the name of a column and a description of the difference.
    """
    found = {}
    for summary in summaries:
        name, kind, share = summary["name"], summary["kind"], summary["missing"]
        column = frame[name]
        missing = column.isna().to_numpy()
        # Where there were none; or all are, which is no chance.
        if not share or (missing.all() and share ** len(missing) < UNLIKELY):
            usual = f"{share:.1%}" if share else "never"
            found[name, f"is missing (in the training data: {usual})"] = missing
        if kind == "number":
            low, high = summary["min"], summary["max"]
            outside = _is_far(_numbers(column), low, high)
            found[name, f"is far outside the range {low:.6g} to {high:.6g}"] = outside
        elif kind == "date":
            first, last = np.array([summary["min"], summary["max"]], dtype="datetime64[us]")
            outside = _is_far(date_points(column), first, last)
            found[name, f"is far outside the range {describe_dates(summary)}"] = outside
        elif kind == "text":
            new = _new_levels(summary, column)
            found[name, "has a level that the training data does not have"] = new
    return {key: rows for key, rows in found.items() if rows.any()}


def _is_far(values: NDArray, low: Any, high: Any) -> NDArray[np.bool_]:
    """Whether values are outside of a range by more than its length."""
    return (values < low - (high - low)) | (values > high + (high - low))


def _new_levels(summary: dict[str, Any], column: Any) -> NDArray[np.bool_]:
    """The rows with a new level, unless there are so many levels that this is usual."""
    values, known = column.astype("category").cat, {*summary["levels"]}
    is_new = [str(level) not in known for level in values.categories]
    new = np.array([*is_new, False])[values.codes]  # the code of a missing value is -1
    share = summary["once"]
    if len(known) <= MAX_LEVELS or share <= RARELY:
        return new
    n_new = np.count_nonzero(new)
    return new if binom.sf(n_new - 1, len(new), share) < UNLIKELY else np.zeros_like(new)


def describe_dates(summary: Any) -> str:
    """The first and the last day of a column of dates."""
    return f"{summary['min'][:10]} to {summary['max'][:10]}"


def describe_rows(doubts: dict[tuple[str, str], NDArray], n_rows: int) -> NDArray:
    """For each row the names of the columns that are unlike the training data, as one text."""
    names: dict[int, list[str]] = {}
    for (name, _), rows in doubts.items():
        for i in np.flatnonzero(rows):
            names.setdefault(int(i), []).append(name or FAR_ROW)
    described = np.full(n_rows, "", dtype=object)
    for row, each in names.items():
        described[row] = "; ".join(dict.fromkeys(each))
    return described


def count_doubts(doubts: dict[tuple[str, str], NDArray]) -> dict[str, int]:
    """The number of rows with each difference, by the end of a sentence about them."""
    return {
        f"rows: column {name!r} {text}." if name else f"rows {text}.": int(rows.sum())
        for (name, text), rows in doubts.items()
    }


def _kind(column: Any) -> str:
    if pd.api.types.is_numeric_dtype(column):
        return "number"
    if is_date_column(column) and column.notna().any():
        return "date"
    is_text = pd.api.types.is_string_dtype(column)
    return "text" if is_text or isinstance(column.dtype, pd.CategoricalDtype) else "other"


def _numbers(column: Any) -> NDArray[np.float64]:
    numbers = pd.to_numeric(column, errors="coerce")
    return numbers.to_numpy(dtype=np.float64, na_value=np.nan)
