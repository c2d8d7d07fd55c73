"""From a file of any supported format to an Arrow table; what the columns mean comes later."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raremetric.datasets.dialect import (
    MISSING_WORDS,
    SAMPLE_BYTES,
    Dialect,
    TableError,
    name_columns,
    sniff,
)
from raremetric.datasets.extras import need
from raremetric.datasets.parsers import Attribute, parse_header

_ARROW_MISSING = sorted({*MISSING_WORDS, "NA", "N/A", "#N/A", "NaN", "NULL", "None", "<NA>"})


def read_arrow(
    path: Path, *, target: object = None, header: bool | None = None, text: Collection[str] = ()
) -> tuple[Any, str | None]:
    """The Arrow table of a file, and the target that the file itself names, if it does.

    Parameters
    ----------
    path : Path
        A ``.parquet``, ``.arff``, ``.dat`` (KEEL) file; any other is taken as CSV.
    target : object, default=None
        The wanted target: helps to tell a header from a first row.
    header : bool or None, default=None
        Whether a CSV file has a header; None to find out.
    text : collection of str, default=()
        Columns to read as text even if they look like numbers.
    """
    suffix = next((s for s in reversed(path.suffixes) if s.lower() != ".gz"), "").lower()
    if suffix in {".parquet", ".pq"}:
        return _read_parquet(path), None
    if suffix in {".arff", ".dat"} and (offset := _data_offset(path)):
        return _read_keel(path, offset)
    return read_csv(path, find_dialect(path, header, target), text=text), None


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with need("pyarrow").input_stream(str(path)) as stream:  # also opens .gz
        return sniff(stream.read(SAMPLE_BYTES), header, target)


def read_csv(path: Path, dialect: Dialect, *, text: Collection[str] = ()) -> Any:
    """Read a whole CSV file; the types of the columns are inferred over all rows."""
    options = _csv_options(dialect, text)
    with _explained(path, dialect):
        return need("pyarrow.csv").read_csv(str(path), **options)


def scan_csv(path: Path, dialect: Dialect, block_bytes: int) -> Iterator[Any]:
    """The record batches of a CSV file, one after another, all columns as text."""
    options = _csv_options(dialect, dialect.names)
    options["read_options"].block_size = block_bytes
    with _explained(path, dialect):
        yield from need("pyarrow.csv").open_csv(str(path), **options)


def _csv_options(dialect: Dialect, text: Collection[str], quote: str = '"') -> dict[str, Any]:
    arrow, arrow_csv = need("pyarrow"), need("pyarrow.csv")
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=dialect.names,
            skip_rows_after_names=int(dialect.has_header),
            encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=dialect.delimiter, quote_char=quote, newlines_in_values=True
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=_ARROW_MISSING,
            strings_can_be_null=True,
            column_types={name: arrow.string() for name in text if name in dialect.names},
            decimal_point=dialect.decimal,
            # Repeated text is held once; 1000 levels are as many as anyone can use.
            auto_dict_encode=True,
            auto_dict_max_cardinality=1000,
        ),
    }


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Turn Arrow's complaints about a CSV file into a sentence that names the row."""
    try:
        yield
    except need("pyarrow").ArrowInvalid as error:
        if "UTF8" in str(error):
            raise TableError(
                "the file is not UTF-8 text throughout: save it as UTF-8 and read it again."
            ) from error
        raise TableError(_ragged_row(path, dialect) or f"{error}".split("\n")[0]) from error
    except UnicodeDecodeError as error:
        raise TableError(
            "the file's encoding is not known: save it as UTF-8 and read it again."
        ) from error


def _ragged_row(path: Path, dialect: Dialect) -> str | None:
    """Read again, row by row, up to the first row with a wrong number of fields."""
    with path.open(encoding=dialect.encoding, errors="replace", newline="") as stream:
        rows = csv.reader(stream, delimiter=dialect.delimiter)
        for row in rows:
            if row and len(row) != len(dialect.names):
                return (
                    f"line {rows.line_num} has {len(row)} fields, but the first line has "
                    f"{len(dialect.names)}; the delimiter is taken to be {dialect.delimiter!r}. "
                    "Quote fields that contain it."
                )
    return None


def _read_parquet(path: Path) -> Any:
    try:
        table = need("pyarrow.parquet").read_table(str(path))
    except need("pyarrow").ArrowInvalid as error:
        raise TableError(f"it cannot be read as a Parquet file: {error}") from error
    name_columns(table.column_names)
    return table


# KEEL and ARFF: a header of @attribute lines, then rows like those of a CSV file


def _data_offset(path: Path) -> int:
    """Bytes up to the first row after ``@data``; 0 if there is no such line."""
    with path.open("rb") as stream:
        for line in stream:
            if line.strip().lower() == b"@data":
                return stream.tell()
    return 0


def _read_keel(path: Path, offset: int) -> tuple[Any, str]:
    with path.open("rb") as stream:
        lines = stream.read(offset).decode("utf-8-sig", errors="replace").splitlines()
        sample = stream.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    try:
        attributes, output = parse_header(lines)
    except ValueError as error:
        raise TableError(str(error)) from error
    if re.match(r"\s*\{", sample):
        raise TableError("sparse ARFF rows, in braces, are not supported: save it as dense ARFF.")
    dialect = Dialect(name_columns([attribute.name for attribute in attributes]), False)
    text = [attribute.name for attribute in attributes if _is_text(attribute)]
    quote = "'" if sample.count("'") > sample.count('"') else '"'
    options = _csv_options(dialect, text, quote)
    options["parse_options"].invalid_row_handler = (
        lambda row: "skip" if row.text.startswith("%") else "error"  # a comment
    )
    with _explained(path, dialect), need("pyarrow").OSFile(str(path)) as stream:
        stream.seek(offset)
        return need("pyarrow.csv").read_csv(stream, **options), output


def _is_text(attribute: Attribute) -> bool:
    if attribute.kind in {"date", "relational"}:
        from raremetric.datasets.encoding import date_sentence

        raise TableError(date_sentence(attribute.name))
    return attribute.kind in {"nominal", "string"}
