"""Write the predictions for a file to a CSV file, piece by piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from raremetric.extras import import_optional
from raremetric.files import atomic_write
from raremetric.table.model import Predictions, TableModel

BLOCK_BYTES = 1 << 22  # Arrow reads up to 32 blocks ahead


def prediction_columns(model: TableModel, found: Predictions) -> dict[str, Any]:
    """The columns of the output, by name.

    These are ``row``, the names of the rows if there are any, ``class``, ``probability`` of the
    positive class, and ``neighbor_1``, ``distance_1``, … for the nearest training examples.
    """
    columns: dict[str, Any] = {"row": found.rows}
    if found.names is not None:
        columns[str(model.id_name)] = found.names
    columns["class"] = np.array(model.class_names)[found.positive.astype(np.int64)]
    columns["probability"] = found.probability
    for rank in range(found.neighbors.shape[1]):
        columns[f"neighbor_{rank + 1}"] = model.ids[found.neighbors[:, rank]]
        columns[f"distance_{rank + 1}"] = found.distances[:, rank]
    return columns


def prediction_rows(model: TableModel, found: Predictions) -> Iterator[dict[str, Any]]:
    """The output row by row, as plain Python types."""
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
    on_result: Callable[[Predictions], None] = lambda found: None,
) -> dict[str, int]:
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

    Returns
    -------
    dict
        Number of ``rows`` and number of ``positive`` predictions.
    """
    if isinstance(out, str | Path):
        with atomic_write(out) as stream:
            return write_predictions(model, path, stream, on_result)
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
        on_result(found)
    if writer is not None:
        writer.close()
    return counts
