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
from raremetric.study.alternatives import ALTERNATIVES
from raremetric.study.contenders import CONTENDERS
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
        """The name; for anything but the settings known by it, with a mark that tells it apart."""
        if self == LEARNERS.get(self.name):
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
    test_size: float | None = None  # None: the paper's

    @property
    def id(self) -> str:
        """The same for the same work, on any machine."""
        share = "own" if self.share is None else f"{self.share:g}"
        if self.test_size is not None:
            share += f"@{self.test_size:g}"
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
    test_size: float | None = None  # None: the paper's

    def tasks(self) -> list[Task]:
        """All tasks, split by split, so that an unfinished study has whole splits first."""
        return [
            Task(dataset, share, resampling, split, learner, self.test_size)
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
LEARNERS = PAPER_LEARNERS | {
    spec.name: spec
    for spec in (
        LearnerSpec("IML-30", "IML", n_candidates=30),
        *(_tuned(kind, kind) for kind in ALTERNATIVES),
        # With as many repeats of the cross-validation as RareClassifier-thorough.
        *(_tuned(f"{kind}-thorough", kind, thorough=True) for kind in ALTERNATIVES),
        _tuned("IML-score", "IML-score"),
        _tuned("RareClassifier-fast", "RareClassifier", budget="fast"),
        _tuned("RareClassifier-thorough", "RareClassifier", budget="thorough"),
    )
}
OURS = ("IML-score", "RareClassifier-fast", "RareClassifier-thorough")
TABLE_LEARNERS = ("Euclidean", "LMNN", "ITML", "GMML", "IML")
PAPER_STUDIES: dict[str, dict[str, Any]] = {
    "table2": {},
    "table3-smote": {"resamplings": ("smote",)},
    "table3-rus": {"resamplings": ("rus",)},
    "imbalance": {"shares": SHARES},
    "ablation": {"shares": SHARES, "learners": ("IML", "ML2", "ML1")},
}
HALVES: dict[str, Any] = {
    "learners": ("Euclidean", "IML-30", *ALTERNATIVES, *OURS),
    "splits": 5,
    "test_size": 0.5,
}
RARE_REGIME = {"rare-regime-odd": 0, "rare-regime-even": 1}  # the first place of the list is odd
NAMED = {
    **PAPER_STUDIES,
    "beyond": {"learners": ("Euclidean", "IML", *ALTERNATIVES, "SVM-laplacian-thorough", *OURS)},
    "rare-regime-odd": HALVES,
    "rare-regime-even": HALVES,
}
GROUPS = {"all": tuple(PAPER_STUDIES), "rare-regime": tuple(RARE_REGIME)}


def named_study(name: str) -> list[Study]:
    """One of the known studies, ``"all"`` of the paper's, or both of ``"rare-regime"``."""
    if name in GROUPS:
        return [study for each in GROUPS[name] for study in named_study(each)]
    check_option(name, "study", (*NAMED, *GROUPS))
    parts: dict[str, Any] = {"learners": TABLE_LEARNERS, **NAMED[name]}
    learners = [LEARNERS[learner] for learner in parts.pop("learners")]
    datasets = rare_regime(name) if name in RARE_REGIME else list_datasets("paper")
    return [Study(name, datasets, learners, **parts)]


def rare_regime(name: str) -> list[str]:
    """KEEL's data sets at odd or even places of the alphabet."""
    return sorted(list_datasets("keel"))[RARE_REGIME[name] :: 2]


def restrict(
    study: Study,
    datasets: Iterable[str] | None = None,
    learners: Iterable[str] | None = None,
    splits: int | None = None,
) -> Study:
    """A part of a study; learners may also be any that is known by name."""
    if datasets is not None:
        known = list_datasets()
        study = replace(study, datasets=[check_option(d, "data set", known) for d in datasets])
    if learners is not None:
        specs = {**LEARNERS, **{spec.name: spec for spec in study.learners}}
        names = [check_option(name, "learner", specs) for name in learners]
        study = replace(study, learners=[specs[name] for name in names])
        check_resampling(study)
    if splits is not None:
        study = replace(study, splits=check_integer(splits, "splits", low=1))
    return study


def read_study(path: Path) -> Study:
    """A user's own study from a TOML file: see the documentation for its fields."""
    try:
        fields = tomllib.loads(path.read_text())
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is no study that can be read: {error}") from error
    allowed = {"name", "datasets", "learners", "splits", "resampling", "shares", "test_size"}
    unknown = set(fields) - allowed
    if unknown or not {"datasets", "learners"} <= set(fields):
        raise ValueError(
            f"{path} must have the fields datasets and learners, and may have "
            f"{', '.join(sorted(allowed - {'datasets', 'learners'}))}; it has "
            f"{', '.join(sorted(fields))}."
        )
    known = list_datasets()
    study = Study(
        name=fields.get("name", path.stem),
        datasets=[check_option(name, "data set", known) for name in fields["datasets"]],
        learners=[_read_learner(name, spec) for name, spec in fields["learners"].items()],
        splits=check_integer(fields.get("splits", 20), "splits", low=1),
        resamplings=[
            check_option(name, "resampling", RESAMPLING)
            for name in fields.get("resampling", ["none"])
        ],
        shares=fields.get("shares", (None,)),
        test_size=_read_test_size(fields.get("test_size")),
    )
    check_resampling(study)
    return study


def check_resampling(study: Study) -> None:
    """Refuse what has no meaning: learners with a threshold of their own are not resampled for."""
    wrong = [spec.name for spec in study.learners if spec.kind in CONTENDERS]
    if wrong and set(study.resamplings) != {"none"}:
        raise ValueError(
            f"{', '.join(wrong)} put a threshold in place of resampling, and run with resampling "
            f"'none' only; the study {study.name} has {', '.join(study.resamplings)}."
        )


def _read_test_size(value: Any) -> float | None:
    if value is None or (isinstance(value, float) and 0 < value < 1):
        return value
    raise ValueError(
        f"test_size must be between 0 and 1, such as 0.5 for a half; got {value!r}. Leave it out "
        "for the paper's."
    )


def _read_learner(name: str, fields: dict[str, Any]) -> LearnerSpec:
    if not fields and name in LEARNERS:
        return LEARNERS[name]
    unknown = set(fields) - {"kind", "settings", "grid", "candidates"}
    if unknown:
        raise ValueError(
            f"Learner {name!r} has the unknown fields {', '.join(sorted(unknown))}; allowed are "
            "kind, settings, grid and candidates."
        )
    kind = check_option(
        fields.get("kind", name), f"kind of learner {name!r}", (*KINDS, *CONTENDERS)
    )
    return LearnerSpec(
        name, kind, fields.get("settings", {}), fields.get("grid"), fields.get("candidates")
    )
