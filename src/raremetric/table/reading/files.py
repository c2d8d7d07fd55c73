"""Read a file of any supported format, or a table in memory, as an Arrow table."""

from __future__ import annotations

import glob
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv as arrow_csv

from raremetric.files import brief, existing_file
from raremetric.table.reading.dates import with_times
from raremetric.table.reading.dialect import Dialect, name_columns, sample_marks, sniff
from raremetric.table.reading.levels import MISSING_SPELLINGS, as_text
from raremetric.table.reading.numbers import Written
from raremetric.validation import TableError

SUFFIXES = (".parquet", ".pq", ".csv", ".csv.gz", ".tsv", ".tsv.gz")
BATCH_ROWS = 1 << 16  # of a Parquet file that is read in pieces


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Let the message of an error begin with the name of the file."""
    name = "The table" if is_frame(source) else source
    try:
        yield
    except ValueError as error:
        raise TableError(f"{name}: {error}") from error


def read_arrow(
    source: Any,
    *,
    target: object = None,
    categorical: Collection[str] = (),
    verbatim: Collection[str] = (),
) -> tuple[Any, Mapping[str, Written]]:
    """A file or a table in memory, see `read_table`, and what it shows about its numbers.

    Columns `verbatim` are text without any change.
    """
    if is_frame(source):
        table = arrow_table(source, verbatim)
    elif is_parquet(path := existing_file(source)):
        with _explained_parquet():
            name_columns(pq.read_schema(str(path)).names)
            table = pq.read_table(str(path))
    else:
        dialect = find_dialect(path, target).with_text([*categorical, *verbatim], target)
        return read_csv(path, dialect), dialect.written
    return table, sample_marks(table)


def is_parquet(path: Path) -> bool:
    """Whether to read a file as Parquet; others are CSV."""
    return path.suffix.lower() in {".parquet", ".pq"}


def find_dialect(path: Path, target: object = None) -> Dialect:
    """The dialect of a CSV file."""
    with open_stream(path) as stream:
        return sniff(stream, target)


def read_csv(path: Path, dialect: Dialect) -> Any:
    """Read a whole CSV file.

    Arrow is given the types, because inferring them would hold the whole text in memory. If a
    column turns out not to be numeric, the file is read again with that column as text.
    """
    while True:
        try:
            with _explained(dialect), open_stream(path) as stream:
                return arrow_csv.read_csv(stream, **_csv_options(dialect))
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


def scan_parquet(path: Path) -> Iterator[Any]:
    """Read a Parquet file as a sequence of small Arrow tables, at least one."""
    with _explained_parquet(), pq.ParquetFile(str(path)) as stored:
        schema = stored.schema_arrow
        name_columns(schema.names)
        if not stored.metadata.num_rows:
            yield schema.empty_table()
        for batch in stored.iter_batches(BATCH_ROWS):
            yield pa.Table.from_batches([batch])


@contextmanager
def _explained_parquet() -> Iterator[None]:
    """Turn Arrow's errors into one that says what is wrong."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if getattr(error, "errno", None) is not None:  # such as a missing permission
            raise
        raise TableError(f"It cannot be read as a Parquet file: {brief(error)}") from error


# Tables in memory


def is_frame(source: object) -> bool:
    """Whether a source is a table in memory, of pandas, polars, Arrow or a similar library.

    Anything but such a table and a path is an error.
    """
    if hasattr(source, "__arrow_c_stream__") or hasattr(source, "to_arrow"):
        return True
    if isinstance(source, str | PathLike):
        return False
    advice = (
        "Call its method collect()" if hasattr(source, "collect") else "Convert it to one of these"
    )
    raise TableError(
        "A table must be the path of a file, a data frame of pandas or polars, or an Arrow table; "
        f"got {type(source).__name__}. {advice} first."
    )


def arrow_table(frame: Any, verbatim: Collection[str] = ()) -> Any:
    """The Arrow table of a table in memory; the index of a pandas DataFrame is left out.

    The columns `verbatim`, such as the names of the rows, may mix text and numbers.
    """
    if type(frame).__module__.startswith("pandas"):
        name_columns([*map(str, frame.columns)])
        return pa.table(
            {str(name): _arrow_column(name, frame[name], name in verbatim) for name in frame}
        )
    try:
        table = pa.table(frame)
    except (pa.ArrowException, OverflowError) as error:
        raise TableError(f"It cannot be read: {brief(error)}") from error
    name_columns(table.column_names)
    return table


def _arrow_column(name: str, column: Any, verbatim: bool) -> Any:
    """A column of pandas."""
    if column.dtype == object:
        column = column.map(as_text, na_action="ignore") if verbatim else with_times(column)
    try:
        return pa.array(column, from_pandas=True)
    except (pa.ArrowException, OverflowError) as error:
        kinds = dict.fromkeys(type(value).__name__ for value in column.dropna())
        raise TableError(
            f"Column {name!r} cannot be read: it holds values of type {' and '.join(kinds)} "
            f"({brief(error)}). Convert all of them to numbers of at most 64 bits, to text or "
            "to dates, or drop the column from the data frame."
        ) from error


# Tables of many files


def collection_files(source: Any) -> list[Path]:
    """The files of a directory or of a pattern such as ``"data/*.csv"``, sorted by name.

    An empty list if the source is one file, or a table in memory. Of a directory, these are the
    files with a suffix of a table, all with the same one; names that begin with a point or an
    underscore are skipped.
    """
    if is_frame(source) or Path(source).is_file():
        return []
    if Path(source).is_dir():
        inside = [path for path in sorted(Path(source).iterdir()) if path.is_file()]
        tables = {path: table_suffix(path) for path in inside if path.name[0] not in "._"}
        tables = {path: suffix for path, suffix in tables.items() if suffix}
        if not tables:
            raise FileNotFoundError(
                f"The directory {str(source)!r} contains no table: no file whose name ends in "
                f"{', '.join(SUFFIXES)}."
            )
        if len(kinds := sorted({*tables.values()})) > 1:
            raise ValueError(
                f"The directory {str(source)!r} contains files of several formats: "
                f"{', '.join(kinds)}. Choose one with a pattern, such as "
                f"{str(Path(source, '*' + kinds[0]))!r}."
            )
        return list(tables)
    if not glob.has_magic(str(source)):
        return []
    names = sorted(glob.glob(str(source)))  # noqa: PTH207, of any directory
    files = [Path(name) for name in names if Path(name).is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches the pattern {str(source)!r}.")
    return files


def table_suffix(path: Path) -> str:
    """The ending by which a file of a directory is known to be a table; empty for other files."""
    return next((each for each in SUFFIXES if path.name.lower().endswith(each)), "")
