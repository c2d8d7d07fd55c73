"""Columns of text as numbers, also with thousands separators or percent signs."""

from __future__ import annotations

import shlex
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dialect import (
    TableError,
    is_missing,
    is_numeric,
    is_padded,
    parse_formatted,
)
from raremetric.datasets.levels import distinct_values
from raremetric.datasets.parsers import unquote
from raremetric.extras import import_optional
from raremetric.validation import warn_user

# A column with at least this share of numbers is a column of numbers; any text in it is an error.
NUMERIC_SHARE = 0.9


class Numbers(NamedTuple):
    """Text parsed as numbers, and the first value that is not a number."""

    values: NDArray[np.float64]  # NaN where missing or not a number
    n_wrong: int
    wrong_row: int
    wrong_value: str
    padded: str = ""  # a whole number with leading zeros, if there is one


def parse_numbers(column: Any) -> Numbers:
    """Parse chunk by chunk: all distinct texts of a large column would not fit in memory."""
    values = np.full(len(column), np.nan)
    n_wrong, wrong_row, wrong_value, start, padded = 0, 0, "", 0, ""
    for chunk in column.chunks:
        raw, codes = distinct_values(import_optional("pyarrow").chunked_array([chunk]))
        tidy = [unquote(value) for value in raw]
        wrong = np.array([not (is_missing(v) or is_numeric(v)) for v in tidy] + [False])[codes]
        if wrong.any() and not n_wrong:
            row = int(np.argmax(wrong))
            wrong_row, wrong_value = start + row, tidy[codes[row]]
        n_wrong += int(wrong.sum())
        padded = padded or next(filter(is_padded, tidy), "")
        numbers = [float(value) if is_numeric(value) else np.nan for value in tidy]
        values[start : start + len(chunk)] = np.array([*numbers, np.nan])[codes]
        start += len(chunk)
        if n_wrong > (1 - NUMERIC_SHARE) * len(column):
            break  # a column of text, whatever the rest contains
    return Numbers(values, n_wrong, wrong_row, wrong_value, padded)


def parse_formatted_column(column: Any) -> NDArray[np.float64] | None:
    """Numbers with thousands separators, or all with a percent sign; None if a value is neither."""
    values, percent, start = np.full(len(column), np.nan), None, 0
    for chunk in column.chunks:
        raw, codes = distinct_values(import_optional("pyarrow").chunked_array([chunk]))
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


def note_leading_zeros(name: str, numbers: Numbers) -> None:
    """Warn that leading zeros are lost."""
    if numbers.padded:
        warn_user(
            f"Column {name!r} has leading zeros, such as {numbers.padded!r}, and is read as "
            f"numbers. If these are codes, treat them as {_as_categories(name)}, or leave the "
            "column out if they are identifiers."
        )


def _as_categories(name: str) -> str:
    option = f"--categorical {shlex.quote(name)}"
    return f"categories (`categorical`, on the command line `{option}`)"


def refuse_mistake(name: str, numbers: Numbers) -> None:
    """Raise an error if nearly all values are numbers and a few are not."""
    if numbers.n_wrong:
        raise TableError(
            f"Column {name!r} holds numbers, except in {numbers.n_wrong} of {len(numbers.values)} "
            f"rows: data row {numbers.wrong_row + 1} holds {numbers.wrong_value!r}. Correct it, "
            f"leave it empty, or, if its numbers are codes, treat them as {_as_categories(name)}."
        )


def strict_numbers(name: str, column: Any, first_row: int) -> NDArray[np.float64]:
    """The numbers of a column that had numbers in the training data; an error for other text."""
    # Arrow is fast, but it refuses numbers with quotes or spaces.
    with suppress(import_optional("pyarrow").ArrowInvalid):
        values = column.cast("string").cast("float64").to_numpy()
        if not np.isinf(values).any():
            return values
    numbers = parse_numbers(column)
    if numbers.n_wrong:
        formatted = parse_formatted_column(column)
        if formatted is not None:
            return formatted
        raise TableError(
            f"Column {name!r} must hold numbers, but data row {first_row + numbers.wrong_row} "
            f"holds {numbers.wrong_value!r}."
        )
    return numbers.values
