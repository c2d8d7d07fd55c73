"""Studies from TOML files, and from the definitions that stores and exports contain."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple

from raremetric.contenders import CONTENDERS, RESAMPLING
from raremetric.contenders.resampling import check_resamplings
from raremetric.datasets import check_dataset_name, list_datasets
from raremetric.study.tasks import MEASURES, LearnerSpec, Study
from raremetric.validation import as_names, check_integer, check_option

POSITIONS = {"odd": 0, "even": 1}  # the first position of a list is odd
EARLIER_FIELDS = ("paper_table",)  # in stores and exports of earlier versions; ignored
MAX_NAME = 150  # bytes; the files of a report have longer names, of at most 255
MAX_SEED = 2**32 - 1  # of numpy.random.RandomState


def read_study(path: Path) -> Study:
    """A study from a file; see the documentation for its fields."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as a study: {error}") from error
    study = _study({"name": path.stem, **values}, str(path))
    for name in study.datasets:
        check_dataset_name(name)
    if study.leader is not None:
        check_option(study.leader, "leader", values["learners"])
    resampling_notes(study)  # refuses unknown kinds and settings of learners, too
    return study


def read_definition(values: Any, source: str) -> Study:
    """A study from the fields that `Study.to_dict` gave, checked.

    Data sets and classes of learners are not looked up, and nothing is imported: a definition may
    come from another computer.
    """
    if not isinstance(values, dict):
        raise ValueError(f"A study in {source} is not a table of fields; got {values!r}.")
    values = {name: value for name, value in values.items() if name not in EARLIER_FIELDS}
    return _study(values, source)


def restrict(
    study: Study,
    datasets: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    splits: int | None = None,
) -> Study:
    """A part of a study.

    Data sets and learners may also be any others that are known by name, and there may be more
    splits than the study has.
    """
    if datasets is not None:
        names = as_names(datasets, "datasets")
        study = replace(study, datasets=tuple(map(check_dataset_name, names)))
    if learners is not None:
        specs = {name: LearnerSpec.from_dict(name, {}) for name in CONTENDERS}
        specs |= {spec.name: spec for spec in study.learners}
        chosen = [check_option(name, "learner", specs) for name in as_names(learners, "learners")]
        study = replace(study, learners=tuple(specs[name] for name in chosen))
        resampling_notes(study)
    if splits is not None:
        _check_splits(study.first_split, splits)
        study = replace(study, splits=splits)
    return study


def resampling_notes(study: Study) -> list[str]:
    """A note on learners that choose a threshold; an error if none of their tasks would run."""
    fixed = [spec.name for spec in study.learners if spec.contender().has_threshold]
    return check_resamplings(fixed, study.resampling, f"the study {study.name} has")


class Field(NamedTuple):
    """What a field may hold."""

    kind: type | UnionType
    description: str
    check: Callable[[Any, str], object] | None = None  # of the value, or of each in a list
    may_be_empty: bool = False


def _check_name(name: str, field: str) -> None:
    if not name.isprintable() or {"/", "\\"} & {*name}:
        raise ValueError(
            f"{field} must be part of a file name, without slashes and line breaks; got {name!r}."
        )
    if (n_bytes := len(name.encode())) > MAX_NAME:
        raise ValueError(
            f"{field} must be part of a file name, of at most {MAX_NAME} bytes; it has {n_bytes}."
        )


def _check_share(value: object, field: str) -> None:
    if value is not None and not (isinstance(value, float) and 0 < value < 1):
        raise ValueError(f"{field} must be between 0 and 1, such as 0.5; got {value!r}.")


DATASETS = (
    'a list of names, a collection such as "paper", or a table such as '
    '{ collection = "keel", positions = "odd" }'
)
STUDY_FIELDS = {
    "name": Field(str, "a string", _check_name),
    "title": Field(str, "a string", may_be_empty=True),
    "datasets": Field(list | str | dict, DATASETS),
    "learners": Field(dict, "tables such as [learners.IML]"),
    "resampling": Field(
        list, 'a list such as ["none", "smote"]', partial(check_option, allowed=RESAMPLING)
    ),
    "shares": Field(list, "a list such as [0.1, 0.05]", _check_share),
    "test_size": Field(object, "a number", _check_share),
    "measures": Field(list, 'a list such as ["f1"]', partial(check_option, allowed=MEASURES)),
    "splits": Field(int, "an integer"),
    "first_split": Field(int, "an integer"),
    "leader": Field(str, "a string"),
    "few_positives": Field(bool, "true or false"),
}
LEARNER_FIELDS = {
    "kind": Field(str, "a string"),
    "settings": Field(dict, "a table of arguments", may_be_empty=True),
    "grid": Field(dict, "a table of lists", may_be_empty=True),
    "candidates": Field(int, "an integer", partial(check_integer, low=1)),
}


def _study(values: dict[str, Any], source: str) -> Study:
    """A study from its fields, checked."""
    if missing := {"name", "datasets", "learners"} - set(values):
        raise ValueError(f"There is no field {' and '.join(sorted(missing))} in {source}.")
    _check_fields(values, STUDY_FIELDS, f"in {source}")
    for learner, fields in values["learners"].items():
        _check_learner(learner, fields)
    measures = values.get("measures", [])
    if twice := [each for each in measures if measures.count(each) > 1]:
        raise ValueError(f"measures in {source} contains {twice[0]!r} twice. List each once.")
    _check_splits(values.get("first_split", 1), values.get("splits", 20))
    return Study.from_dict({**values, "datasets": _names_of(values["datasets"], source)})


def _check_fields(values: Mapping[str, Any], fields: Mapping[str, Field], where: str) -> None:
    """Refuse fields that are unknown, empty, or hold something else than they may."""
    if unknown := sorted(set(values) - set(fields)):
        raise ValueError(
            f"There is no field {' or '.join(unknown)} {where}; the fields are {', '.join(fields)}."
        )
    for name, value in values.items():
        field, label = fields[name], f"{name} {where}"
        is_bool = isinstance(value, bool)  # which is an integer in Python
        if not isinstance(value, field.kind) or is_bool != (field.kind is bool):
            raise ValueError(f"{label} must be {field.description}; got {value!r}.")
        if value in ("", [], {}) and not field.may_be_empty:
            raise ValueError(f"{label} must not be empty: it must be {field.description}.")
        if field.check is not None:
            for each in value if isinstance(value, list) else [value]:
                field.check(each, label)


def _check_learner(name: str, values: Any) -> None:
    where = f"of learner {name!r}"
    if not isinstance(values, dict):
        raise ValueError(
            f"Learner {name!r} must be a table such as [learners.IML]; got {values!r}."
        )
    _check_fields(values, LEARNER_FIELDS, where)
    for parameter, tried in values.get("grid", {}).items():
        if not isinstance(tried, list) or not tried:
            raise ValueError(
                f"{parameter} in the grid {where} must be a list of values to try; got {tried!r}."
            )
    try:
        json.dumps(values, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ValueError(
            f"Settings and grids {where} must consist of finite numbers, text, true and false."
        ) from None


def _check_splits(first_split: int, splits: int) -> None:
    """Refuse splits whose number cannot be a seed."""
    check_integer(splits, "splits", low=1)
    check_integer(first_split, "first_split", low=1)
    if (last := first_split + splits - 1) > MAX_SEED:
        raise ValueError(
            f"The numbers of the splits are seeds, of at most {MAX_SEED}; with first_split = "
            f"{first_split} and splits = {splits}, the last one is {last}. Choose smaller ones."
        )


def _names_of(chosen: Any, source: str) -> list[str]:
    """Names of data sets: a list of them, a collection, or every second of a collection."""
    if isinstance(chosen, list) and all(isinstance(name, str) for name in chosen):
        return chosen
    if isinstance(chosen, str):
        chosen = {"collection": chosen}
    if isinstance(chosen, list) or not {"collection"} <= set(chosen) <= {"collection", "positions"}:
        raise ValueError(f"datasets in {source} must be {DATASETS}; got {chosen!r}.")
    names = sorted(list_datasets(chosen["collection"]))
    if "positions" not in chosen:
        return names
    check_option(chosen["positions"], "positions", POSITIONS)
    return names[POSITIONS[chosen["positions"]] :: 2]
