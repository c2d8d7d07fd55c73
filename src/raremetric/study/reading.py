"""Studies from TOML files: those in this package, by name, and a user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from raremetric.contenders import CONTENDERS, RESAMPLING
from raremetric.contenders.resampling import refuse_resampling
from raremetric.datasets import check_dataset_name, list_datasets
from raremetric.study.paper_values import RESAMPLING_OF, paper_datasets
from raremetric.study.tasks import LearnerSpec, Study
from raremetric.validation import check_integer, check_option

FOLDER = files("raremetric.study") / "studies"
FILES = {
    file.name.removesuffix(".toml"): tomllib.loads(file.read_text(encoding="utf-8"))
    for file in sorted(FOLDER.iterdir(), key=lambda file: file.name)
}
NAMED = tuple(FILES)
GROUPS = {
    group: [name for name, values in FILES.items() if values.get("group") == group]
    for group in sorted({values["group"] for values in FILES.values() if "group" in values})
}
GROUPS["all"] = GROUPS["paper"]
MEASURES = ("f1", "average_precision")
POSITIONS = {"odd": 0, "even": 1}  # the first position of a list is odd
FIELD_TYPES: dict[str, tuple[type, str]] = {
    "name": (str, "a string"),
    "title": (str, "a string"),
    "learners": (dict, "tables such as [learners.IML]"),
    "resampling": (list, 'a list such as ["none", "smote"]'),
    "shares": (list, "a list such as [0.1, 0.05]"),
    "measures": (list, 'a list such as ["f1"]'),
    "splits": (int, "an integer"),
    "paper_table": (str, "a string"),
    "leader": (str, "a string"),
    "few_positives": (bool, "true or false"),
}
LEARNER_FIELD_TYPES: dict[str, tuple[type, str]] = {
    "kind": (str, "a string"),
    "settings": (dict, "a table of arguments"),
    "grid": (dict, "a table of lists"),
    "candidates": (int, "an integer"),
}
REQUIRED = {"datasets", "learners"}
OPTIONAL = {*FIELD_TYPES, "test_size"} - REQUIRED


def find_studies(name: str) -> list[Study]:
    """The studies that a user asks for.

    Parameters
    ----------
    name : str
        A study that comes with the package, a group of them ("paper", also called "all", or
        "rare-regime"; the smallest study comes first), or the path of a TOML file.
    """
    if name.endswith(".toml"):
        return [read_study(Path(name))]
    check_option(name, "study", (*NAMED, *GROUPS))
    studies = [named_study(each) for each in GROUPS.get(name, [name])]
    return sorted(studies, key=lambda study: len(study.tasks()))


def named_study(name: str) -> Study:
    """A study that comes with the package."""
    check_option(name, "study", NAMED)
    values = {field: value for field, value in FILES[name].items() if field != "group"}
    return _build(values, name, f"{name}.toml")


def read_study(path: Path) -> Study:
    """A user's own study; see the documentation for the fields of the file."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} cannot be read as a study: {error}") from error
    study = _build(values, path.stem, str(path))
    if not study.name:
        raise ValueError(f"name in {path} must not be empty. Leave it out for the file's name.")
    if study.name in (*NAMED, *GROUPS):
        raise ValueError(
            f"{path} must not be named {study.name!r}, like a study that comes with raremetric: "
            'give it another name, such as name = "mine".'
        )
    return study


def restrict(
    study: Study,
    datasets: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    splits: int | None = None,
) -> Study:
    """A part of a study. Data sets and learners may also be any others that are known by name."""
    if datasets is not None:
        study = replace(study, datasets=tuple(check_dataset_name(name) for name in datasets))
    if learners is not None:
        specs = {name: LearnerSpec.from_dict(name, {}) for name in CONTENDERS}
        specs |= {spec.name: spec for spec in study.learners}
        names = [check_option(name, "learner", specs) for name in learners]
        study = replace(study, learners=tuple(specs[name] for name in names))
        _check_resampling(study)
    if splits is not None:
        study = replace(study, splits=check_integer(splits, "splits", low=1))
    return study


def report_title(studies: Sequence[Study]) -> str:
    """The heading of a report of these studies."""
    if len(studies) == 1:
        return studies[0].title or studies[0].name
    if all(study.name in GROUPS["paper"] for study in studies):
        return "The paper, reproduced"
    return f"Results of {len(studies)} studies"


def _build(values: dict[str, Any], name: str, source: str) -> Study:
    """A study from the fields of a file, checked."""
    unknown = set(values) - REQUIRED - OPTIONAL
    if unknown or not set(values) >= REQUIRED:
        raise ValueError(
            f"{source} must have the fields {' and '.join(sorted(REQUIRED))}, and may have "
            f"{', '.join(sorted(OPTIONAL))}; it has {', '.join(sorted(values))}."
        )
    _check_types(values, source)
    for learner, fields in values["learners"].items():
        _check_learner(learner, fields)
    checked = {
        "name": name,
        **values,
        "datasets": _resolve_datasets(values["datasets"]),
        "resampling": _checked(values, "resampling", ["none"], RESAMPLING),
        "measures": _checked(values, "measures", ["f1"], MEASURES),
    }
    check_integer(values.get("splits", 20), "splits", low=1)
    _check_test_size(values.get("test_size"))
    if "paper_table" in values:
        check_option(values["paper_table"], "paper_table", RESAMPLING_OF)
    if "leader" in values:
        check_option(values["leader"], "leader", values["learners"])
    study = Study.from_dict(checked)
    _check_resampling(study)
    return study


def _check_types(values: dict[str, Any], source: str) -> None:
    """Refuse fields of another type, and lists without any element."""
    for name, (kind, description) in FIELD_TYPES.items():
        value = values.get(name, kind())
        if not isinstance(value, kind):
            raise ValueError(f"{name} in {source} must be {description}; got {value!r}.")
        if name in values and kind in (list, dict) and not value:
            raise ValueError(f"{name} in {source} must not be empty: it must be {description}.")
    if values["datasets"] == []:
        raise ValueError(f"datasets in {source} must not be empty: name at least one data set.")
    for share in values.get("shares", []):
        if not isinstance(share, float) or not 0 < share < 1:
            raise ValueError(
                f"shares in {source} must be between 0 and 1, such as 0.05; got {share!r}."
            )


def _resolve_datasets(value: Any) -> list[str]:
    """Names of data sets: a list of them, a collection, or every second of a collection."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        return [check_dataset_name(name) for name in value]
    chosen = {"collection": value} if isinstance(value, str) else value
    if not isinstance(chosen, dict) or not (
        {"collection"} <= set(chosen) <= {"collection", "positions"}
    ):
        raise ValueError(
            'datasets must be a list of names, a collection such as "paper", or a table such as '
            f'{{ collection = "keel", positions = "odd" }}; got {value!r}.'
        )
    names = sorted(list_datasets(chosen["collection"]))
    if chosen["collection"] == "paper":
        names = list(paper_datasets())  # in the order of its tables
    if "positions" in chosen:
        check_option(chosen["positions"], "positions", POSITIONS)
        return names[POSITIONS[chosen["positions"]] :: 2]
    return names


def _checked(values: dict, name: str, default: list[str], allowed: Sequence[str]) -> list[str]:
    return [check_option(value, name, allowed) for value in values.get(name, default)]


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
        if not isinstance(fields.get(field, kind()), kind):
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
    LearnerSpec.from_dict(name, fields).contender()  # refuses unknown kinds and settings


def _check_resampling(study: Study) -> None:
    """Refuse to resample for learners that choose a threshold instead."""
    wrong = [spec.name for spec in study.learners if spec.contender().has_threshold]
    refuse_resampling(wrong, study.resamplings, f"the study {study.name} has")


def _check_test_size(value: Any) -> None:
    if value is not None and not (isinstance(value, float) and 0 < value < 1):
        raise ValueError(
            f"test_size must be between 0 and 1, such as 0.5 for a half; got {value!r}. Leave it "
            "out for the paper's."
        )
