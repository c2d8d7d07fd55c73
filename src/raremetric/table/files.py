"""Save a model in a file, and load it without running code from the file."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import raremetric
from raremetric.contenders.registry import load_class
from raremetric.encoding.columns import date_points, is_date_column
from raremetric.extras import import_optional, installed_versions
from raremetric.files import atomic_write, brief, existing_file
from raremetric.table.contents import (
    CARD,
    check_fields,
    is_too_large,
    read_contents,
    unpacked_size,
)
from raremetric.table.model import TableModel
from raremetric.table.reading.dates import as_points

skops_io = import_optional("skops.io")  # one sentence if it is not installed

FORMAT = 12  # increase it when files of earlier versions can no longer be loaded


class ModelFileError(ValueError):
    """A file is not a model, has an unsupported format, or cannot be trusted."""


def save_model(model: TableModel, path: str | Path) -> None:
    """Write a model to a file; if that fails, an existing file is left unchanged.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        The file; by convention, its name ends in ``.skops``.

    Raises
    ------
    ModelFileError
        The model contains a class that the methods of raremetric do not need, so that it could not
        be loaded safely.
    """
    if not isinstance(model, TableModel):
        raise TypeError(
            "save_model takes a model of fit_table, fit_collection or load_model; got "
            f"{type(model).__name__}. Save a RareClassifier and other estimators with joblib or "
            "skops."
        )
    data = skops_io.dumps(packed(model), compression=ZIP_DEFLATED)
    refuse_unsafe_types(data, model.method)
    buffer = BytesIO(data)
    with ZipFile(buffer, "a") as archive:
        archive.writestr(CARD, json.dumps({"format": FORMAT, "versions": model.versions}))
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def packed(model: TableModel) -> TableModel:
    """The same model, whose training rows and their names are plain arrays."""
    ids: Any = PackedTexts.pack(model.ids) if model.ids.dtype == object else model.ids
    return replace(model, ids=ids, data=pack_rows(model.data))


def _unpacked(model: TableModel) -> TableModel:
    """The model that was packed; other attributes than its fields are left behind."""
    ids = model.ids.unpack() if isinstance(model.ids, PackedTexts) else model.ids
    data = unpack_rows(model.data) if isinstance(model.data, dict) else model.data
    return replace(model, ids=ids, data=data)


def refuse_unsafe_types(data: bytes, method: str) -> None:
    """Raise an error if a file with this content could not be loaded later."""
    if unsafe := read_contents(data).untrusted:
        raise ModelFileError(
            f"A model with {', '.join(unsafe)} cannot be saved: a model file contains only the "
            "classes that the methods of raremetric need, so that a stranger's file can run no "
            f"others. Use the model in Python, or fit another method than {method!r}."
        )


def check_method(method: str) -> None:
    """Raise an error if a class of the user could not be saved; other methods always can."""
    if ":" in method:
        refuse_unsafe_types(skops_io.dumps(load_class(method)()), method)


def load_model(path: str | Path) -> TableModel:
    """Load a model, provided that the file contains only types that raremetric's models need.

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
    path = existing_file(path)
    data = path.read_bytes()
    _check_card(_read_card(path, data), path)
    types = _trusted_types(path, data)
    try:
        model = skops_io.loads(data, trusted=types)
        if isinstance(model, TableModel):
            model = _unpacked(model)
    except Exception as error:  # skops raises various errors on a damaged file
        raise _damaged(path, error) from error
    if not isinstance(model, TableModel):
        raise ModelFileError(f"{path} contains a {type(model).__name__}, not a model of a table.")
    try:  # classify a training example, to detect parts that do not fit together
        check_fields(model)
        model.classify(model.data.iloc[:1])
        model.ids[model.examples()]
    except Exception as error:
        raise ModelFileError(
            f"{path} was read, but it cannot classify its first training example. It is damaged, "
            f"or it was saved with an incompatible version. Fit the model again. ({brief(error)})"
        ) from error
    return model


def _read_card(path: Path, data: bytes) -> dict[str, Any]:
    """The card of a file, after a check of its size."""
    no_model = ModelFileError(
        f"{path} is not a model saved by raremetric. Create one with: raremetric fit FILE "
        "--target COLUMN -o model.skops"
    )
    try:
        _check_size(path, unpacked_size(data), len(data))
        with ZipFile(BytesIO(data)) as archive:
            card = json.loads(archive.read(CARD))
    except ModelFileError:
        raise
    except Exception as error:  # zipfile and json raise various errors on damaged files
        raise no_model from error
    if not isinstance(card, dict) or not isinstance(card.get("versions", {}), dict):
        raise no_model
    return card


def _check_card(card: dict[str, Any], path: Path) -> None:
    """Refuse another format, and warn of other versions."""
    saved, ours = card.get("versions", {}), raremetric.__version__
    if card.get("format") != FORMAT:
        newer = isinstance(card.get("format"), int) and card["format"] > FORMAT
        raise ModelFileError(
            f"{path} was saved with {'a newer' if newer else 'an older'} raremetric "
            f"({saved.get('raremetric', 'unknown')}), in format {card.get('format')}; this version "
            f"({ours}) reads format {FORMAT}. Fit the model again, or install that version."
        )
    installed = {"raremetric": ours, **installed_versions()}
    changed = [
        f"{name} {saved.get(name, 'unknown')} (installed: {installed[name]})"
        for name in ("raremetric", "scikit-learn")
        if saved.get(name) != installed[name]
    ]
    if changed:
        warnings.warn(
            f"{path} was saved with {' and '.join(changed)}: its predictions may be different. Fit "
            "the model again to be sure.",
            UserWarning,
            stacklevel=3,
        )


def _trusted_types(path: Path, data: bytes) -> list[str]:
    """The types in a file, if it has no others than models need, and is not too large."""
    try:
        contents = read_contents(data)
    except Exception as error:  # of a file that somebody else may have made
        raise _damaged(path, error) from error
    if contents.untrusted:
        raise ModelFileError(
            f"{path} contains types that no model of raremetric needs: "
            f"{', '.join(contents.untrusted)}. It was not loaded, and nothing in it was run. Do "
            "not use it unless you know its origin."
        )
    _check_size(path, contents.n_bytes, len(data))
    return contents.types


def _check_size(path: Path, n_bytes: int, n_packed: int) -> None:
    if is_too_large(n_bytes, n_packed):
        raise ModelFileError(
            f"{path} would unpack to {n_bytes / 2**30:.1f} GB, which is too much for a model file "
            f"of {n_packed / 2**20:.1f} MB. It was not loaded."
        )


def _damaged(path: Path, error: Exception) -> ModelFileError:
    return ModelFileError(f"{path} is damaged and cannot be read as a model: {brief(error)}")


# Training rows and their names as plain arrays, which a model file can hold


class PackedTexts(NamedTuple):
    """The texts of an array of objects, which take no more space than the texts themselves."""

    content: NDArray[np.uint8]  # all texts in UTF-8, one after the other
    ends: NDArray[np.int64]  # where each of them ends

    @classmethod
    def pack(cls, texts: NDArray) -> PackedTexts:
        """Copy the texts of an array."""
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return cls(content.copy(), np.cumsum([*map(len, encoded)], dtype=np.int64))

    def unpack(self) -> NDArray:
        """The texts; an error if the arrays do not fit together."""
        if self.content.dtype != np.uint8 or np.diff(self.ends, prepend=0).min(initial=0) < 0:
            raise ValueError("its texts do not fit together.")
        raw, bounds = self.content.tobytes(), pairwise([0, *self.ends.tolist()])
        texts = [raw[a:b].decode("utf-8", "surrogatepass") for a, b in bounds]
        return np.array(texts, dtype=object)


class PackedColumn(NamedTuple):
    """A column of numbers, categories or dates."""

    # Numbers; of categories the position of the level, -1 where a value is missing; of dates
    # microseconds since 1970.
    values: NDArray
    levels: PackedTexts | None = None  # of categories
    in_utc: bool | None = None  # of dates: whether they had a time zone

    @classmethod
    def pack(cls, column: Any) -> PackedColumn:
        """Copy a column as `read_table` reads it."""
        if is_date_column(column):
            return cls(date_points(column).astype(np.int64), in_utc=column.dt.tz is not None)
        if isinstance(column.dtype, pd.CategoricalDtype):
            used = column.cat.remove_unused_categories().cat
            levels = np.array([str(level) for level in used.categories], dtype=object)
            return cls(used.codes.to_numpy(), PackedTexts.pack(levels))
        return cls(column.to_numpy())

    def unpack(self) -> Any:
        """The column; an error if the parts do not fit together."""
        kinds = "iuf" if self.levels is None and self.in_utc is None else "i"
        if self.values.dtype.kind not in kinds:
            raise ValueError("its training rows do not fit together.")
        if self.levels is not None:
            return pd.Categorical.from_codes(self.values, self.levels.unpack().tolist())
        if self.in_utc is not None:
            return as_points(self.values.astype("datetime64[us]"), self.in_utc)
        return self.values


def pack_rows(frame: Any) -> dict[str, PackedColumn]:
    """The columns of a DataFrame by name."""
    return {str(name): PackedColumn.pack(frame[name]) for name in frame}


def unpack_rows(columns: dict[str, PackedColumn]) -> Any:
    """A DataFrame of packed columns."""
    return pd.DataFrame({name: each.unpack() for name, each in columns.items()}, copy=False)
