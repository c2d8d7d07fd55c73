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
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

from raremetric.files import atomic_write, brief, existing_file
from raremetric.study.checks import check_row, read_definition
from raremetric.study.schema import COLUMNS as STORE_COLUMNS
from raremetric.study.store import IN_MEMORY, Store, StoreError
from raremetric.study.tasks import Study, all_tasks

FORMAT = "raremetric results, version 1"
MAX_BYTES = 1 << 28  # of a file when unpacked
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
    path, store_path = existing_file(path), Path(store_path)
    if store_path.exists():
        raise StoreError(_EXISTS.format(store_path))
    try:
        head, *lines = _unpack(path).split("\n", 1)
        studies = _parse_head(head, path)
        rows = _parse_rows("".join(lines), studies)
    except (OSError, EOFError, ValueError, RecursionError, csv.Error, zlib.error) as error:
        raise StoreError(f"{path} cannot be read as exported results: {brief(error)}") from error
    store_path.parent.mkdir(parents=True, exist_ok=True)
    # Made in memory, so that nothing remains if the process is killed.
    with closing(Store(IN_MEMORY, create=True)) as store:
        store.record(studies)
        store.insert(rows)
        content = store.serialize()
    try:
        with atomic_write(store_path, replace=False) as stream:
            stream.write(content)
    except FileExistsError:
        raise StoreError(_EXISTS.format(store_path)) from None
    return Store(store_path)


def _unpack(path: Path) -> str:
    """The text in a compressed file, provided that it is not too long."""
    with gzip.open(path) as stream:
        content = stream.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise ValueError(f"it would unpack to more than {MAX_BYTES >> 20} MB.")
    return content.decode("utf-8")


def _parse_head(line: str, path: Path) -> list[Study]:
    head = json.loads(line)
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        found = head.get("format") if isinstance(head, dict) else head
        raise ValueError(f"its format is {found!r}, not {FORMAT!r}.")
    if not isinstance(head.get("studies"), list):
        raise ValueError("its first line has no list of studies.")
    studies = [read_definition(values, str(path)) for values in head["studies"]]
    if len({study.name for study in studies}) < len(studies):
        raise ValueError("two studies have the same name.")
    return studies


def _parse_rows(text: str, studies: list[Study]) -> list[dict[str, Any]]:
    """All rows with their types, checked."""
    tasks = {task.id: task for task in all_tasks(studies)}
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    names = next(lines, [])
    if sorted(names) != sorted(COLUMNS):
        raise ValueError(f"its columns are {', '.join(names)}; expected: {', '.join(COLUMNS)}.")
    rows: dict[str, dict[str, Any]] = {}
    for fields in lines:
        try:
            row = _parse(dict(zip(names, fields, strict=True)))
            check_row(row, tasks.get(row["id"]))
            if row["id"] in rows:
                raise ValueError(f"the task {row['id']} has two rows.")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {lines.line_num + 1} is wrong: {error}") from error
        rows[row["id"]] = row
    return list(rows.values())


def _parse(row: dict[str, str]) -> dict[str, Any]:
    """A row with its types; an empty field is a missing value."""
    values = {name: parse(row[name]) if row[name] else None for name, parse in COLUMNS.items()}
    for name, value in values.items():
        if isinstance(value, int) and str(value) != row[name]:
            raise ValueError(f"{name} must be an integer; got {row[name]!r}.")
    return values
