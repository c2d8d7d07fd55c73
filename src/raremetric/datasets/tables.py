"""read_table: a user's own file, as a data set."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch
from sklearn.utils.multiclass import type_of_target

from raremetric.datasets.columns import convert_column, to_frame
from raremetric.datasets.dialect import TableError
from raremetric.datasets.encoding import TableEncoder
from raremetric.datasets.extras import need
from raremetric.datasets.files import find_dialect, read_arrow, scan_csv
from raremetric.datasets.openml import read_openml
from raremetric.validation import check_option

__all__ = ["TableError", "iter_table", "read_table"]


def read_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    missing: str = "impute",
    max_levels: int = 20,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
    header: bool | None = None,
    original: bool = False,
) -> Bunch:
    r"""Read a file of examples, one a row, with the class in one of its columns.

    Parameters
    ----------
    path : str or Path
        A CSV file (delimiter, header, decimal comma and encoding are found out; may be ``.gz``), a
        Parquet, ARFF or KEEL ``.dat`` file, or ``"openml:31"`` for a data set of openml.org.
    target : str, int or None, default=None
        Name of the column with the class, or its position (-1 for the last). None where the file
        itself says: ARFF and KEEL (the output, or the last attribute), OpenML.
    positive : label, list of labels or None, default=None
        What counts as positive; None for the rarest class.
    missing : {"impute", "refuse"}, default="impute"
        What the encoder does about missing values, see `TableEncoder`.
    max_levels : int, default=20
        Up to this number of levels, text becomes 0/1 columns, see `TableEncoder`.
    categorical : collection of str, default=()
        Columns to take as categories even if they hold numbers, such as codes.
    ignore : collection of str, default=()
        Columns to leave out.
    header : bool or None, default=None
        Whether the first row of a CSV file holds names; None to find out. Columns without a name
        are called ``column_1``, ``column_2``, …
    original : bool, default=False
        Target as the labels of the file instead of 1 and 0.

    Returns
    -------
    Bunch
        With the attributes

        data : DataFrame of shape (n_samples, n_columns)
            The raw columns: numbers, and categories where the file has text.
        target : ndarray of shape (n_samples,)
            1 for the positive class, 0 otherwise; the labels if `original`.
        encoder : TableEncoder
            Fitted on `data`. Put it in front of a learner in a pipeline: then the saved model
            takes the same raw columns.
        feature_names : list of str
            Names of the raw columns.
        target_name : str
        target_names : list
            What the values of `target` stand for, in increasing order.
        positive : tuple
            The labels that count as positive.

    Raises
    ------
    TableError
        A ValueError; its message says what is wrong with the file and what to do.

    Notes
    -----
    Missing are empty fields and ``?``, ``NA``, ``N/A``, ``#N/A``, ``NaN``, ``null``, ``<null>``,
    ``None`` and ``<NA>``, in any case. Columns without any value are left out with a warning.
    A column of which nine values in ten are numbers must be numbers throughout. Dates are refused.

    The table is held once in Arrow's memory and once in pandas', column by column: the peak is
    below three times the size of the parsed table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from raremetric.datasets import read_table
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
    check_option(missing, "missing", ("impute", "refuse"))
    source = str(path)
    try:
        if source.startswith("openml:"):
            table, named = read_openml(source)
        else:
            table, named = read_arrow(
                _existing(path), target=target, header=header, text=categorical
            )
        name = _find_target(table.column_names, named if target is None else target)
        _check_names(table, (*categorical, *ignore))
        labels = _read_labels(name, table.column(name))
        table = table.drop_columns([name])
        frame = to_frame(table, categorical, ignore)
        if not frame.shape[1]:
            raise TableError(f"it holds no usable column besides the target {name!r}.")
        chosen = _choose_positive(name, labels, positive)
        encoder = TableEncoder(missing=missing, max_levels=max_levels).fit(frame)
    except ValueError as error:
        raise TableError(f"{source}: {error}") from error
    return _bunch(frame, labels, name, chosen, original, encoder)


def iter_table(
    path: str | Path, encoder: TableEncoder, *, block_bytes: int = 1 << 24
) -> Iterator[Any]:
    """Read a file in pieces for prediction: the raw columns that a fitted encoder takes.

    Parameters
    ----------
    path : str or Path
        A file as for `read_table`; the class need not be in it. CSV files are read piece by
        piece, other formats at once.
    encoder : TableEncoder
        Fitted: says which columns to read, and which of them are numbers.
    block_bytes : int, default=16 MB
        Bytes of the file to a piece.

    Yields
    ------
    DataFrame
        Some rows, ready for ``encoder.transform`` or a pipeline that starts with it.
    """
    path = _existing(path)
    known = list(encoder.feature_names_in_)
    text = [name for name, kind in zip(known, encoder.kinds_, strict=True) if kind != "number"]
    try:
        if {".parquet", ".pq", ".arff", ".dat"} & set(path.suffixes):
            table, _ = read_arrow(path)
            yield _raw_columns(table, known, text)
            return
        for batch in scan_csv(path, find_dialect(path, target=known[0]), block_bytes):
            yield _raw_columns(need("pyarrow").Table.from_batches([batch]), known, text)
    except TableError as error:
        raise TableError(f"{path}: {error}") from error


def _raw_columns(table: Any, known: list[str], text: list[str]) -> Any:
    absent = [name for name in known if name not in table.column_names]
    if absent:
        raise TableError(
            f"it lacks {len(absent)} of the columns that the model was fitted on: "
            f"{', '.join(map(repr, absent[:10]))}. It has: "
            f"{', '.join(map(repr, table.column_names[:10]))}."
        )
    series = {}
    for name in known:
        values = convert_column(name, table.column(name), as_category=name in text)
        series[name] = np.full(table.num_rows, np.nan) if values is None else values
    return need("pandas").DataFrame(series, copy=False)


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    return path


def _find_target(names: list[str], target: str | int | None) -> str:
    columns = f"The columns are {', '.join(map(repr, names[:20]))}{'…' if len(names) > 20 else ''}"
    if target is None:
        raise TableError(f"which column holds the class? Pass its name as target. {columns}.")
    if isinstance(target, int | np.integer):
        if -len(names) <= target < len(names):
            return names[target]
        raise TableError(f"target={target} is no position among {len(names)} columns.")
    if target in names:
        return target
    near = difflib.get_close_matches(str(target), names, n=3, cutoff=0.6)
    hint = f"Did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise TableError(f"there is no column {target!r} for the target. {hint}{columns}.")


def _check_names(table: Any, wanted: Collection[str]) -> None:
    if not table.num_rows:
        raise TableError("it holds no rows of data.")
    for name in wanted:
        if name not in table.column_names:
            near = difflib.get_close_matches(str(name), table.column_names, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else ""
            raise TableError(f"there is no column {name!r}.{hint}")


def _read_labels(name: str, column: Any) -> NDArray:
    """The class of each row; at least two, and none missing."""
    values = convert_column(name, column, as_category=not _is_numeric_type(column))
    if values is None:
        raise TableError(f"the target column {name!r} is empty.")
    series = need("pandas").Series(values)
    if series.isna().any():
        row = int(np.argmax(series.isna().to_numpy())) + 1
        raise TableError(
            f"the target column {name!r} is empty in {int(series.isna().sum())} rows, the first "
            f"of them data row {row}: remove them."
        )
    if hasattr(values, "categories"):
        labels = _plain_labels(np.asarray(values.categories, dtype=str))[values.codes]
    else:
        labels = np.asarray(values)
    if type_of_target(labels) == "continuous":
        raise TableError(
            f"the target column {name!r} holds fractions such as {labels[0]:g}, not classes. "
            "Name another column, or turn it into classes first."
        )
    if (labels == labels[0]).all():
        raise TableError(
            f"the target column {name!r} holds a single class, {str(labels[0])!r}, in all "
            f"{len(labels)} rows; at least two are needed."
        )
    return labels


def _is_numeric_type(column: Any) -> bool:
    types = need("pyarrow.types")
    kind = column.type
    return types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)


def _plain_labels(levels: NDArray) -> NDArray:
    """Text, or integers where every level is one."""
    try:
        return levels.astype(np.int64)
    except ValueError:
        return levels


def _choose_positive(name: str, labels: NDArray, positive: Any) -> tuple:
    """The positive labels as they stand in the file; by default the rarest class."""
    classes, counts = np.unique(labels, return_counts=True)
    if positive is None:
        return (classes[np.argmin(counts)].item(),)
    wanted = positive if isinstance(positive, list | tuple | set) else [positive]
    by_text = {str(label): label for label in classes.tolist()}
    unknown = [label for label in wanted if str(label) not in by_text]
    if unknown or len({*map(str, wanted)}) >= len(classes):
        what = f"holds no {unknown[0]!r}" if unknown else "would hold positives only"
        held = ", ".join(f"{label} ({count})" for label, count in zip(classes, counts, strict=True))
        raise TableError(f"the target column {name!r} {what}; its classes: {held[:300]}.")
    return tuple(by_text[str(label)] for label in wanted)


def _bunch(
    frame: Any, labels: NDArray, name: str, chosen: tuple, original: bool, encoder: TableEncoder
) -> Bunch:
    classes = np.unique(labels).tolist()
    rest = [label for label in classes if label not in chosen]
    names = [", ".join(map(str, part)) for part in (rest, chosen)]
    return Bunch(
        data=frame,
        target=labels if original else np.isin(labels, chosen).astype(np.int64),
        encoder=encoder,
        feature_names=list(frame.columns),
        target_name=name,
        target_names=classes if original else names,
        positive=chosen,
    )
