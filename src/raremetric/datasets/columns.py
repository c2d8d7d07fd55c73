"""From Arrow's columns to a DataFrame of numbers and categories, or a sentence about a column."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dialect import TableError, is_missing, is_numeric
from raremetric.datasets.encoding import date_sentence
from raremetric.datasets.extras import need
from raremetric.datasets.parsers import unquote

# From this share of numbers on, a column that also holds text is taken for a column of numbers
# with a mistake in it, not for categories.
NUMERIC_SHARE = 0.9

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[-. ]+{_MONTH}[-., ]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?",
    flags=re.IGNORECASE,
)


def to_frame(columns: dict[str, Any], categorical: Collection[str] = ()) -> Any:
    """A DataFrame of float, integer, truth and category columns.

    Parameters
    ----------
    columns : dict of pyarrow.ChunkedArray
        By name. Emptied on the way, so that not all is held twice.
    categorical : collection of str
        Columns to be taken as categories even if they hold numbers.
    """
    series, empty = {}, []
    for name in list(columns):
        values = convert_column(name, columns.pop(name), as_category=name in categorical)
        if values is None:
            empty.append(name)
        else:
            series[name] = values
    need("pyarrow").default_memory_pool().release_unused()
    if empty:
        warnings.warn(
            f"Left out because they hold no value at all: {', '.join(map(repr, empty))}.",
            UserWarning,
            stacklevel=3,
        )
    # Without a copy, each column keeps its own memory.
    return need("pandas").DataFrame(series, copy=False)


def convert_column(name: str, column: Any, *, as_category: bool) -> Any:
    """One column as NumPy values or as a pandas Categorical; None if it holds no value."""
    types = need("pyarrow.types")
    if types.is_temporal(column.type):
        raise TableError(date_sentence(name))
    if column.null_count == len(column):
        return None
    if types.is_dictionary(column.type) and not is_text(column.type):
        column = column.cast(column.type.value_type)
    kind = column.type
    if is_text(kind):
        return _convert_text(name, column, as_category)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        if not types.is_decimal(kind):
            raise TableError(
                f"column {name!r} holds values of the type {kind}, which cannot be used as "
                "features: leave it out."
            )
        column = column.cast("float64")
    if as_category:
        return _categories(*_dictionary(column.cast("string")))
    if types.is_boolean(kind):
        column = column.cast("int8")
    return column.to_numpy()


def known_columns(table: Any, names: Sequence[str], text: Collection[str], first_row: int) -> Any:
    """A DataFrame of columns whose kinds are known: those in `text` categories, others numbers.

    Parameters
    ----------
    table : pyarrow.Table
        Must have the columns.
    names : sequence of str
        The columns to take.
    text : collection of str
        Which of them are categories.
    first_row : int
        Number of the table's first row within the file, for messages.
    """
    series = {}
    for name in names:
        column = table.column(name)
        values = convert_column(name, column, as_category=name in text or is_text(column.type))
        if values is None:
            values = np.full(table.num_rows, np.nan)
        elif hasattr(values, "categories") and name not in text:
            values = _strict_numbers(name, values, first_row)
        series[name] = values
    return need("pandas").DataFrame(series, copy=False)


def _strict_numbers(name: str, values: Any, first_row: int) -> NDArray[np.float64]:
    levels = values.categories.tolist()
    wrong = np.array([not is_numeric(level) for level in levels] + [False])[values.codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(
            f"column {name!r} must hold numbers, but data row {first_row + row} holds "
            f"{levels[values.codes[row]]!r}."
        )
    return np.array([*map(float, levels), np.nan])[values.codes]


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, coded or not."""
    types = need("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _dictionary(column: Any) -> tuple[list[str], NDArray]:
    """Distinct values and each row's index among them; -1 where it is missing."""
    arrow = need("pyarrow")
    if not arrow.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    column = column.unify_dictionaries()
    if not column.num_chunks:
        return [], np.empty(0, dtype=np.int64)
    indices = arrow.chunked_array([chunk.indices for chunk in column.chunks])
    codes = indices.fill_null(-1).to_numpy()
    return [str(value) for value in column.chunk(0).dictionary.to_pylist()], codes


def _categories(levels: list[str], codes: NDArray) -> Any:
    """A Categorical with sorted levels that takes as little memory as it can."""
    order = np.argsort(np.array(levels, dtype=object))
    small = np.min_scalar_type(-max(len(levels), 1))
    translation = np.full(len(levels) + 1, -1, dtype=small)  # the last place is for -1
    translation[order] = np.arange(len(levels))
    return need("pandas").Categorical.from_codes(
        translation[codes], categories=[levels[i] for i in order]
    )


def _convert_text(name: str, column: Any, as_category: bool) -> Any:
    raw, codes = _dictionary(column)
    tidy = [unquote(value) for value in raw]
    levels = sorted({value for value in tidy if not is_missing(value)})
    if not levels:
        return None
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(value, -1) for value in tidy), -1], dtype=np.int64)
    codes = translation[codes]
    if not as_category:
        numeric = np.array([is_numeric(level) for level in levels] + [False])
        if numeric[:-1].all():
            return np.array([*map(float, levels), np.nan])[codes]
        _refuse_mistakes(name, levels, codes, numeric)
        _refuse_dates(name, levels)
    return _categories(levels, codes)


def _refuse_mistakes(name: str, levels: list[str], codes: NDArray, numeric: NDArray) -> None:
    """An error where nearly all values are numbers and a few are not."""
    present = codes >= 0
    wrong = present & ~numeric[codes]
    if wrong.sum() > (1 - NUMERIC_SHARE) * present.sum():
        return
    row = int(np.argmax(wrong))
    raise TableError(
        f"column {name!r} holds numbers, except in {int(wrong.sum())} of {len(codes)} rows: data "
        f"row {row + 1} holds {levels[codes[row]]!r}. Mend it, leave the field empty, or name the "
        "column in `categorical` if its numbers are codes."
    )


def _refuse_dates(name: str, levels: list[str]) -> None:
    sample = levels[:1000]
    if sum(_DATE.fullmatch(level) is not None for level in sample) > 0.9 * len(sample):
        raise TableError(date_sentence(name))
