"""read_table and iter_table: the user's own file or DataFrame, to fit a model and to use it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from sklearn.utils import Bunch

from raremetric.encoding import TableEncoder
from raremetric.encoding.table_encoder import check_columns
from raremetric.files import existing_file
from raremetric.table.reading.columns import known_columns, to_frame
from raremetric.table.reading.files import (
    arrow_table,
    find_dialect,
    is_frame,
    is_parquet,
    naming,
    read_arrow,
    scan_csv,
    scan_parquet,
)
from raremetric.table.reading.labels import choose_positive, labeled, refuse_many_classes
from raremetric.table.reading.levels import as_texts
from raremetric.table.reading.numbers import UNKNOWN
from raremetric.validation import TableError, as_names, did_you_mean


def read_table(
    path: Any,
    target: str | int | None = None,
    positive: Any = None,
    *,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    row_names: str | None = None,
    verbatim: Collection[str] = (),
    max_levels: int = 20,
) -> Bunch:
    r"""Read a table with one row per example and one column that contains the class.

    Parameters
    ----------
    path : str, Path or table
        A CSV file (delimiter, header, decimal comma and encoding are detected; ``.gz`` is
        allowed) or a Parquet file. Also a table in memory: a DataFrame of pandas or polars, or an
        Arrow table. Columns of a CSV file without a header, or without a name, are called
        ``column_1``, ``column_2``, …
    target : str or int
        Name of the column that contains the class, or its position (-1 for the last).
    positive : label, list of labels or None, default=None
        The labels that count as positive; None for the rarest class.
    categorical : str or collection of str, default=()
        Columns to treat as categories even if they contain numbers, such as codes.
    ignore : str or collection of str, default=()
        Columns to leave out.
    row_names : str or None, default=None
        Column with the name of each row, such as an identifier. It is not used as a feature.
    verbatim : str or collection of str, default=()
        Columns whose text is returned as it is written, such as a time or a group. Unless they are
        in `ignore`, they are features, too.
    max_levels : int, default=20
        See `TableEncoder`.

    Returns
    -------
    Bunch
        With the attributes

        data : DataFrame of shape (n_samples, n_columns)
            The raw columns: numbers, and categories where the file contains text.
        target : ndarray of shape (n_samples,)
            1 for the positive class, 0 otherwise.
        encoder : TableEncoder
            Fitted on `data`. In a pipeline, before a learner, it makes a model that takes the
            same raw columns.
        feature_names : list of str
            Names of the raw columns.
        target_name : str
            Name of the column with the class.
        target_names : list of str
            Names of the classes 0 and 1. Several other classes together are "not" the positive one.
        positive : tuple
            The labels that count as positive.
        classes : list
            All labels in the file.
        counts : list of int
            Number of rows with each of these labels.
        rows : ndarray of shape (n_samples,)
            Numbers of the rows in the table, starting at 1: rows without a class are left out.
        row_names : list of str or None
            Names of the rows, if `row_names` was given.
        verbatim : dict of list of str
            The texts of the columns `verbatim`, by name.
        decimals : dict of str
            The decimal marks of these columns in the file, should they hold numbers; empty if
            nothing shows them.

    Raises
    ------
    TableError
        The file cannot be used as it is; the message says why and what to do.

    Notes
    -----
    Missing values are empty fields and ``?``, ``NA``, ``N/A``, ``#N/A``, ``NaN``, ``null``,
    ``<null>``, ``None`` and ``<NA>``, in upper or lower case; in a column of text, ``none`` is a
    level. In the target column, ``NA``, ``N/A``, ``NaN``, ``null`` and ``None`` are names of
    classes, unless there are two or more other labels and these are numbers or one of them is more
    common. Rows without a class are left out with a warning, and columns without any value are
    dropped. If at least 90 % of the values of a column are numbers, all others are errors. Dates
    are written as YYYY-MM-DD or DD.MM.YYYY, or with slashes if a day above 12 shows which number is
    the month; a time of day may follow.

    Memory: the table is held once by Arrow and once by pandas, converted column by column, so that
    the peak is below three times the size of the parsed table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from raremetric.table import read_table
    >>> path = Path(mkdtemp(), "people.csv")
    >>> _ = path.write_text("age;sex;ill\n31;f;no\n45;m;yes\n28;m;no\n")
    >>> table = read_table(path, target="ill")
    >>> table.target, table.positive
    (array([0, 1, 0]), ('yes',))
    >>> table.encoder.transform(table.data)
    array([[31.,  0.],
           [45.,  1.],
           [28.,  1.]])
    """
    categorical, ignore, verbatim = map(as_names, (categorical, ignore, verbatim))
    as_written = [*as_names(row_names or ()), *verbatim]
    with naming(path):
        table, written = read_arrow(
            path, target=target, categorical=categorical, verbatim=as_written
        )
        name = find_target(table.column_names, target)
        _check_names(table, name, categorical, ignore, as_written)
        table, labels, rows = labeled(table, name)
        texts = {each: as_texts(table.column(each)) for each in as_written}
        left_out = {name, *ignore, *as_names(row_names or ())}
        columns = {key: table.column(key) for key in table.column_names if key not in left_out}
        del table  # so that the memory of each column is freed once it is converted
        if positive is None:
            refuse_many_classes(name, labels)
        chosen = choose_positive(name, labels, positive)
        decimals = {each: written.get(each, UNKNOWN).decimal for each in verbatim}
        frame, written = to_frame(columns, categorical, written)
        if not frame.shape[1]:
            raise TableError(f"It has no usable column besides the target {name!r}.")
        encoder = TableEncoder(max_levels=max_levels).fit(frame)
        encoder.written_ = written
    rest = [label for label in labels.classes.tolist() if label not in chosen]
    positives = ", ".join(map(str, chosen))
    return Bunch(
        data=frame,
        target=np.isin(labels.classes, chosen).astype(np.int64)[labels.codes],
        encoder=encoder,
        feature_names=list(frame.columns),
        target_name=name,
        target_names=[str(rest[0]) if len(rest) == 1 else f"not {positives}", positives],
        positive=chosen,
        classes=labels.classes.tolist(),
        counts=labels.counts.tolist(),
        rows=rows,
        row_names=None if row_names is None else texts[row_names],
        verbatim={each: texts[each] for each in verbatim},
        decimals=decimals,
    )


def find_target(names: list[str], target: str | int | None) -> str:
    """The name of the target column, given by its name or its position."""
    columns = f"The columns are {', '.join(map(repr, names[:20]))}{'…' if len(names) > 20 else ''}"
    if target is None:
        raise TableError(
            "Which column contains the class? Give its name (`target`, on the command line "
            f"`--target`). {columns}."
        )
    if isinstance(target, int | np.integer):
        if -len(names) <= target < len(names):
            return names[target]
        raise TableError(f"target={target} is out of range for {len(names)} columns.")
    if target in names:
        return target
    message = (
        f"There is no column {target!r} for the target. {did_you_mean(target, names)}".rstrip()
        + " Give the name of the column with the class (`target`, on the command line `--target`)."
    )
    if names[0] == "column_1":
        message += " The first row does not contain this name and was read as data."
    raise TableError(f"{message} {columns}.")


def _check_names(
    table: Any,
    target: str,
    categorical: Collection[str],
    ignore: Collection[str],
    as_written: Collection[str],
) -> None:
    if not table.num_rows:
        raise TableError("It has no rows of data.")
    if target in ignore or target in as_written:
        used = "used as time, group, weight or names of the rows"
        how = used if target in as_written else "left out"
        raise TableError(f"Column {target!r} is the target, so that it cannot be {how}.")
    for name in (*categorical, *ignore, *as_written):
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise TableError(f"There is no column {name!r}. {hint}".rstrip())


# New rows, in pieces


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
) -> Iterator[Any]:
    """Read a file or table as a sequence of Arrow tables, at least one.

    That it probably has a column `known` helps to detect a header. See also `iter_table`.
    """
    verbatim = [] if row_names is None else [row_names]
    if is_frame(path):
        yield arrow_table(path, verbatim)
    elif is_parquet(path := existing_file(path)):
        yield from scan_parquet(path)
    else:
        dialect, is_empty = find_dialect(path, target=known), True
        for table in scan_csv(path, dialect, block_bytes):
            is_empty = False
            yield table
        if is_empty:  # a header without rows
            yield pa.table({name: pa.array([], pa.string()) for name in dialect.names})
