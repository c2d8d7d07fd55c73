"""From a file of any supported format to an Arrow table; what the columns mean comes later."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from raremetric.datasets.dialect import (
    DECIMAL_COMMA,
    MISSING_WORDS,
    SAMPLE_BYTES,
    Dialect,
    TableError,
    name_columns,
    sniff,
)
from raremetric.datasets.parsers import Attribute, parse_header
from raremetric.extras import import_optional

PARQUET = frozenset({".parquet", ".pq"})

# Arrow compares as it stands: all usual spellings, also with a blank beside the delimiter.
_ARROW_MISSING = [
    before + spelling + after
    for word in sorted(MISSING_WORDS)
    for spelling in sorted({word, word.upper(), word.capitalize(), word.replace("nan", "NaN")})
    for before in ("", " ")
    for after in ("", " ")
]


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
    if _suffix(path) in PARQUET:
        return _read_parquet(path), None
    if not is_csv(path):
        return _read_keel(path, _data_offset(path))
    dialect = find_dialect(path, header, target)
    return read_csv(path, dialect._replace(numeric=dialect.numeric.difference(text))), None


def is_csv(path: Path) -> bool:
    """Whether a file is to be read as CSV; a ``.dat`` file is if it has no ``@data`` line."""
    suffix = _suffix(path)
    return suffix not in PARQUET and not (suffix in {".arff", ".dat"} and _data_offset(path))


def _suffix(path: Path) -> str:
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with import_optional("pyarrow").input_stream(str(path)) as stream:  # also opens .gz
        return sniff(stream.read(SAMPLE_BYTES), header, target)


def read_csv(path: Path, dialect: Dialect, *, quote: str = '"', offset: int = 0) -> Any:
    """Read a whole CSV file.

    The types are given to Arrow: where it has to find them out, it holds the whole text. A column
    that turns out not to be numbers is read as text, in another pass.
    """
    while True:
        try:
            with _explained(path, dialect), _open_at(path, offset) as stream:
                options = _csv_options(dialect, quote, comments=offset > 0)
                return _with_points(
                    import_optional("pyarrow.csv").read_csv(stream, **options), dialect
                )
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(path: Path, dialect: Dialect, block_bytes: int) -> Iterator[Any]:
    """A CSV file as a sequence of small Arrow tables, all columns as text."""
    dialect = dialect._replace(numeric=frozenset())
    options = _csv_options(dialect)
    options["read_options"].block_size = block_bytes
    with _explained(path, dialect):
        for batch in import_optional("pyarrow.csv").open_csv(str(path), **options):
            yield _with_points(import_optional("pyarrow").Table.from_batches([batch]), dialect)


def _with_points(table: Any, dialect: Dialect) -> Any:
    """Decimal commas to points in the columns that Arrow read as text."""
    if dialect.decimal == ".":
        return table
    arrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    for index, name in enumerate(dialect.names):
        if name in dialect.numeric:
            continue
        chunks = []
        for chunk in table.column(index).chunks:
            levels = compute.replace_substring_regex(
                chunk.dictionary, pattern=DECIMAL_COMMA, replacement=r"\1.\2"
            )
            chunks.append(arrow.DictionaryArray.from_arrays(chunk.indices, levels))
        table = table.set_column(index, name, arrow.chunked_array(chunks))
    return table


class _NotANumberError(Exception):
    def __init__(self, column: int):
        self.column = column


@contextmanager
def _open_at(path: Path, offset: int) -> Iterator[Any]:
    with import_optional("pyarrow").input_stream(str(path)) as stream:  # also opens .gz
        stream.read(offset)
        yield stream


def _csv_options(dialect: Dialect, quote: str = '"', comments: bool = False) -> dict[str, Any]:
    arrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    # Repeated text is held once.
    text = arrow.dictionary(arrow.int32(), arrow.string())
    return {
        "read_options": arrow_csv.ReadOptions(
            column_names=dialect.names,
            skip_rows_after_names=int(dialect.has_header),
            encoding="utf8" if dialect.encoding == "utf-8" else dialect.encoding,
        ),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=dialect.delimiter,
            quote_char=quote,
            newlines_in_values=True,
            invalid_row_handler=_skip_comment if comments else None,
        ),
        "convert_options": arrow_csv.ConvertOptions(
            null_values=_ARROW_MISSING,
            strings_can_be_null=True,
            column_types={
                name: arrow.float64() if name in dialect.numeric else text for name in dialect.names
            },
            decimal_point=dialect.decimal,
        ),
    }


@contextmanager
def _explained(path: Path, dialect: Dialect) -> Iterator[None]:
    """Turn Arrow's complaints about a CSV file into a sentence that names the row."""
    try:
        yield
    except import_optional("pyarrow").ArrowInvalid as error:
        if wrong := re.search(r"In CSV column #(\d+): .*conversion error to double", str(error)):
            raise _NotANumberError(int(wrong[1])) from error
        if "UTF8" in str(error):
            raise TableError(
                "the file is not UTF-8 text throughout: save it as UTF-8 and read it again."
            ) from error
        raise TableError(_ragged_row(path, dialect) or f"{error}".split("\n")[0]) from error
    except UnicodeDecodeError as error:
        raise TableError(
            "the file's encoding is not known: save it as UTF-8 and read it again."
        ) from error


def _skip_comment(row: Any) -> str:
    return "skip" if row.text.startswith("%") else "error"


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
        table = import_optional("pyarrow.parquet").read_table(str(path))
    except import_optional("pyarrow").ArrowInvalid as error:
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
    names = name_columns([attribute.name for attribute in attributes])
    numeric = frozenset(attribute.name for attribute in attributes if not _is_text(attribute))
    quote = "'" if sample.count("'") > sample.count('"') else '"'
    dialect = Dialect(names, has_header=False, numeric=numeric)
    table = read_csv(path, dialect, quote=quote, offset=offset)
    for index, attribute in enumerate(attributes):
        if attribute.kind == "date":  # of Arrow's type, it is refused unless it is ignored
            dates = import_optional("pyarrow").nulls(
                table.num_rows, import_optional("pyarrow").date32()
            )
            table = table.set_column(index, attribute.name, dates)
    return table, output


def _is_text(attribute: Attribute) -> bool:
    if attribute.kind == "relational":
        raise TableError(f"attribute {attribute.name!r} is relational, which is not supported.")
    return attribute.kind in {"nominal", "string", "date"}
