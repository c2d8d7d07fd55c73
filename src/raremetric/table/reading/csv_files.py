"""Read CSV files with Arrow, as a whole or in pieces."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from raremetric.files import TableError, brief
from raremetric.table.reading.dialect import (
    MISSING_SPELLINGS,
    Dialect,
    long_fields,
    read_sample,
    sniff,
)
from raremetric.table.reading.numbers import parse_numbers, written_as_floats
from raremetric.table.reading.written import Written


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with open_stream(path) as stream:
        sample, is_whole = read_sample(stream)
    return sniff(sample, header, target, is_whole=is_whole)


class RawTable(NamedTuple):
    """A table as it was read, before its columns are converted to features."""

    table: Any  # of Arrow
    target: str | None = None  # the column with the class, if the file declares it
    written: Mapping[str, Written] = {}  # how columns of numbers are written


def read_csv(path: Path, dialect: Dialect, verbatim: Collection[str] = ()) -> RawTable:
    """Read a whole CSV file; the columns `verbatim` are text without any change.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(path, dialect), open_stream(path) as stream:
                rows = _without_header(stream, dialect) if dialect.offset else stream
                table = arrow_csv.read_csv(rows, **_csv_options(dialect))
                table = _without_missing(table, dialect, verbatim)
                return _with_decimal_commas(table, dialect, verbatim)
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(
    path: Path, dialect: Dialect, block_bytes: int, verbatim: Collection[str] = ()
) -> Iterator[Any]:
    """Read a CSV file as a sequence of small Arrow tables, with all columns as text."""
    dialect = dialect._replace(numeric=frozenset())
    options = _csv_options(dialect, block_bytes)
    with _explained(path, dialect), open_stream(path) as stream:
        for batch in arrow_csv.open_csv(stream, **options):
            table = pa.Table.from_batches([batch])
            yield _without_missing(table, dialect, verbatim)


def _without_missing(table: Any, dialect: Dialect, verbatim: Collection[str]) -> Any:
    """A table with null where a column that Arrow read as text has a spelling of a missing value.

    A class can be called NA: `read_labels` finds the missing values of the target.
    """
    kept = {*dialect.numeric, *verbatim, dialect.target}
    columns = [
        column if name in kept else _with_nulls(column)
        for name, column in zip(dialect.names, table.itercolumns(), strict=True)
    ]
    return pa.table(columns, names=dialect.names)


def _with_nulls(column: Any) -> Any:
    chunks = []
    for chunk in column.chunks:
        missing = pc.is_in(chunk.dictionary, _missing_spellings())
        indices = chunk.indices
        if missing.true_count:
            null = pa.scalar(None, indices.type)
            indices = pc.if_else(missing.take(indices), null, indices)
        chunks.append(pa.DictionaryArray.from_arrays(indices, chunk.dictionary))
    return pa.chunked_array(chunks, column.type)


def _with_decimal_commas(table: Any, dialect: Dialect, verbatim: Collection[str]) -> RawTable:
    """Convert columns of text with decimal commas to numbers; say how all numbers are written."""
    written = {}
    is_feature = {*dialect.names}.difference(dialect.text, [dialect.target])
    for index, (name, column) in enumerate(zip(dialect.names, table.itercolumns(), strict=True)):
        decimal = dialect.decimal_of(name)
        if name in dialect.numeric:
            written[name] = written_as_floats(
                column.to_numpy(), decimal, name in dialect.with_decimals
            )
        elif name in verbatim:
            written[name] = Written(decimal)
        elif decimal == "," and name in is_feature:
            numbers = parse_numbers(column, ",")
            if not numbers.n_wrong and numbers.written.decimal == ",":
                table = table.set_column(index, name, pa.array(numbers.values, from_pandas=True))
                written[name] = numbers.written
    return RawTable(table, None, written)


@cache
def _missing_spellings() -> Any:
    return pa.array(MISSING_SPELLINGS)


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


def _without_header(stream: Any, dialect: Dialect) -> Any:
    """The rows of an ARFF or KEEL file, without comments, which may be in any encoding."""
    stream.read(dialect.offset)
    rows = re.sub(rb"^[ \t]*%.*\n?", b"", stream.read(), flags=re.MULTILINE)
    return pa.BufferReader(rows)


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
            delimiter=dialect.delimiter,
            quote_char=dialect.quote,
            newlines_in_values=True,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=MISSING_SPELLINGS,  # of numbers; `_with_nulls` finds those of text
            strings_can_be_null=False,  # because a row can be called NA
            column_types={
                name: pa.float64() if name in dialect.numeric else text for name in dialect.names
            },
            decimal_point=dialect.decimal,
        ),
    }


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Turn Arrow's errors into one that names the row and says what to do."""
    try:
        yield
    except pa.ArrowInvalid as error:
        if wrong := re.search(r"In CSV column #(\d+): .*conversion error to double", str(error)):
            raise _NotANumberError(int(wrong[1])) from error
        if "straddling" in str(error):
            raise TableError(
                "A row is too long to be read. Is a closing quotation mark missing?"
            ) from error
        if "UTF8" in str(error):
            raise TableError(
                "The file is not valid UTF-8 text. Save it as UTF-8 and read it again."
            ) from error
        raise TableError(_ragged_row(path, dialect) or f"{error}".split("\n")[0]) from error
    except UnicodeDecodeError as error:
        raise TableError(
            "The encoding of the file is unknown. Save it as UTF-8 and read it again."
        ) from error


def _ragged_row(path: Path, dialect: Dialect) -> str | None:
    """Message about the first row with a wrong number of fields, found by reading row by row."""
    with open_stream(path) as stream, long_fields():
        n_before = stream.read(dialect.offset).count(b"\n")
        lines = io.TextIOWrapper(stream, dialect.encoding, errors="replace", newline="")
        n_before += len([next(lines) for _ in range(dialect.n_blank)])
        rows = csv.reader(lines, delimiter=dialect.delimiter, quotechar=dialect.quote)
        for row in rows:
            is_comment = dialect.offset and row and row[0].lstrip().startswith("%")
            if row and not is_comment and len(row) != len(dialect.names):
                return (
                    f"Line {n_before + rows.line_num} has {len(row)} fields, but the "
                    f"{'header declares' if dialect.offset else 'first line has'} "
                    f"{len(dialect.names)}. The detected delimiter is {dialect.delimiter!r}; quote "
                    "fields that contain it."
                )
    return None
