"""The predictions for the rows of a table, as the columns of a CSV file or a DataFrame."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from raremetric.files import atomic_write, check_output
from raremetric.table.doubts import doubt_sentences
from raremetric.table.spreadsheets import guarded_table
from raremetric.validation import check_integer

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

BLOCK_BYTES = 1 << 22  # Arrow reads up to 32 blocks ahead


class Predictions(NamedTuple):
    """Predictions for some rows, with the nearest training examples."""

    rows: NDArray[np.int64]  # (n,), numbers of the rows in the file, starting at 1
    names: list[str] | None  # names of the rows, if the model has an id_name
    positive: NDArray[np.bool_]  # (n,)
    probability: NDArray[np.float64]  # (n,), of the positive class
    unlike: NDArray  # (n,), names of the columns that are unlike the training data
    neighbors: NDArray[np.int64]  # (n, k), rows of the training data, nearest first
    distances: NDArray[np.float64]  # (n, k); k is 0 if the model has no neighbors
    doubts: dict[tuple[str, str], int]  # number of rows by column and by how they are unlike


@dataclass
class PredictionCounts:
    """Numbers of rows, counted while predictions are written."""

    rows: int = 0
    positive: int = 0
    unlike: int = 0  # rows that are unlike the training data
    doubts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, found: Predictions) -> None:
        """Count some rows."""
        self.rows += len(found.rows)
        self.unlike += int((found.unlike != "").sum())
        self.doubts.update(found.doubts)

    def sentences(self) -> list[str]:
        """What is unlike the training data, one sentence for each column and reason."""
        return doubt_sentences(self.doubts, self.rows)


def prediction_columns(model: TableModel, found: Predictions) -> dict[str, Any]:
    """The columns of the output, by name.

    These are ``row``, the names of the rows if there are any, ``class``, ``probability`` of the
    positive class, ``unlike_training``, and ``neighbor_1``, ``distance_1``, … for the nearest
    training examples. If the column with the names of the rows has one of these names, ours starts
    with ``raremetric_``.
    """
    columns: dict[str, Any] = {
        "row": found.rows,
        "class": np.array(model.class_names, dtype=object)[found.positive.astype(np.int64)],
        "probability": found.probability,
        "unlike_training": found.unlike,
    }
    for rank in range(found.neighbors.shape[1]):
        columns[f"neighbor_{rank + 1}"] = model.ids[found.neighbors[:, rank]]
        columns[f"distance_{rank + 1}"] = found.distances[:, rank]
    if found.names is None:
        return columns
    columns = {output_name(model, name): values for name, values in columns.items()}
    first = output_name(model, "row")
    return {first: columns.pop(first), str(model.id_name): found.names, **columns}


def output_name(model: TableModel, name: str) -> str:
    """The name of an output column, which is different from that of the column with the ids."""
    return f"raremetric_{name}" if name == model.id_name else name


def output_tables(
    model: TableModel,
    source: Any,
    *,
    threshold: float | None = None,
    top: int | None = None,
    counts: PredictionCounts | None = None,
    on_result: Callable[[Predictions], None] = lambda found: None,
) -> Iterator[Any]:
    """The output as a sequence of Arrow tables with the columns of `prediction_columns`.

    Parameters
    ----------
    model : TableModel
    source : str, Path or table
        The rows to classify: see `TableModel.predict_file`.
    threshold : float or None, default=None
        Predict the positive class from this probability on; None for the model's threshold.
    top : int or None, default=None
        Predict the positive class for this number of rows, those with the highest probability.
        Of equal probabilities, the first rows are taken.
    counts : PredictionCounts or None, default=None
        Is updated.
    on_result : callable
        Called with the predictions for each piece.
    """
    counts = PredictionCounts() if counts is None else counts

    def tables() -> Iterator[Any]:
        for found in model.predict_file(source, block_bytes=BLOCK_BYTES, threshold=threshold):
            counts.add(found)
            on_result(found)
            yield _arrow_table(model, found)

    chosen = tables() if top is None else _with_top(model, tables(), top)
    kind = output_name(model, "class")
    for table in chosen:
        positive = pc.equal(table[kind], model.class_names[1])
        counts.positive += int(positive.to_numpy().sum())
        yield table


def _arrow_table(model: TableModel, found: Predictions) -> Any:
    """A table with the same types for all pieces, also if a piece has no rows."""
    columns = prediction_columns(model, found)
    arrays = {}
    for name, values in columns.items():
        is_text = isinstance(values, list) or values.dtype == object
        arrays[name] = pa.array(values, type=pa.string() if is_text else None)
    return pa.table(arrays)


def _with_top(model: TableModel, tables: Iterator[Any], top: int) -> Iterator[Any]:
    """Predict the positive class for the most likely rows.

    All other columns wait in a temporary file, so that only the probabilities are in memory.
    """
    check_integer(top, "top", low=0)
    kind, likely = output_name(model, "class"), output_name(model, "probability")
    with tempfile.TemporaryFile() as stream:
        probabilities, writer = [], None
        for table in tables:
            writer = pa.ipc.new_stream(stream, table.schema) if writer is None else writer
            writer.write_table(table)
            probabilities.append(table[likely].to_numpy())
        if writer is None:
            return
        writer.write_batch(pa.RecordBatch.from_pylist([], schema=table.schema))
        writer.close()
        order = np.argsort(-np.concatenate(probabilities), kind="stable")
        positive = np.zeros(len(order), dtype=np.int64)
        positive[order[:top]] = 1
        stream.seek(0)
        start, names = 0, np.array(model.class_names, dtype=object)
        for batch in pa.ipc.open_stream(stream):
            table = pa.Table.from_batches([batch])
            classes = names[positive[start : start + len(table)]]
            start += len(table)
            index = table.column_names.index(kind)
            yield table.set_column(index, kind, pa.array(classes, type=pa.string()))


def count_pieces(path: str | Path) -> int | None:
    """Number of pieces in which a file is read, about; None if it is not known."""
    path = Path(path)
    if path.suffix == ".gz" or not path.is_file():
        return None
    return -(-path.stat().st_size // BLOCK_BYTES)


def write_predictions(
    model: TableModel,
    path: str | Path,
    out: str | Path | BinaryIO,
    on_result: Callable[[Predictions], None] = lambda found: None,
    *,
    threshold: float | None = None,
    top: int | None = None,
    spreadsheet_safe: bool = False,
) -> PredictionCounts:
    """Classify the rows of a file and write a CSV file; neither needs to fit in memory.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        The rows to classify, as for `TableModel.predict_file`.
    out : str, Path or binary stream
        Where to write. A file is replaced only once the output is complete.
    on_result : callable
        Called with the predictions for each piece.
    threshold, top
        See `TableModel.predict_table`.
    spreadsheet_safe : bool, default=False
        Add an apostrophe to text that a spreadsheet would run as a formula: text that begins with
        ``=``, ``+``, ``-``, ``@``, a tab or a line break. Otherwise, ids are the same as in the
        file.

    Returns
    -------
    PredictionCounts
    """
    if isinstance(out, str | Path):
        check_output(out, [path])
        settings: Any = {"threshold": threshold, "top": top, "spreadsheet_safe": spreadsheet_safe}
        with atomic_write(out) as stream:
            return write_predictions(model, path, stream, on_result, **settings)
    counts, writer = PredictionCounts(), None
    for table in output_tables(
        model, path, threshold=threshold, top=top, counts=counts, on_result=on_result
    ):
        if spreadsheet_safe:
            table = guarded_table(table)
        if writer is None:
            options = arrow_csv.WriteOptions(quoting_style="needed")
            writer = arrow_csv.CSVWriter(out, table.schema, write_options=options)
        writer.write_table(table)
    if writer is not None:
        writer.close()
    return counts
