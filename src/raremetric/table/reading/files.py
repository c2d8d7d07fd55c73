"""Read a file of any supported format, or a table in memory, as an Arrow table."""

from __future__ import annotations

import glob
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pyarrow as pa
import pyarrow.parquet as pq

from raremetric.files import TableError, brief, existing_file
from raremetric.table.reading.csv_files import RawTable, find_dialect, read_csv
from raremetric.table.reading.dates import with_times
from raremetric.table.reading.dialect import name_columns
from raremetric.table.reading.levels import as_text

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
) -> RawTable:
    """Read a file, a table in memory or a data set of OpenML; see `read_table`.

    Columns `verbatim` are text without any change.
    """
    if is_frame(source):
        return RawTable(arrow_table(source, verbatim))
    if str(source).startswith("openml:"):
        return read_openml(str(source))
    path, text = existing_file(source), [*categorical, *verbatim]
    if is_parquet(path):
        with _explained_parquet():
            name_columns(pq.read_schema(str(path)).names)
            return RawTable(pq.read_table(str(path)))
    return read_csv(path, find_dialect(path, target).with_text(text, target))


def is_parquet(path: Path) -> bool:
    """Whether to read a file as Parquet; others are CSV."""
    return path.suffix.lower() in {".parquet", ".pq"}


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


def read_openml(source: str) -> RawTable:
    """Read ``"openml:31"`` from openml.org, with its default target if it has one."""
    from sklearn.datasets import fetch_openml

    number = source.removeprefix("openml:")
    if not number.isdecimal():
        raise TableError('OpenML data sets are given by number, such as "openml:31".')
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
    table = pa.Table.from_pandas(bunch.frame, preserve_index=False)
    return RawTable(table, bunch.target_names[0] if len(bunch.target_names) == 1 else None)


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
