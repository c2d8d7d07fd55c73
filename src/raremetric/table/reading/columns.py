"""Convert Arrow columns to features: numbers, dates and categories."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from raremetric.encoding import TableEncoder
from raremetric.encoding.columns import (
    BOOLEANS,
    DateEncoder,
    NumberEncoder,
    date_message,
    known_spellings,
    without_zero,
)
from raremetric.table.reading.dates import (
    as_points,
    convert_dates,
    find_layout,
    is_date_type,
    parse_dates,
    refuse_dates,
    strict_dates,
)
from raremetric.table.reading.levels import (
    MISSING_TEXTS,
    MISSING_WORDS,
    distinct_values,
    is_text,
    plain_column,
    renamed,
    tidy_levels,
)
from raremetric.table.reading.numbers import (
    UNKNOWN,
    Written,
    check_numbers,
    parse_numbers,
    strict_numbers,
)
from raremetric.validation import TableError, warn_user


class Converted(NamedTuple):
    """The values of a column, and how they were written."""

    values: Any  # a NumPy array, a DatetimeIndex or a Categorical
    # Of numbers; of dates the name of a layout, which is empty if they were not text.
    written: Written | str | None = None


def to_frame(
    columns: dict[str, Any], categorical: Collection[str], written: Mapping[str, Written]
) -> tuple[Any, dict[str, Any]]:
    """A DataFrame of numbers, dates and categories, and how each column is written.

    The dictionary of Arrow columns is emptied during the conversion to save memory. What a file
    shows about its numbers is in `written`.
    """
    series, empty, found = {}, [], {}
    for name in list(columns):
        column = columns.pop(name)
        if name in categorical:
            # pandas writes integers with missing values as 7.0, also into CSV files.
            converted = convert_category(name, column, lambda levels: [*map(without_zero, levels)])
        else:
            converted = convert_column(name, column, written.get(name, UNKNOWN))
        if converted is None:
            empty.append(name)
        else:
            series[name], found[name] = converted
    pa.default_memory_pool().release_unused()
    if empty:
        warn_user(f"Dropped columns without any value: {', '.join(map(repr, empty))}.")
    # Without a copy, the columns are not held twice.
    return pd.DataFrame(series, copy=False), _with_one_mark(found)


def _with_one_mark(written: dict[str, Any]) -> dict[str, Any]:
    """Where whole numbers do not show the decimal mark of a table, it is that of the others."""
    marks = {how.decimal for how in written.values() if isinstance(how, Written)} - {""}
    if len(marks) != 1:
        return written
    (mark,) = marks
    return {
        name: how._replace(decimal=mark) if isinstance(how, Written) else how
        for name, how in written.items()
    }


def convert_column(name: str, column: Any, hint: Written = UNKNOWN) -> Converted | None:
    """A column as features of the kind that it seems to have; None if it has no value."""
    column = plain_column(column)
    kind = column.type
    if column.null_count == len(column):
        return None
    if is_date_type(kind):
        return Converted(convert_dates(column), "")
    if is_text(kind):
        return _convert_text(name, column, hint.decimal)
    if types.is_boolean(kind):
        return convert_category(name, column)
    _check_type(name, kind)
    if types.is_decimal(kind):  # through text, because Arrow's own conversion is not exact
        column = column.cast("string").cast("float64")
    values = column.to_numpy()
    if values.dtype.kind != "f":
        return Converted(values, UNKNOWN)
    # In Arrow and polars, NaN is different from a missing value.
    if np.isnan(values).all():
        return None
    # Text such as 95.000, which Arrow parsed, has decimals although its value is a whole number.
    has_decimals = hint.has_decimals or bool((values[np.isfinite(values)] % 1).any())
    return Converted(values, Written((hint.decimal or ".") * has_decimals, has_decimals))


def convert_category(
    name: str,
    column: Any,
    spell: Callable[[list[str]], list[str]] = list,
    missing: Collection[str] = MISSING_TEXTS,
) -> Converted | None:
    """A column as categories, whatever it holds; None if it has no value.

    Levels are spelled as `spell` says. The spellings of a missing value in text are `missing`.
    """
    column = plain_column(column)
    kind = column.type
    if column.null_count == len(column):
        return None
    _check_type(name, kind)
    if not is_text(kind):
        column = column.cast("string")
    levels, codes = tidy_levels(*distinct_values(column), missing)
    if types.is_boolean(kind):
        levels = [BOOLEANS[level] for level in levels]
    return _as_category(spell(levels), codes)


def _as_category(names: list[str], codes: NDArray) -> Converted | None:
    levels, codes = renamed(names, codes)
    return Converted(pd.Categorical.from_codes(codes, categories=levels)) if levels else None


def _check_type(name: str, kind: Any) -> None:
    """Raise an error unless an Arrow type is text, or has numbers or truth values."""
    if types.is_temporal(kind):
        raise TableError(date_message(name))
    accepted = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, is_text)
    if not any(accepts(kind) for accepts in accepted):
        raise TableError(
            f"Column {name!r} holds values of type {kind}, which cannot be used as features. "
            f"Leave the column out (`ignore`, on the command line `--ignore {name}`)."
        )


def _convert_text(name: str, column: Any, decimal: str) -> Converted | None:
    numbers = parse_numbers(name, column, decimal)
    if numbers.is_numeric:
        if not numbers.n_wrong and np.isnan(numbers.values).all():
            return None
        check_numbers(name, numbers)
        return Converted(numbers.values, numbers.written)
    del numbers
    distinct = distinct_values(column)
    levels, codes = tidy_levels(*distinct, MISSING_TEXTS)
    if all(level.lower() in BOOLEANS for level in levels):
        return _as_category([BOOLEANS[level.lower()] for level in levels], codes)
    days, of_days = tidy_levels(*distinct, MISSING_WORDS)
    layout, has_zone = find_layout(name, days)
    if layout:
        return Converted(as_points(parse_dates(days, of_days, layout), has_zone), layout)
    refuse_dates(name, days)
    return _as_category(levels, codes)


def known_columns(table: Any, encoder: TableEncoder, first_row: int) -> Any:
    """A DataFrame of the columns of a fitted encoder, with their types in the training data.

    The first row of the Arrow table has the number `first_row` in its file.
    """
    series = {}
    for name, known in encoder.encoders_.items():
        column, written = plain_column(table.column(name)), encoder.written_.get(name)
        if isinstance(known, DateEncoder):
            series[name] = strict_dates(name, column, written or "", known.has_zone_, first_row)
        elif isinstance(known, NumberEncoder) and is_text(column.type):
            series[name] = strict_numbers(name, column, written or UNKNOWN, first_row)
        else:
            if not isinstance(known, NumberEncoder):
                spell = partial(known_spellings, known=known.levels_)
                converted = convert_category(name, column, spell)
            elif types.is_boolean(column.type) and column.null_count < len(column):
                raise TableError(
                    f"Column {name!r} was numeric in the training data, but now it holds True and "
                    "False. Convert it to the numbers that they stand for."
                )
            else:
                converted = convert_column(name, column)
            missing = np.full(table.num_rows, np.nan)
            series[name] = missing if converted is None else converted.values
    rows = pd.RangeIndex(first_row, first_row + table.num_rows)
    return pd.DataFrame(series, index=rows, copy=False)
