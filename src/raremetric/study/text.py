"""A store as compressed text and back: for version control, and for other programs.

The file is a gzip-compressed CSV with one row per task. Before its header comes one line of JSON
with the format and the definitions of the studies: ``pandas.read_csv(path, skiprows=1)`` skips it.
Failed tasks and the validation scores of all candidates are left out; the latter would make up
most of the file.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from raremetric.files import atomic_write
from raremetric.study.store import COLUMNS as STORE_COLUMNS
from raremetric.study.store import Store, StoreError
from raremetric.study.tasks import Study

FORMAT = "raremetric results, version 1"
_EXISTS = "{} exists already. Choose another path, or remove it."
PARSERS: dict[str, type] = {"TEXT": str, "REAL": float, "INTEGER": int}
COLUMNS = {
    name: PARSERS[kind.split()[0]]
    for name, kind in STORE_COLUMNS.items()
    if name not in ("scores", "traceback")
}


def export_results(store: Store, path: Path | str) -> int:
    """Write the studies of a store and its finished tasks to a text file.

    The same content gives the same bytes.

    Parameters
    ----------
    store : Store
    path : Path or str
        Usually ending in ``.csv.gz``.

    Returns
    -------
    int
        Number of tasks written.
    """
    text = io.StringIO()
    head = {"format": FORMAT, "studies": [study.to_dict() for study in store.studies()]}
    text.write(json.dumps(head) + "\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    rows = store.select(list(COLUMNS))
    writer.writerows(rows)
    with atomic_write(path) as stream:
        stream.write(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    return len(rows)


def import_results(path: Path | str, store_path: Path | str) -> Store:
    """Make a new store from a text file that `export_results` wrote.

    Parameters
    ----------
    path : Path or str
    store_path : Path or str
        Must not exist.

    Returns
    -------
    Store

    Raises
    ------
    StoreError
        The file cannot be read, or the store exists already.
    """
    path, store_path = Path(path), Path(store_path)
    if store_path.exists():
        raise StoreError(_EXISTS.format(store_path))
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
            head = json.loads(stream.readline())
            if head["format"] != FORMAT:
                raise ValueError(f"its format is {head['format']!r}, not {FORMAT!r}")
            studies = [Study.from_dict(values) for values in head["studies"]]
            rows = [_parse(row) for row in csv.DictReader(stream)]
    except (OSError, EOFError, ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{path} cannot be read as exported results: {error}") from error
    store_path.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".import-", dir=store_path.parent) as folder:
        draft = Path(folder, store_path.name)
        with closing(Store(draft, create=True)) as store:
            store.record(studies)
            store.insert(rows)
        try:
            os.link(draft, store_path)  # unlike a rename, it never replaces a file
        except FileExistsError:
            raise StoreError(_EXISTS.format(store_path)) from None
    return Store(store_path)


def _parse(row: dict[str, str]) -> dict[str, Any]:
    """A row with its types; an empty field is a missing value."""
    return {name: parse(row[name]) if row[name] else None for name, parse in COLUMNS.items()}
