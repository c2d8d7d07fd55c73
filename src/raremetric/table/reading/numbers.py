"""Numbers as text: how a column is written, and its values."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from raremetric.datasets.parsers import is_numeric
from raremetric.table.reading.levels import (
    MISSING_SPELLINGS,
    distinct_values,
    is_missing,
    unquote,
)
from raremetric.validation import TableError, warn_user

# A column with at least this share of numbers is a column of numbers; any text in it is an error.
NUMERIC_SHARE = 0.9
MARKS = {".": ",", ",": "."}  # each decimal mark, and what can separate thousands beside it
_PADDED = re.compile(r"\s*0\d{2,}\s*")  # 00123; 07 is more often an age or a month than a code
_SPACES = " \u00a0\u2009\u202f'\u2019"  # spaces and apostrophes separate thousands in any case
_GROUPED = {
    mark: re.compile(
        rf"[-+]?[1-9]\d{{0,2}}([{MARKS[mark]}{_SPACES}])\d{{3}}(\1\d{{3}})*(\{mark}\d+)?"
    )
    for mark in MARKS
}
# One mark that three digits follow: 1.234 can be 1234, or one and a bit.
_AMBIGUOUS = r"^\s*[-+]?[1-9]\d{0,2}[.,]\d{3}\s*%?\s*$"


class Written(NamedTuple):
    """How the numbers of a column are written."""

    decimal: str = ""  # the decimal mark, "." or ","; empty if it is not known
    has_decimals: bool = False  # whether some numbers have decimals
    grouped: bool = False  # whether some numbers have the other mark between thousands
    percent: bool = False  # whether all numbers have a percent sign

    def example(self) -> str:
        """A number that is written in this way."""
        thousands = MARKS[self.decimal] if self.grouped else ""
        decimals = f"{self.decimal}5" if self.has_decimals else ""
        return f"1{thousands}234{decimals}{' %' * self.percent}"


UNKNOWN = Written()


def is_padded(text: str) -> bool:
    """Whether a field is a whole number of three or more digits with leading zeros: 00123."""
    return _PADDED.fullmatch(text) is not None


def is_ambiguous(text: str) -> bool:
    """Whether the only mark of a number can be a decimal mark or separate thousands."""
    return re.match(_AMBIGUOUS, text) is not None


def parse_any(text: str, decimal: str) -> float | None:
    """The value of a field with this decimal mark; None if it is not such a number.

    The other mark, spaces or apostrophes can separate thousands, and a percent sign can follow.
    """
    text = text.strip().removesuffix("%").rstrip()
    if MARKS[decimal] not in text and is_numeric(plain := text.replace(decimal, ".")):
        return float(plain)
    match = _GROUPED[decimal].fullmatch(text)
    return float(text.replace(match[1], "").replace(decimal, ".")) if match else None


def decimal_mark(text: str) -> str:
    """The decimal mark with which alone a number can be read; empty if there is none."""
    if not any(mark in text for mark in MARKS) or is_ambiguous(text):
        return ""
    return next((mark for mark in MARKS if parse_any(text, mark) is not None), "")


def parse_as(text: str, written: Written) -> float | None:
    """The value of a field of a new file; None if it is not written as the training data were.

    Where the training data had only whole numbers without separators, every number is accepted
    that can be read in one way only.
    """
    if text.endswith("%") != written.percent:
        return None
    if is_ambiguous(text):
        mark = written.decimal if written.has_decimals else ""
        if not (mark and mark in text) and not (written.grouped and MARKS[written.decimal] in text):
            return None
    for mark in written.decimal or MARKS:
        value = parse_any(text, mark)
        if value is not None:
            return value
    return None


class Numbers(NamedTuple):
    """Text parsed as numbers, and the first value that is not a number."""

    values: NDArray[np.float64]  # NaN where missing or not a number
    written: Written
    n_wrong: int
    wrong_row: int
    wrong_value: str
    padded: str  # a whole number with leading zeros, if there is one
    ambiguous: str  # a number that can be read in two ways, if no other shows which is right

    @property
    def is_numeric(self) -> bool:
        """Whether nearly all values that are not missing are numbers."""
        n_present = int(np.count_nonzero(~np.isnan(self.values))) + self.n_wrong
        return self.n_wrong <= (1 - NUMERIC_SHARE) * n_present


def parse_numbers(name: str, column: Any, decimal: str) -> Numbers:
    """Parse training data with this decimal mark, or with the other one if more numbers fit.

    Without a mark, which is that of the file, a point is one, and a note says so if nothing in the
    column shows it. Either all numbers have a percent sign, or none.
    """
    first, ways = decimal or ".", []
    for percent, mark in product((False, True), (first, MARKS[first])):
        ways.append(_parse_column(column, mark, percent))
        if not ways[-1].n_wrong:
            break
    numbers = min(ways, key=lambda found: found.n_wrong)
    if numbers.ambiguous and not decimal and numbers.is_numeric:
        _note_ambiguous(name, numbers)
    return numbers


def _parse_column(column: Any, decimal: str, percent: bool) -> Numbers:
    """Parse chunk by chunk: all distinct texts of a large column would not fit in memory."""

    def parse(text: str) -> float | None:
        return parse_any(text, decimal) if percent == text.endswith("%") else None

    values = np.full(len(column), np.nan)
    n_wrong, wrong_row, wrong_value, start = 0, 0, "", 0
    has_decimals, grouped, padded, ambiguous, is_clear = False, False, "", "", False
    for chunk in column.chunks:
        texts, parsed, codes = _parse_texts(pa.chunked_array([chunk]), parse)
        values[start : start + len(chunk)] = np.array([*parsed, np.nan], dtype=np.float64)[codes]
        wrong = np.array([*(number is None for number in parsed), False])[codes]
        if wrong.any() and not n_wrong:
            row = int(np.argmax(wrong))
            wrong_row, wrong_value = start + row, texts[codes[row]]
        n_wrong += int(np.count_nonzero(wrong))
        start += len(chunk)
        if n_wrong > (1 - NUMERIC_SHARE) * len(column):
            break  # a column of text, whatever the rest contains
        for text, number in zip(texts, parsed, strict=True):
            if number is None or number != number:
                continue
            has_decimals |= decimal in text or number % 1 != 0
            grouped |= MARKS[decimal] in text
            padded = padded or (text if is_padded(text) else "")
            if "." in text or "," in text:
                ambiguous = ambiguous or text
                is_clear = is_clear or not is_ambiguous(text)
    written = Written(decimal if has_decimals or grouped else "", has_decimals, grouped, percent)
    ambiguous = "" if is_clear else ambiguous
    return Numbers(values, written, n_wrong, wrong_row, wrong_value, padded, ambiguous)


def _parse_texts(
    column: Any, parse: Callable[[str], float | None]
) -> tuple[list[str], list[float | None], NDArray]:
    """Distinct texts, their values, and the index of each row's text; -1 where it is missing."""
    raw, codes = distinct_values(column)
    texts = [unquote(text) for text in raw]
    return texts, [np.nan if is_missing(text) else parse(text) for text in texts], codes


def _note_ambiguous(name: str, numbers: Numbers) -> None:
    mark = "," if "," in numbers.ambiguous else "."
    taken = "decimal mark" if mark == numbers.written.decimal else "thousands separator"
    warn_user(
        f"Column {name!r} has numbers such as {numbers.ambiguous!r}, and nothing in the table "
        f"shows whether {mark!r} separates thousands or decimals: it is taken for a {taken}. If "
        "that is wrong, write the numbers without thousands separators and with a decimal point, "
        "or give the table as Parquet or as a data frame with numbers."
    )


def check_numbers(name: str, numbers: Numbers) -> None:
    """Raise an error if a few values are not numbers; warn if leading zeros are lost."""
    option = f"--categorical {shlex.quote(name)}"
    as_categories = f"treat them as categories (`categorical`, on the command line `{option}`)"
    if numbers.n_wrong:
        raise TableError(
            f"Column {name!r} holds numbers, except in {numbers.n_wrong} of {len(numbers.values)} "
            f"rows: data row {numbers.wrong_row + 1} holds {numbers.wrong_value!r}. Correct it, "
            f"leave it empty, or, if its numbers are codes, {as_categories}."
        )
    if numbers.padded:
        warn_user(
            f"Column {name!r} has leading zeros, such as {numbers.padded!r}, and is read as "
            f"numbers. If these are codes, {as_categories}, or leave the column out if they are "
            "identifiers."
        )


def strict_numbers(name: str, column: Any, written: Written, first_row: int) -> NDArray[np.float64]:
    """The numbers of a column that had numbers in the training data; an error for other text.

    Every value is read by itself, in the way in which the training data were written, so that it
    does not depend on other rows.
    """
    values = _parse_quickly(column, written)
    if values is not None:
        return values
    texts, numbers, codes = _parse_texts(column, lambda text: parse_as(text, written))
    wrong = np.array([*(number is None for number in numbers), False])[codes]
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
        and pc.any(pc.match_substring_regex(texts, _AMBIGUOUS), min_count=0).as_py()
    ):
        return None
    values = _as_floats(texts)
    if values is None:
        missing = pc.is_in(texts, pa.array(MISSING_SPELLINGS))
        values = _as_floats(pc.if_else(missing, None, texts))
    return None if values is None or np.isinf(values).any() else values


def _as_floats(texts: Any) -> NDArray[np.float64] | None:
    try:
        return texts.cast("float64").to_numpy()
    except pa.ArrowInvalid:
        return None


def _describe_wrong(name: str, text: str, written: Written, row: int) -> str:
    if all(parse_any(text, decimal) is None for decimal in MARKS):
        return (
            f"Column {name!r} must hold numbers, but data row {row} holds {text!r}. If the value "
            "is missing, leave the field empty."
        )
    numbers = "percentages as numbers, 90 for 90 %" if written.percent else "numbers"
    return (
        f"Column {name!r} must hold numbers that are written as in the training data, such as "
        f"{written.example()}, but data row {row} holds {text!r}. Write it in the same way, or "
        f"give the table as Parquet or as a data frame with {numbers}."
    )
