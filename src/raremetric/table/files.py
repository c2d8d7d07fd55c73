"""Save a model in a file, and load it without running code from the file."""

from __future__ import annotations

import json
import warnings
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import raremetric
from raremetric.contenders.registry import load_class
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
from raremetric.table.packing import PackedTexts, pack_rows, unpack_rows

skops_io = import_optional("skops.io")  # one sentence if it is not installed

FORMAT = 10  # increase it when files of earlier versions can no longer be loaded


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
    try:
        check_fields(model)
    except ValueError as error:
        raise ModelFileError(f"{path} is damaged: {error} Fit the model again.") from error
    try:  # classify a training example, to detect parts that do not fit together
        model.decide(model.encoder.transform(model.data.iloc[:1]))
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
