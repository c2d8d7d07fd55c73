"""From Arrow's columns to a DataFrame of numbers and categories, or a sentence about a column."""

from __future__ import annotations

import re
import warnings
from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dialect import TableError, is_missing, is_numeric
from raremetric.datasets.encoding import date_sentence
from raremetric.datasets.parsers import unquote
from raremetric.extras import import_optional

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
    import_optional("pyarrow").default_memory_pool().release_unused()
    if empty:
        warnings.warn(
            f"Left out because they hold no value at all: {', '.join(map(repr, empty))}.",
            UserWarning,
            stacklevel=3,
        )
    # Without a copy, each column keeps its own memory.
    return import_optional("pandas").DataFrame(series, copy=False)


def convert_column(name: str, column: Any, *, as_category: bool) -> Any:
    """One column as NumPy values or as a pandas Categorical; None if it holds no value."""
    types = import_optional("pyarrow.types")
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
        if name not in text and is_text(column.type):
            values = _strict_numbers(name, column, first_row)
        else:
            values = convert_column(name, column, as_category=name in text)
        series[name] = np.full(table.num_rows, np.nan) if values is None else values
    numbers = import_optional("pandas").RangeIndex(first_row, first_row + table.num_rows)
    return import_optional("pandas").DataFrame(series, index=numbers, copy=False)


def as_texts(column: Any) -> list[str]:
    """The values of a column as they stand in the file; empty where one is missing."""
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _strict_numbers(name: str, column: Any, first_row: int) -> NDArray[np.float64]:
    with suppress(
        import_optional("pyarrow").ArrowInvalid
    ):  # Arrow is fast, and knows clean numbers only
        values = column.cast("string").cast("float64").to_numpy()
        if not np.isinf(values).any():
            return values
    numbers = _parse_numbers(column)
    if numbers.n_wrong:
        raise TableError(
            f"column {name!r} must hold numbers, but data row {first_row + numbers.wrong_row} "
            f"holds {numbers.wrong_value!r}."
        )
    return numbers.values


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, coded or not."""
    types = import_optional("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _dictionary(column: Any) -> tuple[list[str], NDArray]:
    """Distinct values and each row's index among them; -1 where it is missing."""
    arrow = import_optional("pyarrow")
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
    return import_optional("pandas").Categorical.from_codes(
        translation[codes], categories=[levels[i] for i in order]
    )


def _convert_text(name: str, column: Any, as_category: bool) -> Any:
    if not as_category:
        numbers = _parse_numbers(column)
        n_present = np.count_nonzero(~np.isnan(numbers.values)) + numbers.n_wrong
        if not n_present:
            return None
        if numbers.n_wrong <= (1 - NUMERIC_SHARE) * n_present:
            _refuse_mistake(name, numbers)
            return numbers.values
        del numbers
    raw, codes = _dictionary(column)
    tidy = [unquote(value) for value in raw]
    levels = sorted({value for value in tidy if not is_missing(value)})
    if not levels:
        return None
    if not as_category:
        _refuse_dates(name, levels)
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(value, -1) for value in tidy), -1], dtype=np.int64)
    return _categories(levels, translation[codes])


class _Numbers(NamedTuple):
    """Text read as numbers, and the first field that is none."""

    values: NDArray[np.float64]  # NaN where there is none
    n_wrong: int
    wrong_row: int
    wrong_value: str


def _parse_numbers(column: Any) -> _Numbers:
    """Chunk by chunk: the distinct texts of a large column of numbers would fill the memory."""
    values = np.full(len(column), np.nan)
    n_wrong, wrong_row, wrong_value, start = 0, 0, "", 0
    for chunk in column.chunks:
        raw, codes = _dictionary(import_optional("pyarrow").chunked_array([chunk]))
        tidy = [unquote(value) for value in raw]
        wrong = np.array([not (is_missing(v) or is_numeric(v)) for v in tidy] + [False])[codes]
        if wrong.any() and not n_wrong:
            row = int(np.argmax(wrong))
            wrong_row, wrong_value = start + row, tidy[codes[row]]
        n_wrong += int(wrong.sum())
        numbers = [float(value) if is_numeric(value) else np.nan for value in tidy]
        values[start : start + len(chunk)] = np.array([*numbers, np.nan])[codes]
        start += len(chunk)
        if n_wrong > (1 - NUMERIC_SHARE) * len(column):
            break  # text, whatever may follow
    return _Numbers(values, n_wrong, wrong_row, wrong_value)


def _refuse_mistake(name: str, numbers: _Numbers) -> None:
    """An error where nearly all values are numbers and a few are not."""
    if numbers.n_wrong:
        raise TableError(
            f"column {name!r} holds numbers, except in {numbers.n_wrong} of {len(numbers.values)} "
            f"rows: data row {numbers.wrong_row + 1} holds {numbers.wrong_value!r}. Mend it, leave "
            "the field empty, or name the column in `categorical` if its numbers are codes."
        )


def _refuse_dates(name: str, levels: list[str]) -> None:
    sample = levels[:1000]
    if sum(_DATE.fullmatch(level) is not None for level in sample) > 0.9 * len(sample):
        raise TableError(date_sentence(name))
