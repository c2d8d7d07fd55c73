"""Predictions of a file, written as they are made."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from raremetric.extras import import_optional
from raremetric.files import atomic_write
from raremetric.table.model import Predictions, TableModel

BLOCK_BYTES = 1 << 22  # Arrow reads up to 32 of them ahead


def prediction_columns(model: TableModel, found: Predictions) -> dict[str, Any]:
    """The columns of the output, by name.

    ``row``, the names of the rows if they have any, ``class``, ``probability`` of the positive
    class, then ``neighbor_1``, ``distance_1``, … for the neighbors that decide.
    """
    columns: dict[str, Any] = {"row": found.rows}
    if found.names is not None:
        columns[str(model.id_name)] = found.names
    columns["class"] = np.array(model.class_names)[found.positive.astype(np.int64)]
    columns["probability"] = found.probability
    for place in range(found.neighbors.shape[1]):
        columns[f"neighbor_{place + 1}"] = model.ids[found.neighbors[:, place]]
        columns[f"distance_{place + 1}"] = found.distances[:, place]
    return columns


def prediction_rows(model: TableModel, found: Predictions) -> Iterator[dict[str, Any]]:
    """The same, row by row, in plain Python types."""
    columns = {
        name: np.asarray(values).tolist()
        for name, values in prediction_columns(model, found).items()
    }
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def write_predictions(
    model: TableModel,
    path: str | Path,
    out: str | Path | BinaryIO,
    tell: Callable[[Predictions], None] = lambda found: None,
) -> dict[str, int]:
    """Classify the rows of a file and write a CSV file; neither has to fit in memory.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        The rows, as for `TableModel.predict_file`.
    out : str, Path or binary stream
        A file is replaced at the end, when all is written.
    tell : callable, default: nothing
        Called with each piece.

    Returns
    -------
    dict
        Number of ``rows`` and of ``positive`` ones.
    """
    if isinstance(out, str | Path):
        with atomic_write(out) as stream:
            return write_predictions(model, path, stream, tell)
    arrow, arrow_csv = import_optional("pyarrow"), import_optional("pyarrow.csv")
    counts, writer = {"rows": 0, "positive": 0}, None
    for found in model.predict_file(path, block_bytes=BLOCK_BYTES):
        table = arrow.table(prediction_columns(model, found))
        if writer is None:
            options = arrow_csv.WriteOptions(quoting_style="needed")
            writer = arrow_csv.CSVWriter(out, table.schema, write_options=options)
        writer.write_table(table)
        counts["rows"] += len(found.rows)
        counts["positive"] += int(found.positive.sum())
        tell(found)
    if writer is not None:
        writer.close()
    return counts
