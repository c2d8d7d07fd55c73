"""Files of a model: the model itself, loaded without running code from it, and its predictions."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterator
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import numpy as np

import raremetric
from raremetric.extras import import_optional
from raremetric.files import atomic_write
from raremetric.table.model import Predictions, TableModel

FORMAT = 2  # increase it when files of earlier versions can no longer be loaded
CARD = "raremetric.json"
BLOCK_BYTES = 1 << 22  # Arrow reads up to 32 blocks ahead


class ModelFileError(ValueError):
    """A file is not a model, has an unsupported format, or cannot be trusted."""


def save_model(model: TableModel, path: str | Path) -> None:
    """Write a model to a file; if that fails, an existing file is left unchanged.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        The file; by convention, its name ends in ``.skops``.
    """
    buffer = BytesIO(import_optional("skops.io").dumps(model, compression=ZIP_DEFLATED))
    with ZipFile(buffer, "a") as archive:
        archive.writestr(CARD, json.dumps({"format": FORMAT, "versions": model.versions}))
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def load_model(path: str | Path) -> TableModel:
    """Load a model, provided that the file contains only types of raremetric and scikit-learn.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TableModel

    Raises
    ------
    ModelFileError
        The file is not a model, has another format, or contains a type that is not trusted. No
        code from the file has been run.

    Warns
    -----
    UserWarning
        The model was saved with another version of raremetric or scikit-learn.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    data = path.read_bytes()
    _check_card(_read_card(path, data), path)
    skops = import_optional("skops.io")
    try:
        types = skops.get_untrusted_types(data=data)
        untrusted = [name for name in types if not _is_ours(name)]
    except Exception as error:  # skops raises various errors on a damaged file
        raise ModelFileError(f"{path} is damaged and cannot be read as a model: {error}") from error
    if untrusted:
        raise ModelFileError(
            f"{path} contains types that no model of raremetric needs: {', '.join(untrusted)}. It "
            "was not loaded, and nothing in it was run. Do not use it unless you know its origin."
        )
    try:
        model = skops.loads(data, trusted=types)
    except Exception as error:
        raise ModelFileError(f"{path} is damaged and cannot be read as a model: {error}") from error
    if not isinstance(model, TableModel):
        raise ModelFileError(f"{path} contains a {type(model).__name__}, not a model of a table.")
    _check_prediction(model, path)
    return model


def _check_prediction(model: TableModel, path: Path) -> None:
    """Classify a training example, to detect parts that do not fit together."""
    try:
        model.decide(model.X[:1])
    except Exception as error:
        raise ModelFileError(
            f"{path} was read, but it cannot classify its first training example. It is damaged, "
            f"or it was saved with an incompatible version. Fit the model again. ({error})"
        ) from error


def _read_card(path: Path, data: bytes) -> dict[str, Any]:
    try:
        with ZipFile(BytesIO(data)) as archive:
            return json.loads(archive.read(CARD))
    except (BadZipFile, KeyError, ValueError) as error:
        raise ModelFileError(
            f"{path} is not a model saved by raremetric. Create one with: raremetric fit FILE "
            "--target COLUMN -o model.skops"
        ) from error


def _check_card(card: dict[str, Any], path: Path) -> None:
    saved = card.get("versions", {})
    theirs, ours = saved.get("raremetric", "unknown"), raremetric.__version__
    if card.get("format") != FORMAT:
        newer = isinstance(card.get("format"), int) and card["format"] > FORMAT
        raise ModelFileError(
            f"{path} was saved with {'a newer' if newer else 'an older'} raremetric ({theirs}), in "
            f"format {card.get('format')}; this version ({ours}) reads format {FORMAT}. Fit the "
            "model again, or install that version."
        )
    changed = [
        f"{name} {version} (installed: {now})"
        for name, version, now in (
            ("raremetric", theirs, ours),
            ("scikit-learn", saved.get("scikit-learn"), _installed("sklearn")),
        )
        if version != now
    ]
    if changed:
        warnings.warn(
            f"{path} was saved with {' and '.join(changed)}: its predictions may be different. Fit "
            "the model again to be sure.",
            UserWarning,
            stacklevel=3,
        )


def _installed(module: str) -> str:
    return import_module(module).__version__


def _is_ours(name: str) -> bool:
    """Whether a type is a class of this package, whose import runs only code of this package.

    skops itself trusts scikit-learn's public estimators and NumPy's arrays; no others are needed.
    """
    module, _, attribute = name.rpartition(".")
    if not module.startswith("raremetric.") or module.startswith("raremetric.cli"):
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module


def prediction_columns(model: TableModel, found: Predictions) -> dict[str, Any]:
    """The columns of the output, by name.

    These are ``row``, the names of the rows if there are any, ``class``, ``probability`` of the
    positive class, and ``neighbor_1``, ``distance_1``, … for the nearest training examples. If the
    column with the names of the rows has one of these names, ours starts with ``raremetric_``.
    """
    columns: dict[str, Any] = {"row": found.rows}
    columns["class"] = np.array(model.class_names)[found.positive.astype(np.int64)]
    columns["probability"] = found.probability
    for rank in range(found.neighbors.shape[1]):
        columns[f"neighbor_{rank + 1}"] = model.ids[found.neighbors[:, rank]]
        columns[f"distance_{rank + 1}"] = found.distances[:, rank]
    if found.names is None:
        return columns
    id_name = str(model.id_name)
    ours = [(f"raremetric_{key}" if key == id_name else key, columns[key]) for key in columns]
    return dict([ours[0], (id_name, found.names), *ours[1:]])


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
