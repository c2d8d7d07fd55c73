"""The predictions for the rows of a table: pieces of rows in, pieces of the output out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyarrow import csv as arrow_csv

from raremetric.files import atomic_write, check_output
from raremetric.table.reading.files import is_parquet
from raremetric.validation import check_integer

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

BLOCK_BYTES = 1 << 22  # Arrow reads up to 32 blocks ahead

# A spreadsheet runs a cell that begins with one of these characters. Text that begins with
# apostrophes and one of them gets another apostrophe, so that it can be read back.
_RUN = r"[=+\-@\t\r\n]"


class Predictions(NamedTuple):
    """Predictions for some rows, with the nearest training examples."""

    rows: NDArray[np.int64]  # (n,), numbers of the rows in the file, starting at 1
    names: list[str] | None  # names of the rows, if the model has an id_name
    positive: NDArray[np.bool_]  # (n,)
    probability: NDArray[np.float64]  # (n,), of the positive class
    unlike: NDArray  # (n,), names of the columns that are unlike the training data
    neighbors: NDArray[np.int64]  # (n, k), rows of the training data, nearest first
    distances: NDArray[np.float64]  # (n, k); k is 0 if the model has no neighbors
    doubts: dict[str, int]  # see `count_doubts`


@dataclass
class PredictionCounts:
    """Numbers of rows, counted while predictions are written."""

    rows: int = 0
    positive: int = 0
    unlike: int = 0  # rows that are unlike the training data
    doubts: Counter[str] = field(default_factory=Counter)  # see `count_doubts`
    empty_files: list[str] = field(default_factory=list)  # of many files, those without rows

    def sentences(self) -> list[str]:
        """What is unlike the training data, one for each column and reason; frequent ones first."""
        return [f"{count} of {self.rows} {text}" for text, count in self.doubts.most_common()]


def output_table(model: TableModel, found: Predictions) -> pa.Table:
    """The output for some rows; the types of the columns do not depend on the rows.

    The columns are ``row``, the names of the rows if there are any, ``class``, ``probability`` of
    the positive class, ``unlike_training``, and ``neighbor_1``, ``class_1``, ``distance_1``, … for
    the nearest training examples. If the column with the names of the rows has one of these names,
    ours starts with ``raremetric_``.
    """
    columns: dict[str, Any] = {
        "class": model.classes_[found.positive.astype(np.int64)],
        "probability": found.probability,
        "unlike_training": found.unlike,
    }
    for rank, rows in enumerate(found.neighbors.T):
        columns[f"neighbor_{rank + 1}"] = model.ids[rows]
        columns[f"class_{rank + 1}"] = model.classes_[model.y[rows]]
        columns[f"distance_{rank + 1}"] = found.distances[:, rank]
    named = {
        _output_name(model, "row"): found.rows,
        **({} if found.names is None else {str(model.id_name): found.names}),
        **{_output_name(model, name): values for name, values in columns.items()},
    }
    arrays = {}
    for name, values in named.items():
        is_text = isinstance(values, list) or values.dtype == object
        arrays[name] = pa.array(values, type=pa.string() if is_text else None)
    return pa.table(arrays)


def _output_name(model: TableModel, name: str) -> str:
    """The name of an output column, which is different from that of the column with the ids."""
    return f"raremetric_{name}" if name == model.id_name else name


def output_tables(
    model: TableModel,
    source: Any,
    *,
    threshold: float | None = None,
    top: int | None = None,
    block_bytes: int = BLOCK_BYTES,
    counts: PredictionCounts | None = None,
    on_result: Callable[[Predictions], None] = lambda found: None,
) -> Iterator[pa.Table]:
    """The output as a sequence of Arrow tables, at least one, with the same columns.

    See `TableModel.predict_file` and `TableModel.predict_table`. The ``counts`` are updated, and
    ``on_result`` is called with the predictions for each piece. With ``top``, there is one table.
    """
    counts = PredictionCounts() if counts is None else counts

    def tables() -> Iterator[pa.Table]:
        for found in model.predict_file(source, block_bytes=block_bytes, threshold=threshold):
            counts.rows += len(found.rows)
            counts.unlike += int((found.unlike != "").sum())
            counts.doubts.update(found.doubts)
            on_result(found)
            yield output_table(model, found)

    kind = _output_name(model, "class")
    for table in tables() if top is None else [_with_top(model, [*tables()], top, threshold)]:
        counts.positive += int(pc.equal(table[kind], model.class_names[1]).to_numpy().sum())
        yield table


def _with_top(
    model: TableModel, tables: list[pa.Table], top: int, threshold: float | None
) -> pa.Table:
    """All rows, of which the most likely are positive, from a threshold on if there is one."""
    check_integer(top, "top", low=0)
    whole, kind = pa.concat_tables(tables), _output_name(model, "class")
    p = whole[_output_name(model, "probability")].to_numpy()
    order = np.argsort(-p, kind="stable")
    positive = np.zeros(len(order), dtype=np.int64)
    positive[order[:top]] = 1 if threshold is None else p[order[:top]] >= threshold
    classes = pa.array(model.classes_[positive], type=pa.string())
    return whole.set_column(whole.column_names.index(kind), kind, classes)


def count_pieces(path: str | Path) -> int | None:
    """Number of pieces in which a file is read, about; None if it is not known."""
    path = Path(path)
    if path.suffix == ".gz" or not path.is_file():
        return None
    return -(-path.stat().st_size // BLOCK_BYTES)


def write_predictions(
    model: TableModel,
    source: Any,
    out: str | Path | BinaryIO,
    *,
    spreadsheet_safe: bool = False,
    **options: Any,
) -> PredictionCounts:
    """Classify the rows of a file and write the output; neither needs to fit in memory.

    It is Parquet if the name of a file ends so, else CSV. A file is replaced only once the output
    is complete. ``spreadsheet_safe`` adds an apostrophe to text that a spreadsheet would run as a
    formula: text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break. The other
    ``options`` are those of `output_tables`.
    """
    counts = PredictionCounts()
    tables = output_tables(model, source, counts=counts, **options)
    if isinstance(out, str | Path):
        as_parquet = is_parquet(Path(out))
        opened: AbstractContextManager[BinaryIO] = atomic_write(out)
        check_output(out, [source] if isinstance(source, str | Path) else [])
    else:
        as_parquet, opened = False, nullcontext(out)
    if spreadsheet_safe and not as_parquet:
        tables = map(guarded_table, tables)
    open_writer = pq.ParquetWriter if as_parquet else _csv_writer
    with opened as stream:
        first = next(tables)
        with open_writer(stream, first.schema) as writer:
            for table in chain([first], tables):
                writer.write_table(table)
    return counts


def _csv_writer(stream: Any, schema: pa.Schema) -> arrow_csv.CSVWriter:
    options = arrow_csv.WriteOptions(quoting_style="needed")
    return arrow_csv.CSVWriter(stream, schema, write_options=options)


def guard(text: str) -> str:
    """Add an apostrophe to a text that a spreadsheet would run."""
    return re.sub(rf"^('*{_RUN})", r"'\1", text)


def unguard(text: str) -> str:
    """Remove the apostrophe that `guard` added."""
    return text[1:] if re.match(rf"'+{_RUN}", text) else text


def guarded_table(table: pa.Table) -> pa.Table:
    """An Arrow table whose text and names of columns are guarded."""
    for index, each in enumerate(table.schema):
        column = table.column(index)
        if each.type == pa.string():
            column = pc.replace_substring_regex(column, pattern=rf"^('*{_RUN})", replacement=r"'\1")
        table = table.set_column(index, guard(each.name), column)
    return table
