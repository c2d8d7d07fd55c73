"""How a CSV file is written: its encoding, delimiter, header and decimal sign, from its start."""

from __future__ import annotations

import codecs
import csv
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

SAMPLE_BYTES = 1 << 18
SAMPLE_ROWS = 200

# A delimiter earlier in this list wins where two fit: a decimal comma must not part a field.
DELIMITERS = ("\t", ";", "|", ",", " ")

# What stands for a missing value in a file, besides an empty field; compared without case.
MISSING_WORDS = frozenset({"", "?", "na", "n/a", "#n/a", "nan", "null", "<null>", "none", "<na>"})

DECIMAL_COMMA = r"^(\s*[-+]?\d+),(\d+([eE][-+]?\d+)?\s*)$"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class TableError(ValueError):
    """A file that cannot be used as it is; the message says what to do."""


class Dialect(NamedTuple):
    """What must be known to read a CSV file."""

    names: list[str]
    has_header: bool
    numeric: frozenset[str] = frozenset()  # columns that hold numbers only, as far as was seen
    delimiter: str = ","
    decimal: str = "."
    encoding: str = "utf-8"


def sniff(sample: bytes, header: bool | None = None, target: object = None) -> Dialect:
    """Work out the dialect of a CSV file.

    Parameters
    ----------
    sample : bytes
        The file's first `SAMPLE_BYTES`, or all of it if it is shorter.
    header : bool or None, default=None
        Whether the first row holds names; None to find out.
    target : object, default=None
        A name that, if it stands in the first row, makes that row a header.
    """
    encoding, text = _decode(sample)
    lines = text.splitlines(keepends=True)
    if len(sample) >= SAMPLE_BYTES:
        lines = lines[:-1]  # cut within a line
    delimiter = _find_delimiter(lines)
    rows = _split(lines, delimiter)
    if not rows:
        raise TableError("the file is empty.")
    has_header = _has_header(rows, target) if header is None else header
    names = (
        name_columns(rows[0]) if has_header else [f"column_{i + 1}" for i in range(len(rows[0]))]
    )
    decimal = "," if delimiter != "," and _has_decimal_comma(rows[1:]) else "."
    numeric = numeric_columns(names, rows[has_header:], decimal)
    return Dialect(names, has_header, numeric, delimiter, decimal, encoding)


def numeric_columns(
    names: Sequence[str], rows: Sequence[Sequence[str]], decimal: str = "."
) -> frozenset[str]:
    """The columns that hold a number wherever they hold anything, and somewhere do."""
    found = []
    for index, name in enumerate(names):
        fields = [row[index] for row in rows if index < len(row) and not is_missing(row[index])]
        if fields and all(is_numeric(field.replace(decimal, ".")) for field in fields):
            found.append(name)
    return frozenset(found)


def is_missing(text: str) -> bool:
    """Whether a field stands for a missing value."""
    return text.strip().lower() in MISSING_WORDS


def is_numeric(text: str) -> bool:
    """Whether a field is a finite number."""
    try:
        return abs(float(text)) < float("inf")
    except ValueError:
        return False


def name_columns(header: Sequence[str]) -> list[str]:
    """Names from a header row; nameless columns are numbered, repeated names refused."""
    names = [name.strip() or f"column_{i + 1}" for i, name in enumerate(header)]
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        places = [str(i + 1) for i, name in enumerate(names) if name == repeated[0]]
        raise TableError(
            f"the header repeats {', '.join(map(repr, repeated))} ({repeated[0]!r} in columns "
            f"{' and '.join(places)}): give every column a name of its own."
        )
    return names


def _decode(sample: bytes) -> tuple[str, str]:
    for bom, encoding in _BOMS:
        if sample.startswith(bom):
            text = codecs.getincrementaldecoder(encoding)(errors="replace").decode(sample)
            return encoding, text.lstrip("\ufeff")
    if b"\0" in sample:
        raise TableError("the file holds binary data, not text: save it as CSV or Parquet.")
    try:
        # Incremental: the sample may end within a character.
        return "utf-8", codecs.getincrementaldecoder("utf-8")().decode(sample)
    except UnicodeDecodeError:
        return "cp1252", sample.decode("cp1252", errors="replace")


def _split(lines: Sequence[str], delimiter: str) -> list[list[str]]:
    reader = csv.reader((line for line in lines if line.strip()), delimiter=delimiter)
    return list(islice(reader, SAMPLE_ROWS))


def _find_delimiter(lines: Sequence[str]) -> str:
    """The first delimiter that gives nearly all rows as many fields, above one, as the first."""
    for delimiter in DELIMITERS:
        widths = [len(row) for row in _split(lines, delimiter)]
        if widths and widths[0] > 1 and widths.count(widths[0]) >= 0.9 * len(widths):
            return delimiter
    # None fits: take the one the first row has, so that the wrong row can be named.
    return max(DELIMITERS[:-1], key=lines[0].count) if lines else ","


def _has_header(rows: list[list[str]], target: object) -> bool:
    """A first row unlike the rest: text above numbers, or values that never come again."""
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
    return any(re.match(DECIMAL_COMMA, field) for row in rows for field in row)
