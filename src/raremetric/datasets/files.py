"""Read a file of any supported format, or an OpenML data set, as an Arrow table."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import URLError

from raremetric.datasets.dialect import (
    DECIMAL_COMMA,
    GROUPED_BY_POINTS,
    MISSING_SPELLINGS,
    SAMPLE_BYTES,
    Dialect,
    TableError,
    long_fields,
    name_columns,
    read_sample,
    sniff,
)
from raremetric.datasets.parsers import Attribute, parse_header
from raremetric.extras import import_optional

PARQUET = frozenset({".parquet", ".pq"})


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
        return _read_keel(path, target, verbatim)
    dialect = find_dialect(path, header, target)
    dialect = dialect.with_text([*text, *([verbatim] if verbatim else [])], target)
    return read_csv(path, dialect, verbatim), None


def is_csv(path: Path) -> bool:
    """Whether to read a file as CSV; this includes ``.dat`` files without an ``@data`` line."""
    suffix = _suffix(path)
    return suffix not in PARQUET and not (suffix in {".arff", ".dat"} and _data_offset(path))


def _suffix(path: Path) -> str:
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def find_dialect(path: Path, header: bool | None = None, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with _open(path) as stream:
        sample, is_whole = read_sample(stream)
    return sniff(sample, header, target, is_whole=is_whole)


def read_csv(path: Path, dialect: Dialect, verbatim: str | None = None) -> Any:
    """Read a whole CSV file.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(path, dialect), _open(path) as stream:
                rows = _without_header(stream, dialect) if dialect.offset else stream
                table = import_optional("pyarrow.csv").read_csv(rows, **_csv_options(dialect))
                return _with_points(table, dialect, verbatim)
        except _NotANumberError as error:
            dialect = dialect._replace(numeric=dialect.numeric - {dialect.names[error.column]})


def scan_csv(
    path: Path, dialect: Dialect, block_bytes: int, verbatim: str | None = None
) -> Iterator[Any]:
    """Read a CSV file as a sequence of small Arrow tables, with all columns as text."""
    dialect = dialect._replace(numeric=frozenset())
    options = _csv_options(dialect, block_bytes)
    with _explained(path, dialect), _open(path) as stream:
        for batch in import_optional("pyarrow.csv").open_csv(stream, **options):
            table = import_optional("pyarrow").Table.from_batches([batch])
            yield _with_points(table, dialect, verbatim)


def _with_points(table: Any, dialect: Dialect, verbatim: str | None) -> Any:
    """Replace decimal commas by points in the columns that Arrow read as text.

    Points that separate thousands are removed if every value with a point is written so.
    """
    if dialect.decimal == ".":
        return table
    arrow, compute = import_optional("pyarrow"), import_optional("pyarrow.compute")
    for index, name in enumerate(dialect.names):
        if name in dialect.numeric or name == verbatim:
            continue
        chunks, grouped = [], _is_grouped(table.column(index))
        for chunk in table.column(index).chunks:
            levels = chunk.dictionary
            if grouped:
                levels = compute.replace_substring(levels, ".", "")
            levels = compute.replace_substring_regex(
                levels, pattern=DECIMAL_COMMA, replacement=r"\1.\2"
            )
            chunks.append(arrow.DictionaryArray.from_arrays(chunk.indices, levels))
        table = table.set_column(index, name, arrow.chunked_array(chunks))
    return table


def _is_grouped(column: Any) -> bool:
    """Whether all values are numbers with a decimal comma, and points only separate thousands."""
    compute = import_optional("pyarrow.compute")
    n_grouped = 0
    for chunk in column.chunks:
        levels = chunk.dictionary
        grouped = compute.match_substring_regex(levels, GROUPED_BY_POINTS)
        plain = compute.match_substring_regex(levels, r"^\s*[-+]?\d+(,\d+)?\s*%?\s*$")
        if not compute.all(compute.or_(grouped, plain), min_count=0).as_py():
            return False
        n_grouped += compute.sum(grouped).as_py() or 0
    return n_grouped > 0


class _NotANumberError(Exception):
    def __init__(self, column: int):
        self.column = column


@contextmanager
def _open(path: Path) -> Iterator[Any]:
    """Arrow's binary stream of a file, decompressed if its name ends in ``.gz``."""
    try:
        with import_optional("pyarrow").input_stream(str(path)) as stream:
            yield stream
    except OSError as error:
        if error.errno is not None or path.suffix.lower() != ".gz":
            raise
        raise TableError(
            f"The name ends in .gz, but the file cannot be decompressed ({error}). If it is plain "
            "text, remove .gz from its name; otherwise, copy it again."
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
            null_values=MISSING_SPELLINGS,
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
    with _open(path) as stream, long_fields():
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


def _read_parquet(path: Path) -> Any:
    try:
        table = import_optional("pyarrow.parquet").read_table(str(path))
    except import_optional("pyarrow").ArrowInvalid as error:
        raise TableError(f"It cannot be read as a Parquet file: {error}") from error
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
    offset = 0
    with _open(path) as stream:
        for line in io.BufferedReader(stream):
            offset += len(line)
            if line.strip().lower() == b"@data":
                return offset
    return 0


def _read_keel(path: Path, target: object, verbatim: str | None) -> tuple[Any, str]:
    offset = _data_offset(path)
    with _open(path) as stream:
        lines = stream.read(offset).decode("utf-8-sig", errors="replace").splitlines()
        sample = stream.read(SAMPLE_BYTES).decode("utf-8", errors="replace")
    try:
        attributes, output = parse_header(lines)
    except ValueError as error:
        raise TableError(str(error)) from error
    if re.match(r"\s*\{", sample):
        raise TableError("Sparse ARFF files are not supported. Save it as dense ARFF.")
    names = name_columns([attribute.name for attribute in attributes])
    numeric = frozenset(attribute.name for attribute in attributes if not _is_text(attribute))
    numeric = numeric.difference([verbatim])
    quote = "'" if sample.count("'") > sample.count('"') else '"'
    dialect = Dialect(names, has_header=False, numeric=numeric, quote=quote, offset=offset)
    table = read_csv(path, dialect.with_text((output,), target), verbatim)
    return table, output


def _is_text(attribute: Attribute) -> bool:
    if attribute.kind == "relational":
        raise TableError(f"Attribute {attribute.name!r} is relational, which is not supported.")
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
