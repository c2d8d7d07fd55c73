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
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from raremetric.contenders import RESAMPLING
from raremetric.files import atomic_write, brief, existing_file
from raremetric.study.reading import read_definition
from raremetric.study.store import IN_MEMORY, Store, StoreError
from raremetric.study.tasks import COUNTS, MEASURED, Study, Task, all_tasks

FORMAT = "raremetric results, version 1"
MAX_BYTES = 1 << 28  # of a file when unpacked
MAX_COUNT = 2**53  # of rows that a result counts


# The columns of the file: type, which values are possible, and what they are.
Column = tuple[type, Callable[[Any], object], str]
NAME: Column = (str, bool, "a name")
SHARE: Column = (float, lambda n: n is None or 0 < n < 1, "empty, or between 0 and 1")
COUNT: Column = (int, lambda n: n is None or 0 <= n <= MAX_COUNT, "empty, or a number of rows")
SIZE: Column = (float, lambda n: n is None or 0 <= n < float("inf"), "empty, or not negative")
OBJECT: Column = (str, lambda text: isinstance(json.loads(text or "null"), dict), "a JSON object")
COLUMNS: dict[str, Column] = {
    "id": NAME,
    "dataset": NAME,
    "share": SHARE,
    "test_size": SHARE,
    "resampling": (str, RESAMPLING.__contains__, f"one of {', '.join(RESAMPLING)}"),
    "split": (int, lambda value: value and 1 <= value <= MAX_COUNT, "at least 1"),
    "learner": NAME,
    "status": (str, ("done", "absent").__contains__, "done or absent"),
    **dict.fromkeys(COUNTS, COUNT),
    # That of scikit-learn can exceed 1 in its last digit.
    "average_precision": (
        float,
        lambda value: value is None or 0 <= value <= 1 + 1e-12,
        "empty, or between 0 and 1",
    ),
    "seconds": (float, lambda n: n is None or 0 <= n < float("inf"), "a duration"),
    **dict.fromkeys(MEASURED, SIZE),
    "candidate": OBJECT,
    "seeds": OBJECT,
    "versions": OBJECT,
    "fingerprint": (str, lambda value: True, "a text"),
    "finished": (str, lambda value: datetime.fromisoformat(value or ""), "a time"),
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
    rows = store.select(list(COLUMNS))
    columns = zip(COLUMNS, zip(*rows, strict=True), strict=True) if rows else ()
    empty = {name for name, values in columns if name in MEASURED and not any(values)}
    names = [name for name in COLUMNS if name not in empty]
    writer.writerow(names)
    writer.writerows(store.select(names))
    with atomic_write(path) as stream:
        stream.write(gzip.compress(text.getvalue().encode(), compresslevel=9, mtime=0))
    return len(rows)


def import_results(path: Path | str, store_path: Path | str) -> int:
    """Add the results in a text file that `export_results` wrote to a store.

    Tasks that the store has are kept; tasks that it lacks, or that failed in it, are added.

    Parameters
    ----------
    path : Path or str
    store_path : Path or str
        Created if it does not exist.

    Returns
    -------
    int
        Number of tasks added.

    Raises
    ------
    StoreError
        The file cannot be read, or it has another result of a task, or another study of the same
        name, than the store. Then nothing is added.
    """
    path = existing_file(path)
    try:
        head, *lines = _unpack(path).split("\n", 1)
        studies = _parse_head(head, path)
        rows = _parse_rows("".join(lines), studies)
    except (OSError, EOFError, ValueError, RecursionError, csv.Error, zlib.error) as error:
        raise StoreError(f"{path} cannot be read as exported results: {brief(error)}") from error
    store_path = Path(store_path)
    if not store_path.exists():  # made in memory, so that nothing remains if the process is killed
        store_path.parent.mkdir(parents=True, exist_ok=True)
        new = Store(IN_MEMORY, create=True)
        n_added = new.add(studies, rows)
        try:
            with atomic_write(store_path, replace=False) as stream:
                stream.write(new.serialize())
        except FileExistsError:
            pass  # another process has made a store there meanwhile: add to it
        else:
            return n_added
    return Store(store_path, create=True).add(studies, rows)


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
    if sorted({*names, *MEASURED}) != sorted(COLUMNS) or len(set(names)) < len(names):
        raise ValueError(f"its columns are {', '.join(names)}; expected: {', '.join(COLUMNS)}.")
    rows: dict[str, dict[str, Any]] = {}
    for fields in lines:
        try:
            row = _parse(dict(zip(names, fields, strict=True)))
            _check_row(row, tasks.get(row["id"]))
            if row["id"] in rows:
                raise ValueError(f"the task {row['id']} has two rows.")
        except (ValueError, RecursionError) as error:
            raise ValueError(f"line {lines.line_num + 1} is wrong: {error}") from error
        rows[row["id"]] = row
    return list(rows.values())


def _parse(texts: dict[str, str]) -> dict[str, Any]:
    """A row with its types; an empty field is a missing value."""
    row = {}
    for name, text in texts.items():
        parse, is_possible, description = COLUMNS[name]
        value = parse(text) if text else None
        is_written_otherwise = isinstance(value, int) and str(value) != text  # such as 1_0
        if is_written_otherwise or not is_possible(value):
            raise ValueError(f"{name} must be {description}; got {text!r}.")
        row[name] = value
    return row


def _check_row(row: dict[str, Any], task: Task | None) -> None:
    """Refuse a row that contradicts itself, or the task of its id."""
    for name in COUNTS:
        if (row[name] is None) == (row["status"] == "done"):
            expected = "a number of rows" if row["status"] == "done" else "empty"
            raise ValueError(f"{name} of a task that is {row['status']} must be {expected}.")
    for name, value in task.columns().items() if task else ():
        if row[name] != value:
            raise ValueError(f"{name} must be {value!r} according to the id; got {row[name]!r}.")
