"""Checks of definitions of studies and of rows of results that come from files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from raremetric.contenders import RESAMPLING
from raremetric.study.tasks import COUNTS, Study, Task
from raremetric.validation import check_integer, check_option

MEASURES = ("f1", "average_precision")
FIELD_TYPES: dict[str, tuple[type, str]] = {
    "name": (str, "a string"),
    "title": (str, "a string"),
    "learners": (dict, "tables such as [learners.IML]"),
    "resampling": (list, 'a list such as ["none", "smote"]'),
    "shares": (list, "a list such as [0.1, 0.05]"),
    "measures": (list, 'a list such as ["f1"]'),
    "splits": (int, "an integer"),
    "first_split": (int, "an integer"),
    "leader": (str, "a string"),
    "few_positives": (bool, "true or false"),
}
LEARNER_FIELD_TYPES: dict[str, tuple[type, str]] = {
    "kind": (str, "a string"),
    "settings": (dict, "a table of arguments"),
    "grid": (dict, "a table of lists"),
    "candidates": (int, "an integer"),
}
EARLIER_FIELDS = ("paper_table",)  # in stores and exports of earlier versions; ignored
REQUIRED = {"datasets", "learners"}
OPTIONAL = {*FIELD_TYPES, "test_size"} - REQUIRED
MAX_NAME = 150  # bytes; the files of a report have longer names, of at most 255
MAX_SEED = 2**32 - 1  # of numpy.random.RandomState
MAX_COUNT = 2**53  # of rows that a result counts
JSON_FIELDS = ("candidate", "seeds", "versions")


def check_fields(values: Mapping[str, Any], source: str) -> None:
    """Raise an error if a field of a definition is missing, unknown, or has a wrong value.

    Data sets and classes of learners are not looked up, and nothing is imported: a definition may
    come from another computer.

    Parameters
    ----------
    values : mapping
        The fields of a study file.
    source : str
        Where they come from, for the error messages.
    """
    unknown = set(values) - REQUIRED - OPTIONAL
    if unknown or not set(values) >= REQUIRED:
        raise ValueError(
            f"{source} must have the fields {' and '.join(sorted(REQUIRED))}, and may have "
            f"{', '.join(sorted(OPTIONAL))}; it has {', '.join(sorted(values)) or 'none'}."
        )
    _check_types(values, source)
    name = values.get("name", "unnamed")
    if not name:
        raise ValueError(f"name in {source} must not be empty. Leave it out for the file's name.")
    if not name.isprintable() or {"/", "\\"} & {*name}:
        raise ValueError(
            f"name in {source} must be part of a file name, without slashes and line breaks; got "
            f"{name!r}."
        )
    if len(name.encode()) > MAX_NAME:
        raise ValueError(
            f"name in {source} must be part of a file name, of at most {MAX_NAME} bytes; it has "
            f"{len(name.encode())}."
        )
    for learner, fields in values["learners"].items():
        _check_learner(learner, fields)
    for field, allowed in (("resampling", RESAMPLING), ("measures", MEASURES)):
        for value in values.get(field, []):
            check_option(value, field, allowed)
    check_splits(values.get("first_split", 1), values.get("splits", 20))
    _check_share(values.get("test_size"), "test_size", "Leave it out for the default.")


def check_splits(first_split: int, splits: int) -> int:
    """The number of splits, or an error if one of them has a number that cannot be a seed."""
    check_integer(splits, "splits", low=1)
    check_integer(first_split, "first_split", low=1)
    if (last := first_split + splits - 1) > MAX_SEED:
        raise ValueError(
            f"The numbers of the splits are seeds, of at most {MAX_SEED}; with first_split = "
            f"{first_split} and splits = {splits}, the last one is {last}. Choose smaller ones."
        )
    return splits


def read_definition(values: Any, source: str) -> Study:
    """A study from the fields that `Study.to_dict` gave, checked."""
    if not isinstance(values, dict):
        raise ValueError(f"A study in {source} is not a table of fields; got {values!r}.")
    values = {name: value for name, value in values.items() if name not in EARLIER_FIELDS}
    check_fields({"name": "", **values}, source)
    datasets = values["datasets"]
    if not isinstance(datasets, list) or not all(isinstance(name, str) for name in datasets):
        raise ValueError(f"datasets in {source} must be a list of names; got {datasets!r}.")
    return Study.from_dict(values)


def _check_types(values: Mapping[str, Any], source: str) -> None:
    """Refuse fields of another type, and lists without any element."""
    for name, (kind, description) in FIELD_TYPES.items():
        value = values.get(name, kind())
        if not _is_a(value, kind):
            raise ValueError(f"{name} in {source} must be {description}; got {value!r}.")
        if name in values and kind in (list, dict) and not value:
            raise ValueError(f"{name} in {source} must not be empty: it must be {description}.")
    if values["datasets"] == []:
        raise ValueError(f"datasets in {source} must not be empty: name at least one data set.")
    for share in values.get("shares", []):
        _check_share(share, f"shares in {source}")
    measures = values.get("measures", [])
    if twice := [each for each in measures if measures.count(each) > 1]:
        raise ValueError(f"measures in {source} contains {twice[0]!r} twice. List each once.")


def _is_a(value: object, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _check_share(value: Any, name: str, advice: str = "") -> None:
    """A number between 0 and 1, or None."""
    if value is not None and not (isinstance(value, float) and 0 < value < 1):
        message = f"{name} must be between 0 and 1, such as 0.5; got {value!r}. {advice}"
        raise ValueError(message.rstrip())


def _check_learner(name: str, fields: Any) -> None:
    if not isinstance(fields, dict):
        raise ValueError(
            f"Learner {name!r} must be a table such as [learners.IML]; got {fields!r}."
        )
    unknown = set(fields) - set(LEARNER_FIELD_TYPES)
    if unknown:
        raise ValueError(
            f"Learner {name!r} has the unknown fields {', '.join(sorted(unknown))}; allowed are "
            "kind, settings, grid and candidates."
        )
    for field, (kind, description) in LEARNER_FIELD_TYPES.items():
        if not _is_a(fields.get(field, kind()), kind):
            raise ValueError(
                f"{field} of learner {name!r} must be {description}; got {fields[field]!r}."
            )
    for parameter, tried in fields.get("grid", {}).items():
        if not isinstance(tried, list) or not tried:
            raise ValueError(
                f"{parameter} in the grid of learner {name!r} must be a list of values to try; got "
                f"{tried!r}."
            )
    if "candidates" in fields:
        check_integer(fields["candidates"], f"candidates of learner {name!r}", low=1)
    try:
        json.dumps(fields, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"Settings and grids of learner {name!r} must consist of finite numbers, text, true "
            "and false."
        ) from None


def check_row(row: Mapping[str, Any], task: Task | None) -> None:
    """Raise an error if a row of results cannot come from a finished task.

    Parameters
    ----------
    row : mapping
        The columns of the table of tasks, with their types; None for an empty field.
    task : Task or None
        The task that has the row's id, if it is known.
    """
    wanted = {"status": ("done", "absent"), "resampling": RESAMPLING}
    for name, allowed in wanted.items():
        check_option(row[name], name, allowed)
    for name in ("id", "dataset", "learner", "finished"):
        if not row[name]:
            raise ValueError(f"{name} must not be empty.")
    if row["split"] is None or not 1 <= row["split"] <= MAX_COUNT:
        raise ValueError(f"split must be at least 1; got {row['split']}.")
    _check_share(row["share"], "share")
    _check_share(row["test_size"], "test_size")
    is_done = row["status"] == "done"
    for name in COUNTS:
        count = row[name]
        if (count is None) == is_done or (is_done and not 0 <= count <= MAX_COUNT):
            expected = "a number of rows" if is_done else "empty"
            raise ValueError(f"{name} of a task that is {row['status']} must be {expected}.")
    for name, high in (("average_precision", 1.0), ("seconds", 1e300)):
        # The average precision of scikit-learn can exceed 1 in its last digit.
        if row[name] is not None and not 0 <= row[name] <= high * (1 + 1e-12):
            raise ValueError(f"{name} must be between 0 and {high:g}; got {row[name]}.")
    for name in JSON_FIELDS:
        if not isinstance(json.loads(row[name] or "null"), dict):
            raise ValueError(f"{name} must be a JSON object; got {row[name]!r}.")
    datetime.fromisoformat(row["finished"])
    if task is not None:
        _check_task(row, task)


def _check_task(row: Mapping[str, Any], task: Task) -> None:
    """Compare the row with the task of the same id."""
    expected = {
        "dataset": task.dataset,
        "share": task.share,
        "test_size": task.test_size,
        "resampling": task.resampling,
        "split": task.split,
        "learner": task.learner.name,
    }
    for name, value in expected.items():
        if row[name] != value:
            raise ValueError(f"{name} must be {value!r} according to the id; got {row[name]!r}.")
