"""A study is enumerated first: each task has a stable id and is independent of all others."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from raremetric.datasets import list_datasets
from raremetric.study.protocol import KINDS, RESAMPLING, SHARES
from raremetric.validation import check_integer, check_option


@dataclass(frozen=True)
class LearnerSpec:
    """A learner of a study: which class, with what settings, tuned over which candidates."""

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list] | None = None  # None: the paper's candidates for this kind
    n_candidates: int | None = None  # None: the paper's number, or the whole grid

    @property
    def label(self) -> str:
        """The name; for anything but the paper's own settings, with a mark that tells it apart."""
        if self == PAPER_LEARNERS.get(self.name):
            return self.name
        text = json.dumps([self.kind, self.settings, self.grid, self.n_candidates], sort_keys=True)
        return f"{self.name}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"


@dataclass(frozen=True)
class Task:
    """One data set (or a variant of it), one resampling, one split, one learner."""

    dataset: str
    share: float | None
    resampling: str
    split: int
    learner: LearnerSpec

    @property
    def id(self) -> str:
        """The same for the same work, on any machine."""
        share = "own" if self.share is None else f"{self.share:g}"
        return f"{self.dataset}/{share}/{self.resampling}/{self.split}/{self.learner.label}"


@dataclass(frozen=True)
class Study:
    """What is to be crossed: data sets, shares, resamplings, splits, learners."""

    name: str
    datasets: Sequence[str]
    learners: Sequence[LearnerSpec]
    splits: int = 20
    resamplings: Sequence[str] = ("none",)
    shares: Sequence[float | None] = (None,)

    def tasks(self) -> list[Task]:
        """All tasks, split by split, so that an unfinished study has whole splits first."""
        return [
            Task(dataset, share, resampling, split, learner)
            for split in range(1, self.splits + 1)
            for dataset in self.datasets
            for share in self.shares
            for resampling in self.resamplings
            for learner in self.learners
        ]


def _tuned(name: str, kind: str, **settings: Any) -> LearnerSpec:
    return LearnerSpec(name, kind, settings)


PAPER_LEARNERS = {
    spec.name: spec
    for spec in (
        _tuned("Euclidean", "Euclidean"),
        _tuned("LMNN", "LMNN", max_iter=100),
        _tuned("ITML", "ITML", bounds="histogram", max_iter=1000, random_state=1),
        _tuned("GMML", "GMML", random_state=1),
        _tuned("IML", "IML"),
        _tuned("ML2", "IML", set_weights="uniform"),
        _tuned("ML1", "IML", set_weights="uniform", pairs="random", random_state=1),
        _tuned("IML-reference", "IML", solver="lbfgs", init="identity"),
    )
}
TABLE_LEARNERS = ("Euclidean", "LMNN", "ITML", "GMML", "IML")
NAMED: dict[str, dict[str, Any]] = {
    "table2": {},
    "table3-smote": {"resamplings": ("smote",)},
    "table3-rus": {"resamplings": ("rus",)},
    "imbalance": {"shares": SHARES},
    "ablation": {"shares": SHARES, "learners": ("IML", "ML2", "ML1")},
}


def named_study(name: str) -> list[Study]:
    """One of the paper's studies, or ``"all"`` of them."""
    if name == "all":
        return [study for each in NAMED for study in named_study(each)]
    check_option(name, "study", (*NAMED, "all"))
    parts: dict[str, Any] = {"learners": TABLE_LEARNERS, **NAMED[name]}
    learners = [PAPER_LEARNERS[learner] for learner in parts.pop("learners")]
    return [Study(name, list_datasets("paper"), learners, **parts)]


def restrict(
    study: Study,
    datasets: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    splits: int | None = None,
) -> Study:
    """A part of a study; learners may also be any of the paper's."""
    if datasets is not None:
        known = list_datasets()
        study = replace(study, datasets=[check_option(d, "data set", known) for d in datasets])
    if learners is not None:
        specs = {**PAPER_LEARNERS, **{spec.name: spec for spec in study.learners}}
        names = [check_option(name, "learner", specs) for name in learners]
        study = replace(study, learners=[specs[name] for name in names])
    if splits is not None:
        study = replace(study, splits=check_integer(splits, "splits", low=1))
    return study


def read_study(path: Path) -> Study:
    """A user's own study from a TOML file: see the documentation for its fields."""
    try:
        fields = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no study that can be read: {error}") from error
    allowed = {"name", "datasets", "learners", "splits", "resampling", "shares"}
    unknown = set(fields) - allowed
    if unknown or not {"datasets", "learners"} <= set(fields):
        raise ValueError(
            f"{path} must have the fields datasets and learners, and may have "
            f"{', '.join(sorted(allowed - {'datasets', 'learners'}))}; it has "
            f"{', '.join(sorted(fields))}."
        )
    known = list_datasets()
    return Study(
        name=fields.get("name", path.stem),
        datasets=[check_option(name, "data set", known) for name in fields["datasets"]],
        learners=[_read_learner(name, spec) for name, spec in fields["learners"].items()],
        splits=check_integer(fields.get("splits", 20), "splits", low=1),
        resamplings=[
            check_option(name, "resampling", RESAMPLING)
            for name in fields.get("resampling", ["none"])
        ],
        shares=fields.get("shares", (None,)),
    )


def _read_learner(name: str, fields: dict[str, Any]) -> LearnerSpec:
    if not fields and name in PAPER_LEARNERS:
        return PAPER_LEARNERS[name]
    unknown = set(fields) - {"kind", "settings", "grid", "candidates"}
    if unknown:
        raise ValueError(
            f"Learner {name!r} has the unknown fields {', '.join(sorted(unknown))}; allowed are "
            "kind, settings, grid and candidates."
        )
    kind = check_option(fields.get("kind", name), f"kind of learner {name!r}", KINDS)
    return LearnerSpec(
        name, kind, fields.get("settings", {}), fields.get("grid"), fields.get("candidates")
    )
