"""Read CSV files with Arrow, as a whole or in pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import csv as arrow_csv

from raremetric.files import TableError, brief
from raremetric.table.reading.dialect import Dialect, sniff
from raremetric.table.reading.levels import MISSING_SPELLINGS
from raremetric.table.reading.numbers import Written


class RawTable(NamedTuple):
    """A table as it was read, before its columns are converted to features."""

    table: Any  # of Arrow
    target: str | None = None  # the column with the class, if the file declares it
    written: Mapping[str, Written] = {}  # what a CSV file shows about its numbers


def find_dialect(path: Path, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with open_stream(path) as stream:
        return sniff(stream, target)


def read_csv(path: Path, dialect: Dialect) -> RawTable:
    """Read a whole CSV file.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(dialect), open_stream(path) as stream:
                table = arrow_csv.read_csv(stream, **_csv_options(dialect))
                return RawTable(table, None, dialect.written)
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(path: Path, dialect: Dialect, block_bytes: int) -> Iterator[Any]:
    """Read a CSV file as a sequence of small Arrow tables, with all columns as text."""
    options = _csv_options(dialect._replace(numeric=frozenset()), block_bytes)
    with _explained(dialect), open_stream(path) as stream:
        for batch in arrow_csv.open_csv(stream, **options):
            yield pa.Table.from_batches([batch])


class _NotANumberError(Exception):
    def __init__(self, column: int):
        self.column = column


@contextmanager
def open_stream(path: Path) -> Iterator[Any]:
    """Arrow's binary stream of a file, decompressed if its name ends in ``.gz``."""
    try:
        with pa.input_stream(str(path)) as stream:
            yield stream
    except OSError as error:
        if error.errno is not None or path.suffix.lower() != ".gz":
            raise
        raise TableError(
            f"The name ends in .gz, but the file cannot be decompressed ({brief(error)}). If it is "
            "plain text, remove .gz from its name; otherwise, copy it again."
        ) from error


def _csv_options(dialect: Dialect, block_bytes: int = 1 << 20) -> dict[str, Any]:
    # Dictionary-encoded, so that repeated text is held once.
    text = pa.dictionary(pa.int32(), pa.string())
    return {
        "read_options": arrow_csv.ReadOptions(
            # With threads, a failed read can block a thread of Arrow forever (seen with 18 to 20),
            # and they are not faster here.
            use_threads=False,
            skip_rows=dialect.n_blank,
            column_names=dialect.names,
            skip_rows_after_names=int(dialect.has_header),
            encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
            block_size=max(block_bytes, 8 * dialect.longest_line),  # Arrow needs whole rows
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, newlines_in_values=True
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=MISSING_SPELLINGS,  # of numbers
            strings_can_be_null=False,  # because a row or a class can be called NA
            column_types={
                name: pa.float64() if name in dialect.numeric else text for name in dialect.names
            },
            decimal_point=dialect.decimal,
        ),
    }


@contextmanager
def _explained(dialect: Dialect) -> Iterator[None]:
    """Turn Arrow's errors into one that names the row and says what to do."""
    try:
        yield
    except pa.ArrowInvalid as error:
        message = str(error).split("\n")[0]
        if wrong := re.search(r"In CSV column #(\d+): .*conversion error to double", str(error)):
            raise _NotANumberError(int(wrong[1])) from error
        if ragged := re.search(r"Row #(\d+): Expected (\d+) columns, got (\d+)", message):
            row = int(ragged[1]) - dialect.n_blank - dialect.has_header
            message = (
                f"Data row {row} has {ragged[3]} fields instead of {ragged[2]}. The detected "
                f"delimiter is {dialect.delimiter!r}; quote fields that contain it."
            )
        elif "straddling" in message:
            message = "A row is too long to be read. Is a closing quotation mark missing?"
        elif "UTF8" in message:
            message = "The file is not valid UTF-8 text. Save it as UTF-8 and read it again."
        raise TableError(message) from error
    except UnicodeDecodeError as error:
        raise TableError(
            "The encoding of the file is unknown. Save it as UTF-8 and read it again."
        ) from error
