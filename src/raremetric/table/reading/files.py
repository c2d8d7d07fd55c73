"""Read a file of any supported format, or a table in memory, as an Arrow table."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from raremetric.files import TableError, brief
from raremetric.table.reading.csv_files import RawTable, find_dialect, read_csv
from raremetric.table.reading.dates import with_times
from raremetric.table.reading.dialect import name_columns
from raremetric.table.reading.keel_files import data_offset, read_keel
from raremetric.table.reading.row_names import as_text

PARQUET = frozenset({".parquet", ".pq"})
BATCH_ROWS = 1 << 16  # of a Parquet file that is read in pieces


def read_arrow(
    path: Path,
    *,
    target: object = None,
    header: bool | None = None,
    text: Collection[str] = (),
    verbatim: Collection[str] = (),
) -> RawTable:
    """Read a file as an Arrow table.

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
    verbatim : collection of str, default=()
        Columns, such as identifiers, that are read as text without any change.
    """
    if is_parquet(path):
        return RawTable(_read_parquet(path))
    if not is_csv(path):
        return read_keel(path, target, verbatim)
    dialect = find_dialect(path, header, target)
    dialect = dialect.with_text([*text, *verbatim], target)
    return read_csv(path, dialect, verbatim)


@contextmanager
def naming(source: object) -> Iterator[None]:
    """Let the message of an error begin with the name of the file."""
    try:
        yield
    except ValueError as error:
        raise TableError(f"{source}: {error}") from error


def is_csv(path: Path) -> bool:
    """Whether to read a file as CSV; this includes ``.dat`` files without an ``@data`` line."""
    suffix = _suffix(path)
    return suffix not in PARQUET and not (suffix in {".arff", ".dat"} and data_offset(path))


def _suffix(path: Path) -> str:
    return next((s.lower() for s in reversed(path.suffixes) if s.lower() != ".gz"), "")


def is_parquet(path: Path) -> bool:
    """Whether to read a file as Parquet."""
    return _suffix(path) in PARQUET


def _read_parquet(path: Path) -> Any:
    with _explained_parquet():
        name_columns(pq.read_schema(str(path)).names)
        return pq.read_table(str(path))


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
    is_pandas = type(frame).__module__.startswith("pandas")
    try:
        if is_pandas:
            name_columns([*map(str, frame.columns)])
            mixed = [name for name in verbatim if name in frame and frame[name].dtype == object]
            texts = {name: frame[name].map(as_text, na_action="ignore") for name in mixed}
            frame = frame.assign(**texts)
            for name in frame.columns:
                if frame[name].dtype == object and name not in verbatim:
                    frame[name] = with_times(frame[name])
            table = pa.Table.from_pandas(frame, preserve_index=False)
        else:
            table = pa.table(frame)
    except (pa.ArrowException, OverflowError) as error:
        message = _wrong_column(frame) if is_pandas else None
        raise TableError(message or f"It cannot be read: {brief(error)}") from error
    name_columns(table.column_names)
    return table


def _wrong_column(frame: Any) -> str | None:
    """Message about the first column of pandas that Arrow cannot read."""
    for name in frame.columns:
        try:
            pa.array(frame[name], from_pandas=True)
        except (pa.ArrowException, OverflowError) as error:
            kinds = dict.fromkeys(type(value).__name__ for value in frame[name].dropna())
            return (
                f"Column {name!r} cannot be read: it holds values of type {' and '.join(kinds)} "
                f"({brief(error)}). Convert all of them to numbers of at most 64 bits, to text or "
                "to dates, or drop the column from the data frame."
            )
    return None
