"""A model as one file that can be read without running anything in it."""

from __future__ import annotations

import json
import warnings
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

import raremetric
from raremetric.extras import import_optional
from raremetric.files import atomic_write
from raremetric.table.model import TableModel

FORMAT = 2  # to be raised when files of before can no longer be read
CARD = "raremetric.json"


class ModelFileError(ValueError):
    """A file is no model, not one of this version, or not to be trusted."""


def save_model(model: TableModel, path: str | Path) -> None:
    """Write a model to one file, whole or not at all.

    Parameters
    ----------
    model : TableModel
    path : str or Path
        Usually ending in ``.skops``.
    """
    buffer = BytesIO(import_optional("skops.io").dumps(model, compression=ZIP_DEFLATED))
    with ZipFile(buffer, "a") as archive:
        archive.writestr(CARD, json.dumps({"format": FORMAT, "versions": model.versions}))
    with atomic_write(path) as stream:
        stream.write(buffer.getbuffer())


def load_model(path: str | Path) -> TableModel:
    """Read a model, if it holds nothing but types of raremetric and scikit-learn.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    TableModel

    Raises
    ------
    ModelFileError
        The file is no model, comes from another format, or holds a type that is not trusted;
        nothing in it has been run.

    Warns
    -----
    UserWarning
        The model was saved by another version of raremetric or scikit-learn.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")
    data = path.read_bytes()
    _check_card(_read_card(path, data), path)
    skops = import_optional("skops.io")
    try:
        strangers = [name for name in skops.get_untrusted_types(data=data) if not _is_ours(name)]
    except Exception as error:  # whatever a damaged file makes of skops
        raise ModelFileError(f"{path} is damaged and cannot be read as a model: {error}") from error
    if strangers:
        raise ModelFileError(
            f"{path} holds what no model of raremetric needs: {', '.join(strangers)}. It was not "
            "loaded, and nothing in it was run. Do not use it unless you know who made it."
        )
    try:
        model = skops.loads(data, trusted=skops.get_untrusted_types(data=data))
    except Exception as error:
        raise ModelFileError(f"{path} is damaged and cannot be read as a model: {error}") from error
    if not isinstance(model, TableModel):
        raise ModelFileError(f"{path} holds a {type(model).__name__}, not a model of a table.")
    _try_out(model, path)
    return model


def _try_out(model: TableModel, path: Path) -> None:
    """Classify one of its own examples: parts that do not fit each other are told of here."""
    try:
        model.decide(model.X[:1])
    except Exception as error:
        raise ModelFileError(
            f"{path} was read, but cannot classify even its own first example: it is damaged, or "
            f"was saved by a raremetric whose models were made otherwise. Fit it again. ({error})"
        ) from error


def _read_card(path: Path, data: bytes) -> dict[str, Any]:
    try:
        with ZipFile(BytesIO(data)) as archive:
            return json.loads(archive.read(CARD))
    except (BadZipFile, KeyError, ValueError) as error:
        raise ModelFileError(
            f"{path} is no model saved by raremetric. Make one with: raremetric fit FILE "
            "--target COLUMN -o model.skops"
        ) from error


def _check_card(card: dict[str, Any], path: Path) -> None:
    saved = card.get("versions", {})
    theirs, ours = saved.get("raremetric", "unknown"), raremetric.__version__
    if card.get("format") != FORMAT:
        newer = isinstance(card.get("format"), int) and card["format"] > FORMAT
        raise ModelFileError(
            f"{path} was saved by {'a newer' if newer else 'an older'} raremetric ({theirs}), in "
            f"format {card.get('format')}; this one ({ours}) reads format {FORMAT}. Fit it again, "
            "or install that version."
        )
    changed = [
        f"{name} {version} (here {now})"
        for name, version, now in (
            ("raremetric", theirs, ours),
            ("scikit-learn", saved.get("scikit-learn"), _installed("sklearn")),
        )
        if version != now
    ]
    if changed:
        warnings.warn(
            f"{path} was saved by {' and '.join(changed)}: its predictions may differ from those "
            "of before. Fit it again to be sure.",
            UserWarning,
            stacklevel=3,
        )


def _installed(module: str) -> str:
    return import_module(module).__version__


def _is_ours(name: str) -> bool:
    """Whether a type is a class of this package: importing that runs nothing but our own code.

    skops itself trusts scikit-learn's public estimators and NumPy's arrays; we need no others.
    """
    module, _, attribute = name.rpartition(".")
    if not module.startswith("raremetric.") or module.startswith("raremetric.cli"):
        return False
    try:
        found = getattr(import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module
