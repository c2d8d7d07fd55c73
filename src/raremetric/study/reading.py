"""Studies from TOML files."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from raremetric.contenders import CONTENDERS
from raremetric.contenders.resampling import check_resamplings
from raremetric.datasets import check_dataset_name, list_datasets
from raremetric.study.checks import check_fields, check_splits
from raremetric.study.tasks import LearnerSpec, Study
from raremetric.validation import as_names, check_option

POSITIONS = {"odd": 0, "even": 1}  # the first position of a list is odd


def read_study(path: Path) -> Study:
    """A study from a file; see the documentation for its fields."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} cannot be read as a study: {error}") from error
    return _build(values, path.stem, str(path))


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
        study = replace(study, splits=check_splits(study.first_split, splits))
    return study


def report_title(studies: Sequence[Study]) -> str:
    """The heading of a report of these studies."""
    if len(studies) == 1:
        return studies[0].title or studies[0].name
    return f"Results of {len(studies)} studies"


def _build(values: dict[str, Any], name: str, source: str) -> Study:
    """A study from the fields of a file, checked."""
    check_fields(values, source)
    if "leader" in values:
        check_option(values["leader"], "leader", values["learners"])
    datasets = _resolve_datasets(values["datasets"])
    study = Study.from_dict({"name": name, **values, "datasets": datasets})
    for spec in study.learners:
        spec.contender()  # refuses unknown kinds and settings
    resampling_notes(study)
    return study


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
    if "positions" in chosen:
        check_option(chosen["positions"], "positions", POSITIONS)
        return names[POSITIONS[chosen["positions"]] :: 2]
    return names


def resampling_notes(study: Study) -> list[str]:
    """A note on learners that choose a threshold; an error if none of their tasks would run."""
    fixed = [spec.name for spec in study.learners if spec.contender().has_threshold]
    return check_resamplings(fixed, study.resamplings, f"the study {study.name} has")
