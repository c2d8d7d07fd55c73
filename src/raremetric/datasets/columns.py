"""Convert Arrow columns to features (numbers and categories) and to class labels."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dates import convert_dates, find_layout, parse_dates
from raremetric.datasets.dialect import (
    TableError,
    date_message,
    is_date,
    is_missing,
    is_numeric,
    parse_formatted,
)
from raremetric.datasets.parsers import unquote
from raremetric.extras import import_optional
from raremetric.validation import Labels, check_class_count, warn_user

# A column with at least this share of numbers is a column of numbers; any text in it is an error.
NUMERIC_SHARE = 0.9
# A target with more classes, some of which occur once, is not a target for classification.
MAX_CLASSES = 20
# The levels of truth values, in all file formats and spellings.
BOOLEANS = {"false": "False", "true": "True"}


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


def convert_column(name: str, column: Any, *, as_category: bool) -> Any:
    """A column as a NumPy array or a pandas Categorical; None if it has no value.

    Dates that are written as text are a pair: the array and the layout.
    """
    types = import_optional("pyarrow.types")
    is_date_type = types.is_date(column.type) or types.is_timestamp(column.type)
    if types.is_temporal(column.type) and (as_category or not is_date_type):
        raise TableError(date_message(name))
    if column.null_count == len(column):
        return None
    if types.is_dictionary(column.type) and not is_text(column.type):
        column = column.cast(column.type.value_type)
    if is_date_type:
        return convert_dates(column)
    kind = column.type
    if is_text(kind):
        return _convert_text(name, column, as_category)
    if types.is_boolean(kind):
        return _categories(*_tidy_levels(*_dictionary(column.cast("string")), as_boolean=True))
    accepted = (types.is_integer, types.is_floating, types.is_decimal)
    if not any(accepts(kind) for accepts in accepted):
        raise TableError(
            f"Column {name!r} holds values of type {kind}, which cannot be used as features. "
            "Leave the column out (`ignore`)."
        )
    if as_category:
        return _categories(*_dictionary(column.cast("string")))
    if types.is_decimal(kind):  # through text, because Arrow's own conversion is not exact
        column = column.cast("string").cast("float64")
    return column.to_numpy()


def known_columns(
    table: Any,
    names: Sequence[str],
    text: Collection[str],
    first_row: int,
    booleans: Collection[str] = (),
    dates: Mapping[str, str] = MappingProxyType({}),
) -> Any:
    """A DataFrame of given columns, whose types are known from the training data.

    Parameters
    ----------
    table : pyarrow.Table
        Has all of the columns.
    names : sequence of str
        The columns to convert.
    text : collection of str
        The columns that are categories; all others must be numbers.
    first_row : int
        Number of the table's first row in the file, for error messages.
    booleans : collection of str, default=()
        The categories whose levels are "False" and "True", however they are written.
    dates : mapping of str to str, default={}
        The columns of dates, with the layout in the training data; it is empty if unknown.
    """
    types = import_optional("pyarrow.types")
    series = {}
    text = set(text)
    for name in names:
        values: Any
        column = table.column(name)
        if name in dates:
            series[name] = _strict_dates(name, column, dates[name], first_row)
            continue
        if name not in text and types.is_boolean(column.type):
            column = column.cast("int8")
        if name not in text and is_text(column.type):
            values = _strict_numbers(name, column, first_row)
        elif name in booleans and is_text(column.type):
            levels, codes = _tidy_levels(*_dictionary(column), as_boolean=True)
            values = _categories(levels, codes) if levels else None
        else:
            values = convert_column(name, column, as_category=name in text)
        series[name] = np.full(table.num_rows, np.nan) if values is None else values
    numbers = import_optional("pandas").RangeIndex(first_row, first_row + table.num_rows)
    return import_optional("pandas").DataFrame(series, index=numbers, copy=False)


def as_texts(column: Any) -> list[str]:
    """The values of a column as text; an empty string where a value is missing.

    pandas writes integers with missing values as floats: these are written as integers again.
    """
    if import_optional("pyarrow.types").is_floating(column.type):
        values = [np.nan if value is None else value for value in column.to_pylist()]
        texts = [str(int(value)) if value.is_integer() else str(value) for value in values]
        return ["" if text == "nan" else text for text in texts]
    return ["" if value is None else str(value) for value in column.to_pylist()]


def _strict_numbers(name: str, column: Any, first_row: int) -> NDArray[np.float64]:
    # Arrow is fast, but it refuses numbers with quotes or spaces.
    with suppress(import_optional("pyarrow").ArrowInvalid):
        values = column.cast("string").cast("float64").to_numpy()
        if not np.isinf(values).any():
            return values
    numbers = _parse_numbers(column)
    if numbers.n_wrong:
        formatted = _parse_formatted(column)
        if formatted is not None:
            return formatted
        raise TableError(
            f"Column {name!r} must hold numbers, but data row {first_row + numbers.wrong_row} "
            f"holds {numbers.wrong_value!r}."
        )
    return numbers.values


def _strict_dates(name: str, column: Any, layout: str, first_row: int) -> NDArray:
    types = import_optional("pyarrow.types")
    if types.is_date(column.type) or types.is_timestamp(column.type):
        return convert_dates(column)
    if column.null_count == len(column):
        return np.full(len(column), np.datetime64("NaT", "us"))
    levels, codes = _tidy_levels(*_dictionary(column.cast("string")))
    found = find_layout(name, levels, layout)
    if found:
        return parse_dates(levels, codes, found)
    known = layout or "Y-M-D"
    wrong = [
        i
        for i, level in enumerate(levels)
        if np.isnat(parse_dates([level], np.zeros(1, int), known))[0]
    ]
    row = int(np.argmax(np.isin(codes, wrong)))
    raise TableError(
        f"Column {name!r} must hold dates, but data row {first_row + row} holds "
        f"{levels[codes[row]]!r}."
    )


def is_text(kind: Any) -> bool:
    """Whether an Arrow type is text, dictionary-encoded or not."""
    types = import_optional("pyarrow.types")
    if types.is_dictionary(kind):
        kind = kind.value_type
    return types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)


def _dictionary(column: Any) -> tuple[list[str], NDArray]:
    """Distinct values, and the index of each row's value; -1 where it is missing."""
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
    """A Categorical with sorted levels and the smallest integer codes."""
    order = np.argsort(np.array(levels, dtype=object))
    small = np.min_scalar_type(-max(len(levels), 1))
    translation = np.full(len(levels) + 1, -1, dtype=small)  # the last entry is for code -1
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
        if numbers.n_wrong:
            formatted = _parse_formatted(column)
            if formatted is not None:
                return formatted
        if numbers.n_wrong <= (1 - NUMERIC_SHARE) * n_present:
            _refuse_mistake(name, numbers)
            return numbers.values
        del numbers
    levels, codes = _tidy_levels(*_dictionary(column))
    if not levels:
        return None
    if not as_category:
        if all(level.lower() in BOOLEANS for level in levels):
            levels, codes = _tidy_levels(levels, codes, as_boolean=True)
        layout = find_layout(name, levels)
        if layout:
            return parse_dates(levels, codes, layout), layout
        _refuse_dates(name, levels)
    return _categories(levels, codes)


def _tidy_levels(
    raw: list[str], codes: NDArray, *, as_boolean: bool = False
) -> tuple[list[str], NDArray]:
    """Levels without quotes, spaces and spellings of a missing value, and the codes of the rows."""
    tidy = [unquote(value) for value in raw]
    if as_boolean:
        tidy = [BOOLEANS.get(value.lower(), value) for value in tidy]
    levels = sorted({value for value in tidy if not is_missing(value)})
    position = {level: index for index, level in enumerate(levels)}
    translation = np.array([*(position.get(value, -1) for value in tidy), -1], dtype=np.int64)
    return levels, translation[codes]


class _Numbers(NamedTuple):
    """Text parsed as numbers, and the first value that is not a number."""

    values: NDArray[np.float64]  # NaN where missing or not a number
    n_wrong: int
    wrong_row: int
    wrong_value: str


def _parse_numbers(column: Any) -> _Numbers:
    """Parse chunk by chunk: all distinct texts of a large column would not fit in memory."""
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
            break  # a column of text, whatever the rest contains
    return _Numbers(values, n_wrong, wrong_row, wrong_value)


def _parse_formatted(column: Any) -> NDArray[np.float64] | None:
    """Numbers with thousands separators, or all with a percent sign; None if a value is neither."""
    values, percent, start = np.full(len(column), np.nan), None, 0
    for chunk in column.chunks:
        raw, codes = _dictionary(import_optional("pyarrow").chunked_array([chunk]))
        numbers = np.full(len(raw) + 1, np.nan)
        for index, text in enumerate(map(unquote, raw)):
            if is_missing(text):
                continue
            number, has_sign = parse_formatted(text), text.endswith("%")
            if number is None or percent not in (None, has_sign):
                return None
            numbers[index], percent = number, has_sign
        values[start : start + len(chunk)] = numbers[codes]
        start += len(chunk)
    return values


def _refuse_mistake(name: str, numbers: _Numbers) -> None:
    """Raise an error if nearly all values are numbers and a few are not."""
    if numbers.n_wrong:
        raise TableError(
            f"Column {name!r} holds numbers, except in {numbers.n_wrong} of {len(numbers.values)} "
            f"rows: data row {numbers.wrong_row + 1} holds {numbers.wrong_value!r}. Correct it, "
            "leave it empty, or list the column in `categorical` if its numbers are codes."
        )


def _refuse_dates(name: str, levels: list[str]) -> None:
    """Raise an error if nearly all levels look like dates or times."""
    sample = levels[:1000]
    if sum(map(is_date, sample)) > 0.9 * len(sample):
        raise TableError(date_message(name))


# The target column


def read_labels(name: str, column: Any) -> Labels:
    """The class of each row; an error unless there are two classes and no missing value."""
    values = convert_column(name, column, as_category=True)
    if values is None:
        raise TableError(f"The target column {name!r} is empty.")
    codes = values.codes
    empty = codes < 0
    if empty.any():
        raise TableError(
            f"The target column {name!r} is empty in {empty.sum()} of {len(codes)} rows, first in "
            f"data row {np.argmax(empty) + 1}: remove those rows."
        )
    classes = _classes(values.categories.tolist())
    if classes.dtype.kind == "f":
        _refuse_quantity(name, classes, len(codes))
    # "1" and "1.0" are different texts but the same number: merge them.
    classes, merged = np.unique(classes, return_inverse=True)
    codes = merged.astype(codes.dtype)[codes]
    check_class_count(classes, "A model", f"the target column {name!r}")
    return Labels(classes, codes, np.bincount(codes, minlength=len(classes)))


def refuse_many_classes(name: str, labels: Labels) -> None:
    """Raise an error if the target is a quantity, an identifier or free text."""
    classes, codes, counts = labels
    if len(classes) <= MAX_CLASSES or counts.min() > 1:
        return
    if classes.dtype.kind == "i":
        _refuse_quantity(name, classes, len(codes))
    raise TableError(
        f"The target column {name!r} holds {len(classes)} different texts in {len(codes)} rows, "
        f"such as {str(classes[0])!r}: it looks like an identifier or free text, not like classes. "
        "Choose another column."
    )


def _refuse_quantity(name: str, numbers: NDArray, n_rows: int) -> NoReturn:
    raise TableError(
        f"The target column {name!r} holds {len(numbers)} different numbers in {n_rows} rows, such "
        f"as {numbers[0]:g}: it looks like a quantity, not like classes. Choose another column, or "
        "convert it to classes first, for example by a threshold."
    )


def choose_positive(name: str, labels: Labels, positive: Any) -> tuple:
    """The positive labels, as values of the target column; by default the rarest class."""
    classes, _, counts = labels
    if positive is None:
        return (classes[np.argmin(counts)].item(),)
    wanted = positive if isinstance(positive, list | tuple | set) else [positive]
    found = [_find_label(str(label), classes.tolist()) for label in wanted]
    unknown = [label for label, match in zip(wanted, found, strict=True) if match is None]
    if unknown or len({*found}) >= len(classes):
        what = f"has no value {unknown[0]!r}" if unknown else "would have no negative class"
        held = ", ".join(f"{label} ({count})" for label, count in zip(classes, counts, strict=True))
        raise TableError(f"The target column {name!r} {what}. Its classes: {held[:300]}.")
    return tuple(dict.fromkeys(found))


def _find_label(text: str, classes: list) -> Any:
    """The class that is written like this, or the only one if case is ignored; None if none is."""
    for spelling in (str, lambda label: str(label).casefold()):
        matches = [label for label in classes if spelling(label) == spelling(text)]
        if len(matches) == 1:
            return matches[0]
    return None


def _classes(levels: Sequence[str]) -> NDArray:
    """Levels as numbers if all are numeric, otherwise as text; large integers stay text."""
    if not all(map(is_numeric, levels)):
        return np.array(levels)
    exact = [Decimal(level) for level in levels]
    if any(number != number.to_integral_value() for number in exact):
        return np.array(levels, dtype=np.float64)
    fits = all(abs(number) < 2**63 for number in exact)
    return np.array([*map(int, exact)], dtype=np.int64) if fits else np.array(levels)
