"""iter_table: the columns of a fitted encoder, read from a file in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from raremetric.encoding.table_encoder import TableEncoder, check_columns
from raremetric.files import existing_file
from raremetric.table.reading.columns import known_columns
from raremetric.table.reading.csv_files import find_dialect, scan_csv
from raremetric.table.reading.files import (
    arrow_table,
    is_csv,
    is_frame,
    is_parquet,
    naming,
    read_arrow,
    scan_parquet,
)
from raremetric.table.reading.levels import as_texts


def iter_table(
    path: Any,
    encoder: TableEncoder,
    *,
    block_bytes: int = 1 << 22,
    row_names: str | None = None,
) -> Iterator[Any]:
    """Read the columns of a fitted encoder from a file, in pieces.

    Parameters
    ----------
    path : str, Path or table
        A file or table as for `read_table`; it does not need to contain the class. CSV and Parquet
        files are read in pieces, other formats as a whole. There is always at least one piece.
    encoder : TableEncoder
        A fitted encoder. It determines which columns are read, and which of them are numbers.
    block_bytes : int, default=4 MB
        Size of a piece in bytes of a CSV file. Arrow reads up to 32 pieces ahead.
    row_names : str or None, default=None
        Column with the name of each row, if the file has it.

    Yields
    ------
    DataFrame
        Some of the rows, for ``encoder.transform`` or a pipeline that starts with the encoder.
        The index contains the numbers of the rows in the file, starting at 1, or their names.
    """
    first_row, known = 1, str(encoder.feature_names_in_[0])
    with naming(path):
        for table in iter_arrow(path, known, block_bytes, row_names):
            yield encoder_frame(table, encoder, first_row, row_names)
            first_row += table.num_rows


def encoder_frame(
    table: Any, encoder: TableEncoder, first_row: int = 1, row_names: str | None = None
) -> Any:
    """A DataFrame of the columns of a fitted encoder, from an Arrow table; see `iter_table`."""
    check_columns(table.column_names, list(encoder.feature_names_in_))
    frame = known_columns(table, encoder, first_row)
    if row_names in table.column_names:
        names = as_texts(table.column(row_names))
        frame.index = pd.Index(names, name=row_names)
    return frame


def column_names(path: Any, known: str) -> list[str]:
    """Names of the columns of a file; `known` is a column that it probably has."""
    with naming(path):
        return next(iter_arrow(path, known)).column_names


def iter_arrow(
    path: Any,
    known: str,
    block_bytes: int = 1 << 22,
    row_names: str | None = None,
    target: str | None = None,
) -> Iterator[Any]:
    """Read a file or table as a sequence of Arrow tables, at least one.

    That it probably has a column `known` helps to detect a header. See also `iter_table`.
    """
    verbatim = [] if row_names is None else [row_names]
    if is_frame(path):
        yield arrow_table(path, verbatim)
    elif is_csv(path := existing_file(path)):
        dialect, is_empty = find_dialect(path, target=known), True
        for table in scan_csv(path, dialect, block_bytes):
            is_empty = False
            yield table
        if is_empty:  # a header without rows
            yield pa.table({name: pa.array([], pa.string()) for name in dialect.names})
    elif is_parquet(path):
        yield from scan_parquet(path)
    else:
        yield read_arrow(path, target=target, verbatim=verbatim).table
