"""Columns of text as numbers, also with thousands separators or percent signs."""

from __future__ import annotations

import shlex
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from raremetric.datasets.parsers import unquote
from raremetric.files import TableError
from raremetric.table.reading.dialect import is_missing
from raremetric.table.reading.levels import distinct_values
from raremetric.table.reading.written import (
    AMBIGUOUS,
    MARKS,
    Written,
    is_padded,
    parse_any,
    parse_as,
)
from raremetric.validation import warn_user

# A column with at least this share of numbers is a column of numbers; any text in it is an error.
NUMERIC_SHARE = 0.9


class Numbers(NamedTuple):
    """Text parsed as numbers, and the first value that is not a number."""

    values: NDArray[np.float64]  # NaN where missing or not a number
    written: Written
    n_wrong: int
    wrong_row: int
    wrong_value: str
    padded: str = ""  # a whole number with leading zeros, if there is one


def parse_numbers(column: Any, decimal: str) -> Numbers:
    """Parse training data with this decimal mark, or with the other one if more numbers fit.

    Either all numbers have a percent sign, or none.
    """
    ways = []
    for percent, mark in product((False, True), (decimal, MARKS[decimal])):
        numbers = _parse_column(column, mark, percent)
        if not numbers.n_wrong:
            return numbers
        ways.append(numbers)
    return min(ways, key=lambda found: found.n_wrong)


def _parse_column(column: Any, decimal: str, percent: bool) -> Numbers:
    """Parse chunk by chunk: all distinct texts of a large column would not fit in memory."""
    values = np.full(len(column), np.nan)
    n_wrong, wrong_row, wrong_value, start = 0, 0, "", 0
    has_decimals, grouped, padded = False, False, ""
    for chunk in column.chunks:
        raw, codes = distinct_values(pa.chunked_array([chunk]))
        numbers, wrong = np.full(len(raw) + 1, np.nan), np.zeros(len(raw) + 1, dtype=bool)
        for index, text in enumerate(map(unquote, raw)):
            if is_missing(text):
                continue
            number = parse_any(text, decimal) if percent == text.endswith("%") else None
            if number is None:
                wrong[index] = True
                continue
            numbers[index] = number
            has_decimals |= decimal in text or number % 1 != 0
            grouped |= MARKS[decimal] in text
            padded = padded or (text if is_padded(text) else "")
        if wrong[codes].any() and not n_wrong:
            row = int(np.argmax(wrong[codes]))
            wrong_row, wrong_value = start + row, unquote(raw[codes[row]])
        n_wrong += int(np.count_nonzero(wrong[codes]))
        values[start : start + len(chunk)] = numbers[codes]
        start += len(chunk)
        if n_wrong > (1 - NUMERIC_SHARE) * len(column):
            break  # a column of text, whatever the rest contains
    mark = decimal if has_decimals or grouped else ""
    written = Written(mark, has_decimals, grouped, percent)
    return Numbers(values, written, n_wrong, wrong_row, wrong_value, padded)


def written_as_floats(values: NDArray, decimal: str = ".", has_decimals: bool = False) -> Written:
    """How numbers are written that Arrow parsed, or that were never text.

    Text such as 95.000 `has_decimals` although its value is a whole number.
    """
    if values.dtype.kind == "f":
        has_decimals |= bool((values[np.isfinite(values)] % 1).any())
    return Written(decimal if has_decimals else "", has_decimals)


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


def strict_numbers(name: str, column: Any, written: Written, first_row: int) -> NDArray[np.float64]:
    """The numbers of a column that had numbers in the training data; an error for other text.

    Every value is read by itself, in the way in which the training data were written, so that it
    does not depend on other rows.
    """
    values = _parse_quickly(column, written)
    if values is not None:
        return values
    raw, codes = distinct_values(column)
    texts = [unquote(text) for text in raw]
    numbers = [np.nan if is_missing(text) else parse_as(text, written) for text in texts]
    wrong = np.array([number is None for number in numbers] + [False])[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise TableError(_describe_wrong(name, texts[codes[row]], written, first_row + row))
    return np.array([*numbers, np.nan], dtype=np.float64)[codes]


def _parse_quickly(column: Any, written: Written) -> NDArray[np.float64] | None:
    """Let Arrow parse plain numbers, which is fast; None if there is any other text."""
    texts = column.cast("string")
    if written.decimal == ",":
        if pc.any(pc.match_substring(texts, "."), min_count=0).as_py():
            return None
        texts = pc.replace_substring(texts, ",", ".")
    if written.percent or (
        not written.has_decimals
        and pc.any(pc.match_substring_regex(texts, AMBIGUOUS), min_count=0).as_py()
    ):
        return None
    try:
        values = texts.cast("float64").to_numpy()
    except pa.ArrowInvalid:
        return None
    return None if np.isinf(values).any() else values


def _describe_wrong(name: str, text: str, written: Written, row: int) -> str:
    if all(parse_any(text, decimal) is None for decimal in MARKS):
        return f"Column {name!r} must hold numbers, but data row {row} holds {text!r}."
    numbers = "percentages as numbers, 90 for 90 %" if written.percent else "numbers"
    return (
        f"Column {name!r} must hold numbers that are written as in the training data, such as "
        f"{written.example()}, but data row {row} holds {text!r}. Write it in the same way, or "
        f"give the table as Parquet or as a data frame with {numbers}."
    )
