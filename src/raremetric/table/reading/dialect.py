"""Detect the encoding, delimiter, header and decimal marks of a CSV file."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from itertools import islice, takewhile
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from raremetric.datasets.parsers import is_numeric
from raremetric.table.reading.levels import is_missing, is_text
from raremetric.table.reading.numbers import MARKS, Written, decimal_mark, is_padded, parse_any
from raremetric.validation import TableError

SAMPLE_BYTES = 1 << 18
SAMPLE_ROWS = 200
MIN_SAMPLE_LINES = 10  # of any length

# The first that fits is chosen: a decimal comma must not be taken for a delimiter.
DELIMITERS = ("\t", ";", "|", ",", " ")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CSV_LIMIT = Lock()


class Dialect(NamedTuple):
    """What is needed to read a CSV file."""

    names: list[str]
    has_header: bool = True
    delimiter: str = ","
    decimal: str = "."  # of the columns that Arrow parses
    numeric: frozenset[str] = frozenset()  # columns with nothing but such numbers in the sample
    written: Mapping[str, Written] = {}  # what the sample shows about the numbers of each column
    encoding: str = "utf-8"
    n_blank: int = 0  # blank lines before the first row
    longest_line: int = 0  # characters, in the sample

    def with_text(self, names: Collection[str], target: object) -> Dialect:
        """Read some columns as text; the target too, because a float cannot hold all integers."""
        if isinstance(target, int | np.integer) and -len(self.names) <= target < len(self.names):
            target = self.names[target]
        return self._replace(numeric=self.numeric.difference([*names, target]))


def sniff(stream: Any, target: object = None) -> Dialect:
    """Detect the dialect of a CSV file, a binary stream, from its beginning.

    The first row is the header if it contains the name of the target; otherwise, this is detected.
    """
    blocks: list[bytes] = []
    n_lines, is_whole = 0, False
    while n_lines < MIN_SAMPLE_LINES and not is_whole:
        blocks.append(stream.read(SAMPLE_BYTES))
        n_lines += max(blocks[-1].count(b"\n"), blocks[-1].count(b"\r"))
        is_whole = not blocks[-1]
    encoding, text = _decode(b"".join(blocks))
    lines = list(io.StringIO(text, newline=""))
    if not is_whole:
        lines = lines[:-1]
    first = next((line for line in lines if line.strip() and line[0] != "%"), "")
    if first.lower().startswith(("@relation", "@attribute")):
        raise TableError("ARFF and KEEL files cannot be read. Convert it to CSV or Parquet.")
    delimiter = _find_delimiter(lines)
    rows = _split(lines, delimiter)
    if not rows:
        raise TableError("The file is empty.")
    has_header = _has_header(rows, target)
    if has_header and is_whole and len(rows) == 1 and not text.endswith(("\n", "\r")):
        raise TableError("It has no rows of data.")  # Arrow does not read such a header
    names = (
        name_columns(rows[0]) if has_header else [f"column_{i + 1}" for i in range(len(rows[0]))]
    )
    columns = {
        name: [row[index] for row in rows[has_header:] if index < len(row)]
        for index, name in enumerate(names)
    }
    columns = {name: [each for each in columns[name] if not is_missing(each)] for name in names}
    marks, decimal = _decimal_marks(columns, delimiter)
    return Dialect(
        names,
        has_header,
        delimiter,
        decimal or ".",
        frozenset(name for name in names if _is_numeric(columns[name], marks[name], decimal)),
        {
            name: Written(mark, mark != "" and any(mark in field for field in columns[name]))
            for name, mark in marks.items()
        },
        encoding,
        n_blank=len(list(takewhile(str.isspace, lines))),
        longest_line=max(map(len, lines)),
    )


def sample_marks(table: Any) -> dict[str, Written]:
    """The decimal marks of the columns of text in an Arrow table, by its first rows."""
    columns = {}
    for name, column in zip(table.column_names, table.slice(0, SAMPLE_ROWS).columns, strict=True):
        if is_text(column.type):
            columns[name] = [each for each in column.to_pylist() if each and not is_missing(each)]
    marks, _ = _decimal_marks(columns, "")
    return {name: Written(mark) for name, mark in marks.items()}


def _decimal_marks(
    columns: Mapping[str, Sequence[str]], delimiter: str
) -> tuple[dict[str, str], str]:
    """The decimal mark of each column, and of the file; empty if nothing shows it.

    A number such as 1,234 does not show it. If columns have different marks, that of the file is
    the comma, unless there is a number such as 1,234.5, or a decimal point between commas.
    """
    own, has_point = {}, False
    for name, fields in columns.items():
        found = {decimal_mark(field) for field in fields}
        own[name] = next((mark for mark in ",." if mark in found), "")
        has_point = has_point or any(
            "." in field
            and (delimiter == "," or "," in field)
            and parse_any(field, ".") is not None
            for field in fields
        )
    decimal = next((mark for mark in ",." if mark in own.values()), "")
    if has_point:
        decimal = "."
    return {name: mark or decimal for name, mark in own.items()}, decimal


def _is_numeric(fields: Sequence[str], mark: str, decimal: str) -> bool:
    """Whether all values of a column are plain numbers, which Arrow can parse."""
    decimal = decimal or "."
    if not fields or (not mark and any("." in field for field in fields)):
        return False  # Arrow would not say whether 1.234 was a number with decimals
    return all(
        MARKS[decimal] not in field
        and is_numeric(field.replace(decimal, "."))
        and not is_padded(field)
        for field in fields
    )


def name_columns(header: Sequence[str]) -> list[str]:
    """Column names from a header row; empty names are numbered, repeated names are an error."""
    names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(header)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        columns = [str(i + 1) for i, name in enumerate(names) if name == repeated[0]]
        raise TableError(
            f"The header repeats {', '.join(map(repr, repeated))} ({repeated[0]!r} in columns "
            f"{' and '.join(columns)}). Give each column a different name."
        )
    return names


def _decode(sample: bytes) -> tuple[str, str]:
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)
            return encoding, text.lstrip("\ufeff")
    if b"\0" in sample:
        raise TableError("The file contains binary data, not text. Save it as CSV or Parquet.")
    try:
        # Incremental, because the sample may end within a character.
        return "utf-8", codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252", sample.decode("cp1252", errors="replace")


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader((line for line in lines if line.strip()), delimiter=delimiter)
    with _CSV_LIMIT:  # of the length of a field, 128 kB, which is a global setting
        limit = csv.field_size_limit(2**31 - 1)
        try:
            return list(islice(reader, SAMPLE_ROWS))
        finally:
            csv.field_size_limit(limit)


def _find_delimiter(lines: Sequence[str]) -> str:
    """The first delimiter that splits nearly all rows into as many fields as the first row."""
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _split(lines, delimiter)]
        if widths and widths[0] > 1 and widths.count(widths[0]) >= 0.9 * len(widths):
            return delimiter
    # No delimiter fits: choose the most frequent one, so that the error can name the wrong row.
    return max(DELIMITERS[:-1], key=lines[0].count) if lines else ","


def _has_header(rows: list[list[str]], target: object) -> bool:
    """Whether the first row looks different: text above numbers, or values that never recur."""
    first = [field.strip() for field in rows[0]]
    if isinstance(target, str) and target in first:
        return True
    votes, recurs = 0, 0
    for index, name in enumerate(first):
        below = [row[index].strip() for row in rows[1:] if index < len(row)]
        present = [value for value in below if not is_missing(value)]
        if present and sum(map(_is_number, present)) > 0.5 * len(present):
            votes += 1 if not _is_number(name) and not is_missing(name) else -1
        recurs += name in present
    return votes > 0 or (votes == 0 and recurs < 0.5 * len(first))


def _is_number(text: str) -> bool:
    return "%" not in text and any(parse_any(text, mark) is not None for mark in MARKS)
