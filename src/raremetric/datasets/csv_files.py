"""Read CSV files with Arrow, as a whole or in pieces."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from raremetric.datasets.dialect import (
    DECIMAL_COMMA,
    GROUPED_BY_POINTS,
    MISSING_SPELLINGS,
    Dialect,
    TableError,
    long_fields,
    read_sample,
    sniff,
)
from raremetric.extras import import_optional
from raremetric.files import brief


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with open_stream(path) as stream:
        sample, is_whole = read_sample(stream)
    return sniff(sample, header, target, is_whole=is_whole)


def read_csv(path: Path, dialect: Dialect, verbatim: Collection[str] = ()) -> Any:
    """Read a whole CSV file; the columns `verbatim` are text without any change.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(path, dialect), open_stream(path) as stream:
                rows = _without_header(stream, dialect) if dialect.offset else stream
                table = import_optional("pyarrow.csv").read_csv(rows, **_csv_options(dialect))
                return _tidy_text(table, dialect, verbatim)
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(
    path: Path, dialect: Dialect, block_bytes: int, verbatim: Collection[str] = ()
) -> Iterator[Any]:
    """Read a CSV file as a sequence of small Arrow tables, with all columns as text."""
    dialect = dialect._replace(numeric=frozenset())
    options = _csv_options(dialect, block_bytes)
    with _explained(path, dialect), open_stream(path) as stream:
        for batch in import_optional("pyarrow.csv").open_csv(stream, **options):
            table = import_optional("pyarrow").Table.from_batches([batch])
            yield _tidy_text(table, dialect, verbatim)


def _tidy_text(table: Any, dialect: Dialect, verbatim: Collection[str]) -> Any:
    """Find missing values and decimal commas in the columns that Arrow read as text.

    Points that separate thousands are removed if every value with a point is written so.
    """
    is_text = [name not in dialect.numeric and name not in verbatim for name in dialect.names]
    columns = [
        _tidy_column(
            column,
            "," if name in dialect.comma_columns else dialect.decimal,
            is_target=name == dialect.target,
        )
        if tidy and column.num_chunks
        else column
        for name, column, tidy in zip(dialect.names, table.itercolumns(), is_text, strict=True)
    ]
    return import_optional("pyarrow").table(columns, names=dialect.names)


def _tidy_column(column: Any, decimal: str, *, is_target: bool) -> Any:
    arrow = import_optional("pyarrow")
    grouped = decimal != "." and _is_grouped(column)
    chunks = []
    for chunk in column.chunks:
        levels = chunk.dictionary
        # A class can be called NA: `read_labels` finds the missing values of the target.
        indices = chunk.indices if is_target else _without_missing(chunk.indices, levels)
        if decimal != ".":
            levels = _with_points(levels, grouped)
        chunks.append(arrow.DictionaryArray.from_arrays(indices, levels))
    return arrow.chunked_array(chunks)


def _without_missing(indices: Any, levels: Any) -> Any:
    """Indices of levels, with null where the level is a spelling of a missing value."""
    arrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    missing = _is_missing(levels)
    if not missing.true_count:
        return indices
    return compute.if_else(missing.take(indices), arrow.scalar(None, indices.type), indices)


def _is_missing(levels: Any) -> Any:
    return import_optional("pyarrow.compute").is_in(levels, _missing_spellings())


@cache
def _missing_spellings() -> Any:
    return import_optional("pyarrow").array(MISSING_SPELLINGS)


def _with_points(levels: Any, grouped: bool) -> Any:
    compute = import_optional("pyarrow.compute")
    if grouped:
        levels = compute.replace_substring(levels, ".", "")
    return compute.replace_substring_regex(levels, pattern=DECIMAL_COMMA, replacement=r"\1.\2")


def _is_grouped(column: Any) -> bool:
    """Whether all values are numbers with a decimal comma, and points only separate thousands."""
    compute = import_optional("pyarrow.compute")
    n_grouped = 0
    for chunk in column.chunks:
        levels = chunk.dictionary
        grouped = compute.match_substring_regex(levels, GROUPED_BY_POINTS)
        plain = compute.match_substring_regex(levels, r"^\s*[-+]?\d+(,\d+)?\s*%?\s*$")
        known = compute.or_(compute.or_(grouped, plain), _is_missing(levels))
        if not compute.all(known, min_count=0).as_py():
            return False
        n_grouped += compute.sum(grouped).as_py() or 0
    return n_grouped > 0


class _NotANumberError(Exception):
    def __init__(self, column: int):
        self.column = column


@contextmanager
def open_stream(path: Path) -> Iterator[Any]:
    """Arrow's binary stream of a file, decompressed if its name ends in ``.gz``."""
    try:
        with import_optional("pyarrow").input_stream(str(path)) as stream:
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
    return import_optional("pyarrow").BufferReader(rows)


def _csv_options(dialect: Dialect, block_bytes: int = 1 << 20) -> dict[str, Any]:
    arrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    # Dictionary-encoded, so that repeated text is held once.
    text = arrow.dictionary(arrow.int32(), arrow.string())
    return {
        "read_options": arrow_csv.ReadOptions(
            # With threads, a failed read can block a thread of Arrow forever (seen with 18 to 20),
            # and they are not faster here.
            use_threads=False,
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
            null_values=MISSING_SPELLINGS,  # of numbers; `_tidy_text` finds those of text
            strings_can_be_null=False,  # because a row can be called NA
            column_types={
                name: arrow.float64() if name in dialect.numeric else text for name in dialect.names
            },
            decimal_point=dialect.decimal,
        ),
    }


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Turn Arrow's errors into one that names the row and says what to do."""
    try:
        yield
    except import_optional("pyarrow").ArrowInvalid as error:
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
