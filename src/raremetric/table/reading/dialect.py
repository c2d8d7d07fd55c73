"""Detect the encoding, delimiter, header and decimal separator of a CSV file."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from raremetric.datasets.parsers import is_numeric
from raremetric.files import TableError
from raremetric.table.reading.written import (
    is_ambiguous,
    is_padded,
    is_whole,
    parse_any,
)

SAMPLE_BYTES = 1 << 18
SAMPLE_ROWS = 200
MIN_SAMPLE_LINES = 10  # of any length

# The first that fits is chosen: a decimal comma must not be taken for a delimiter.
DELIMITERS = ("\t", ";", "|", ",", " ")

# Spellings of a missing value, compared without regard to case.
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "#n/a", "nan", "null", "<null>", "none", "<na>"})
# Those that can also be the name of a class, such as North America, or no injury.
AMBIGUOUS_WORDS = frozenset({"na", "n/a", "nan", "null", "none"})

# Arrow compares literally: list all usual spellings, also with a space next to the delimiter.
MISSING_SPELLINGS = [
    before + spelling + after
    for word in sorted(MISSING_WORDS)
    for spelling in sorted({word, word.upper(), word.capitalize(), word.replace("nan", "NaN")})
    for before in ("", " ")
    for after in ("", " ")
]
_CSV_LIMIT = Lock()
_LINE_END = r"\r\n|\n|\r"
_BLANK_LINES = re.compile(rf"(\s*?({_LINE_END}))*")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[-. ]+{_MONTH}[-., ]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?",
    flags=re.IGNORECASE,
)


class Dialect(NamedTuple):
    """What is needed to read a CSV file."""

    names: list[str]
    has_header: bool
    numeric: frozenset[str] = frozenset()  # columns with nothing but numbers in the sample
    with_decimals: frozenset[str] = frozenset()  # those of them with a decimal mark in the sample
    delimiter: str = ","
    decimal: str = "."
    # In a file that is separated by commas: columns with quoted numbers such as "1,5".
    comma_columns: frozenset[str] = frozenset()
    encoding: str = "utf-8"
    quote: str = '"'
    offset: int = 0  # bytes before the first row; not 0 in ARFF and KEEL files
    text: frozenset[str] = frozenset()  # columns to read as text, whatever they look like
    n_blank: int = 0  # blank lines before the first row
    longest_line: int = 0  # characters, in the sample
    target: str | None = None  # its labels are read as they are written

    def with_text(self, text: Collection[str], target: object) -> Dialect:
        """Read some columns as text; the target too, because a float cannot hold all integers."""
        if isinstance(target, int | np.integer) and -len(self.names) <= target < len(self.names):
            target = self.names[target]
        name = target if isinstance(target, str) else None
        numeric = self.numeric.difference([*text, target])
        return self._replace(numeric=numeric, text=frozenset(text), target=name)

    def decimal_of(self, name: str) -> str:
        """The decimal mark of a column."""
        return "," if name in self.comma_columns else self.decimal


def read_sample(stream: Any) -> tuple[bytes, bool]:
    """The beginning of a binary stream, and whether it is the whole stream."""
    blocks, n_lines = [], 0
    while block := stream.read(SAMPLE_BYTES):
        blocks.append(block)
        n_lines += max(block.count(b"\n"), block.count(b"\r"))
        if n_lines >= MIN_SAMPLE_LINES:
            return b"".join(blocks), False
    return b"".join(blocks), True


def sniff(
    sample: bytes, header: bool | None = None, target: object = None, *, is_whole: bool = True
) -> Dialect:
    """Detect the dialect of a CSV file.

    Parameters
    ----------
    sample : bytes
        The beginning of the file.
    header : bool or None, default=None
        Whether the first row contains the column names; None to detect it.
    target : object, default=None
        Name of a column; if the first row contains it, that row is the header.
    is_whole : bool, default=True
        Whether the sample is the whole file, so that its last line is complete.
    """
    encoding, text = _decode(sample)
    lines = text.splitlines(keepends=True)
    if not is_whole:
        lines = lines[:-1]
    delimiter = _find_delimiter(lines)
    rows = _split(lines, delimiter)
    if not rows:
        raise TableError("The file is empty.")
    has_header = _has_header(rows, target) if header is None else header
    if has_header and is_whole and len(rows) == 1 and not re.search(rf"({_LINE_END})$", text):
        raise TableError("It has no rows of data.")  # Arrow does not read such a header
    names = (
        name_columns(rows[0]) if has_header else [f"column_{i + 1}" for i in range(len(rows[0]))]
    )
    decimal = "," if delimiter != "," and _has_decimal_comma(rows[1:]) else "."
    fields = _present_fields(names, rows[has_header:])
    numeric = numeric_columns(fields, decimal)
    return Dialect(
        names,
        has_header,
        numeric,
        frozenset(name for name in numeric if any(decimal in field for field in fields[name])),
        delimiter,
        decimal,
        comma_columns(fields) if delimiter == "," else frozenset(),
        encoding,
        n_blank=len(re.findall(_LINE_END, _BLANK_LINES.match(text)[0])),  # type: ignore[index]
        longest_line=max(map(len, lines)),
    )


def numeric_columns(columns: Mapping[str, Sequence[str]], decimal: str) -> frozenset[str]:
    """The columns that have values, all of which are numbers without leading zeros."""
    found = []
    for name, fields in columns.items():
        plain = [field.replace(decimal, ".") for field in fields]
        if fields and all(is_numeric(field) and not is_padded(field) for field in plain):
            found.append(name)
    return frozenset(found)


def comma_columns(columns: Mapping[str, Sequence[str]]) -> frozenset[str]:
    """The columns of a file separated by commas whose numbers have a decimal comma.

    The comma of 1,234 separates thousands, unless other columns of the file have decimal commas,
    and none has a decimal point.
    """
    certain, possible, has_point = set(), set(), False
    for name, fields in columns.items():
        commas = [field for field in fields if _has_decimal_mark(field, ",")]
        has_point |= any("." in field and parse_any(field, ".") is not None for field in fields)
        if commas and all(is_whole(field) for field in fields if field not in commas):
            possible.add(name)
            if not all(is_ambiguous(field) for field in commas):
                certain.add(name)
    return frozenset(possible if certain and not has_point else certain)


def _present_fields(names: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """The fields of each column that are not missing."""
    return {
        name: [row[index] for row in rows if index < len(row) and not is_missing(row[index])]
        for index, name in enumerate(names)
    }


def is_missing(text: str, words: Collection[str] = MISSING_WORDS) -> bool:
    """Whether a field is a spelling of a missing value."""
    return text.strip().lower() in words


def is_date(text: str) -> bool:
    """Whether a field looks like a date or a time."""
    return _DATE.fullmatch(text) is not None


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


@contextmanager
def long_fields() -> Iterator[None]:
    """Let the csv module read fields of any length; its limit of 128 kB is a global setting."""
    with _CSV_LIMIT:
        limit = csv.field_size_limit(2**31 - 1)
        try:
            yield
        finally:
            csv.field_size_limit(limit)


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader((line for line in lines if line.strip()), delimiter=delimiter)
    with long_fields():
        return list(islice(reader, SAMPLE_ROWS))


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
        numeric = sum(is_numeric(value.replace(",", ".")) for value in present)
        if present and numeric > 0.5 * len(present):
            votes += 1 if not is_numeric(name.replace(",", ".")) and not is_missing(name) else -1
        recurs += name in present
    return votes > 0 or (votes == 0 and recurs < 0.5 * len(first))


def _has_decimal_comma(rows: list[list[str]]) -> bool:
    fields = [field for row in rows for field in row if "," in field]
    if any("." in field and parse_any(field, ".") is not None for field in fields):
        return False  # 1,234.56: the comma separates thousands
    return any(_has_decimal_mark(field, ",") for field in fields)


def _has_decimal_mark(field: str, decimal: str) -> bool:
    return decimal in field and parse_any(field, decimal) is not None
