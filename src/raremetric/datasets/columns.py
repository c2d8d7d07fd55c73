"""Convert Arrow columns to features: numbers, dates and categories."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from raremetric.datasets.dates import (
    convert_dates,
    find_layout,
    parse_dates,
    refuse_dates,
    strict_dates,
)
from raremetric.datasets.dialect import MISSING_WORDS, TableError, date_message
from raremetric.datasets.levels import (
    BOOLEANS,
    as_known_levels,
    distinct_values,
    is_text,
    plain_column,
    tidy_levels,
    to_categorical,
    without_zero_decimals,
)
from raremetric.datasets.numbers import (
    NUMERIC_SHARE,
    note_leading_zeros,
    parse_formatted_column,
    parse_numbers,
    refuse_mistake,
    strict_numbers,
)
from raremetric.extras import import_optional
from raremetric.validation import warn_user


def to_frame(columns: dict[str, Any], categorical: Collection[str] = ()) -> Any:
    """A DataFrame of numeric and categorical columns.

    Parameters
    ----------
    columns : dict of pyarrow.ChunkedArray
        Columns by name. The dictionary is emptied during the conversion to save memory.
    categorical : collection of str
        Columns to convert to categories even if they hold numbers.
    """
    series, empty, layouts = {}, [], {}
    for name in list(columns):
        values = convert_column(name, columns.pop(name), as_category=name in categorical)
        if name in categorical and values is not None:
            values = without_zero_decimals(values)
        if values is None:
            empty.append(name)
        else:
            series[name], layout = values if isinstance(values, tuple) else (values, "")
            layouts[name] = layout
    import_optional("pyarrow").default_memory_pool().release_unused()
    if empty:
        warn_user(f"Dropped columns without any value: {', '.join(map(repr, empty))}.")
    # Without a copy, the columns are not held twice.
    frame = import_optional("pandas").DataFrame(series, copy=False)
    frame.attrs["date_layouts"] = {name: layout for name, layout in layouts.items() if layout}
    return frame


def convert_column(
    name: str, column: Any, *, as_category: bool, missing: Collection[str] = MISSING_WORDS
) -> Any:
    """A column as a NumPy array or a pandas Categorical; None if it has no value.

    Dates that are written as text are a pair: the array and the layout. The spellings of a missing
    value in a category that is written as text are `missing`.
    """
    types = import_optional("pyarrow.types")
    column = plain_column(column)
    kind = column.type
    is_date_type = types.is_date(kind) or types.is_timestamp(kind)
    if column.null_count == len(column):
        return None
    if types.is_temporal(kind) and (as_category or not is_date_type):
        raise TableError(date_message(name))
    if is_date_type:
        return convert_dates(column)
    if is_text(kind):
        return _convert_text(name, column, as_category, missing)
    accepted = (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal)
    if not any(accepts(kind) for accepts in accepted):
        raise TableError(
            f"Column {name!r} holds values of type {kind}, which cannot be used as features. "
            f"Leave the column out (`ignore`, on the command line `--ignore {name}`)."
        )
    if as_category or types.is_boolean(kind):
        levels, codes = tidy_levels(
            *distinct_values(column.cast("string")), as_boolean=types.is_boolean(kind)
        )
        return to_categorical(levels, codes) if levels else None
    if types.is_decimal(kind):  # through text, because Arrow's own conversion is not exact
        column = column.cast("string").cast("float64")
    values = column.to_numpy()
    # In Arrow and polars, NaN is different from a missing value.
    return None if values.dtype.kind == "f" and np.isnan(values).all() else values


def known_columns(
    table: Any,
    names: Sequence[str],
    first_row: int,
    levels: Mapping[str, Collection[str]],
    dates: Mapping[str, str],
) -> Any:
    """A DataFrame of given columns, whose types are known from the training data.

    Parameters
    ----------
    table : pyarrow.Table
        Has all of the columns.
    names : sequence of str
        The columns to convert.
    first_row : int
        Number of the table's first row in the file, for error messages.
    levels : mapping of str to collection of str
        The columns that are categories, with their levels in the training data.
    dates : mapping of str to str
        The columns of dates, with the layout in the training data; it is empty if unknown. All
        other columns must be numbers.
    """
    types = import_optional("pyarrow.types")
    series, values = {}, None
    for name in names:
        column = plain_column(table.column(name))
        if name in dates:
            values = strict_dates(name, column, dates[name], first_row)
        elif name in levels:
            values = convert_column(name, column, as_category=True)
            values = None if values is None else as_known_levels(values, levels[name])
        elif is_text(column.type):
            values = strict_numbers(name, column, first_row)
        else:
            numbers = column.cast("int8") if types.is_boolean(column.type) else column
            values = convert_column(name, numbers, as_category=False)
        series[name] = np.full(table.num_rows, np.nan) if values is None else values
    rows = import_optional("pandas").RangeIndex(first_row, first_row + table.num_rows)
    return import_optional("pandas").DataFrame(series, index=rows, copy=False)


def _convert_text(name: str, column: Any, as_category: bool, missing: Collection[str]) -> Any:
    if not as_category:
        numbers = parse_numbers(column)
        n_present = np.count_nonzero(~np.isnan(numbers.values)) + numbers.n_wrong
        if not n_present:
            return None
        if numbers.n_wrong:
            formatted = parse_formatted_column(column)
            if formatted is not None:
                return formatted
        if numbers.n_wrong <= (1 - NUMERIC_SHARE) * n_present:
            refuse_mistake(name, numbers)
            note_leading_zeros(name, numbers)
            return numbers.values
        del numbers
    levels, codes = tidy_levels(*distinct_values(column), missing=missing)
    if not levels:
        return None
    if not as_category:
        if all(level.lower() in BOOLEANS for level in levels):
            levels, codes = tidy_levels(levels, codes, as_boolean=True)
        layout = find_layout(name, levels)
        if layout:
            return parse_dates(levels, codes, layout), layout
        refuse_dates(name, levels)
    return to_categorical(levels, codes)
