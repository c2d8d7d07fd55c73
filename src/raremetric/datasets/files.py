"""Read a file of any supported format, or an OpenML data set, as an Arrow table."""

from __future__ import annotations

import csv
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

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

# Arrow compares literally: list all usual spellings, also with a space next to the delimiter.
_ARROW_MISSING = [
    before + spelling + after
    for word in sorted(MISSING_WORDS)
    for spelling in sorted({word, word.upper(), word.capitalize(), word.replace("nan", "NaN")})
    for before in ("", " ")
    for after in ("", " ")
]


def read_arrow(
    path: Path,
    *,
    target: object = None,
    header: bool | None = None,
    text: Collection[str] = (),
    verbatim: str | None = None,
) -> tuple[Any, str | None]:
    """The Arrow table of a file, and the target column that the file declares, if any.

    Parameters
    ----------
    path : Path
        A ``.parquet``, ``.arff`` or ``.dat`` (KEEL) file; any other file is read as CSV.
    target : object, default=None
        The target column; helps to detect a header.
    header : bool or None, default=None
        Whether a CSV file has a header; None to detect it.
    text : collection of str, default=()
        Columns to read as text even if they look like numbers.
    verbatim : str or None, default=None
        A column of identifiers, which are read as text without any change.
    """
    if _suffix(path) in PARQUET:
        return _read_parquet(path), None
    if not is_csv(path):
        return _read_keel(path, _data_offset(path), verbatim)
    dialect = find_dialect(path, header, target)
    numeric = dialect.numeric.difference(text, [verbatim])
    return read_csv(path, dialect._replace(numeric=numeric), verbatim=verbatim), None


def is_csv(path: Path) -> bool:
    """Whether to read a file as CSV; this includes ``.dat`` files without an ``@data`` line."""
    suffix = _suffix(path)
    return suffix not in PARQUET and not (suffix in {".arff", ".dat"} and _data_offset(path))


def _suffix(path: Path) -> str:
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with import_optional("pyarrow").input_stream(str(path)) as stream:  # also opens .gz
        return sniff(stream.read(SAMPLE_BYTES), header, target)


def read_csv(
    path: Path,
    dialect: Dialect,
    *,
    quote: str = '"',
    offset: int = 0,
    verbatim: str | None = None,
) -> Any:
    """Read a whole CSV file.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(path, dialect), _open_at(path, offset) as stream:
                options = _csv_options(dialect, quote, comments=offset > 0)
                table = import_optional("pyarrow.csv").read_csv(stream, **options)
                return _with_points(table, dialect, verbatim)
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(
    path: Path, dialect: Dialect, block_bytes: int, verbatim: str | None = None
) -> Iterator[Any]:
    """Read a CSV file as a sequence of small Arrow tables, with all columns as text."""
    dialect = dialect._replace(numeric=frozenset())
    options = _csv_options(dialect)
    options["read_options"].block_size = block_bytes
    with _explained(path, dialect):
        for batch in import_optional("pyarrow.csv").open_csv(str(path), **options):
            table = import_optional("pyarrow").Table.from_batches([batch])
            yield _with_points(table, dialect, verbatim)


def _with_points(table: Any, dialect: Dialect, verbatim: str | None) -> Any:
    """Replace decimal commas by points in the columns that Arrow read as text."""
    if dialect.decimal == ".":
        return table
    arrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    for index, name in enumerate(dialect.names):
        if name in dialect.numeric or name == verbatim:
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
    # Dictionary-encoded, so that repeated text is held once.
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
    """Turn Arrow's errors into one that names the row and says what to do."""
    try:
        yield
    except import_optional("pyarrow").ArrowInvalid as error:
        if wrong := re.search(r"In CSV column #(\d+): .*conversion error to double", str(error)):
            raise _NotANumberError(int(wrong[1])) from error
        if "UTF8" in str(error):
            raise TableError(
                "the file is not valid UTF-8 text. Save it as UTF-8 and read it again."
            ) from error
        raise TableError(_ragged_row(path, dialect) or f"{error}".split("\n")[0]) from error
    except UnicodeDecodeError as error:
        raise TableError(
            "the encoding of the file is unknown. Save it as UTF-8 and read it again."
        ) from error


def _skip_comment(row: Any) -> str:
    return "skip" if row.text.startswith("%") else "error"


def _ragged_row(path: Path, dialect: Dialect) -> str | None:
    """Message about the first row with a wrong number of fields, found by reading row by row."""
    with path.open(encoding=dialect.encoding, errors="replace", newline="") as stream:
        rows = csv.reader(stream, delimiter=dialect.delimiter)
        for row in rows:
            if row and len(row) != len(dialect.names):
                return (
                    f"line {rows.line_num} has {len(row)} fields, but the first line has "
                    f"{len(dialect.names)}. The detected delimiter is {dialect.delimiter!r}; quote "
                    "fields that contain it."
                )
    return None


def _read_parquet(path: Path) -> Any:
    try:
        table = import_optional("pyarrow.parquet").read_table(str(path))
    except import_optional("pyarrow").ArrowInvalid as error:
        raise TableError(f"it cannot be read as a Parquet file: {error}") from error
    name_columns(table.column_names)
    return table


def is_frame(source: object) -> bool:
    """Whether a source is a table in memory, of pandas, polars, Arrow or a similar library."""
    return hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_arrow")


def arrow_table(frame: Any) -> Any:
    """The Arrow table of a table in memory; the index of a pandas DataFrame is left out."""
    arrow = import_optional("pyarrow")
    try:
        if type(frame).__module__.startswith("pandas"):
            table = arrow.Table.from_pandas(frame, preserve_index=False)
        else:
            table = arrow.table(frame)
    except (arrow.ArrowInvalid, arrow.ArrowTypeError) as error:
        raise TableError(f"a column holds values of several types: {error}") from error
    name_columns(table.column_names)
    return table


# KEEL and ARFF files: a header of @attribute lines, followed by rows as in a CSV file


def _data_offset(path: Path) -> int:
    """Offset in bytes of the first row after ``@data``; 0 if there is no such line."""
    with path.open("rb") as stream:
        for line in stream:
            if line.strip().lower() == b"@data":
                return stream.tell()
    return 0


def _read_keel(path: Path, offset: int, verbatim: str | None) -> tuple[Any, str]:
    with path.open("rb") as stream:
        lines = stream.read(offset).decode("utf-8-sig", errors="replace").splitlines()
        sample = stream.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    try:
        attributes, output = parse_header(lines)
    except ValueError as error:
        raise TableError(str(error)) from error
    if re.match(r"\s*\{", sample):
        raise TableError("sparse ARFF files are not supported. Save it as dense ARFF.")
    names = name_columns([attribute.name for attribute in attributes])
    numeric = frozenset(attribute.name for attribute in attributes if not _is_text(attribute))
    numeric = numeric.difference([verbatim])
    quote = "'" if sample.count("'") > sample.count('"') else '"'
    dialect = Dialect(names, has_header=False, numeric=numeric)
    table = read_csv(path, dialect, quote=quote, offset=offset)
    for index, attribute in enumerate(attributes):
        if attribute.kind == "date":  # with Arrow's type, it is an error unless it is ignored
            arrow = import_optional("pyarrow")
            dates = arrow.nulls(table.num_rows, arrow.date32())
            table = table.set_column(index, attribute.name, dates)
    return table, output


def _is_text(attribute: Attribute) -> bool:
    if attribute.kind == "relational":
        raise TableError(f"attribute {attribute.name!r} is relational, which is not supported.")
    return attribute.kind in {"nominal", "string", "date"}


# OpenML


def read_openml(source: str) -> tuple[Any, str | None]:
    """Read a data set from openml.org: its Arrow table, and its default target if it has one.

    Parameters
    ----------
    source : str
        ``"openml:"`` followed by the number of the data set.
    """
    from sklearn.datasets import fetch_openml

    number = source.removeprefix("openml:")
    if not number.isdecimal():
        raise TableError('OpenML data sets are given by number, such as "openml:31".')
    import_optional("pandas")
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="A network error")  # raised below
            bunch = fetch_openml(data_id=int(number), as_frame=True, parser="auto", n_retries=1)
    except (URLError, ConnectionError, TimeoutError) as error:
        raise TableError(
            f"openml.org could not be reached ({error}). Connect to the internet, or download the "
            "file elsewhere and pass its path."
        ) from error
    except ValueError as error:  # scikit-learn's, for an unknown number
        raise TableError(f"OpenML rejected the request: {error}") from error
    table = import_optional("pyarrow").Table.from_pandas(bunch.frame, preserve_index=False)
    return table, bunch.target_names[0] if len(bunch.target_names) == 1 else None
