"""What a study consists of: tasks with stable ids, each independent of all others."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from raremetric.contenders import CONTENDERS, Contender, make_contender

if TYPE_CHECKING:
    from pandas import DataFrame

MAX_TASKS = 10_000_000
COUNTS = ("tn", "fp", "fn", "tp")


class Measure(NamedTuple):
    """A measure that larger values are better of."""

    name: str
    ending: str  # of the names of its files
    description: str


MEASURES = {
    "f1": Measure("F1", "", "F1 of the positive class in percent"),
    "average_precision": Measure(
        "average precision", "-precision", "Average precision of the positive class in percent"
    ),
    "neg_log_loss": Measure("negative log-loss", "-log-loss", "−100 times the log-loss"),
}
# Columns of the results that reports are made from. Results of earlier versions lack the last
# three, which are empty for votes of neighbors.
REPORTED = (
    *("dataset", "share", "resampling", "split", "learner", *COUNTS, "candidate", "seconds"),
    *("average_precision", "test_size", "fingerprint"),
    *(MEASURED := ("log_loss", "fit_seconds", "predict_microseconds")),
)


@dataclass(frozen=True)
class LearnerSpec:
    """A learner of a study, as data: see `raremetric.contenders.Contender` for the fields."""

    name: str
    kind: str
    settings: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, list] | None = None
    n_candidates: int | None = None

    @classmethod
    def from_dict(cls, name: str, values: dict[str, Any]) -> LearnerSpec:
        """From the fields in a study file; without any, the registered contender of that name."""
        known = CONTENDERS.get(name)
        if known is not None and not values:
            grid = None if known.grid is None else {k: list(v) for k, v in known.grid.items()}
            return cls(name, known.kind, dict(known.settings), grid, known.n_candidates)
        settings, kind = values.get("settings", {}), values.get("kind", name)
        return cls(name, kind, settings, values.get("grid"), values.get("candidates"))

    def to_dict(self) -> dict[str, Any]:
        """The fields as a study file gives them; empty for a registered contender."""
        if self.is_registered:
            return {}
        values = {name: getattr(self, name) for name in ("kind", "settings", "grid")}
        values["candidates"] = self.n_candidates
        return {name: value for name, value in values.items() if value not in (None, {})}

    @property
    def is_registered(self) -> bool:
        """Whether this is the contender that is registered by its name."""
        return self.name in CONTENDERS and self == LearnerSpec.from_dict(self.name, {})

    @property
    def label(self) -> str:
        """What tells the learner apart from others in ids of tasks.

        The name, if it is that of a registered contender, or of a class with nothing but its
        defaults; else the name and a hash of everything else. The module of a class does not
        count: it may be moved.
        """
        kind = self.kind[self.kind.find(":") :] if self.is_custom else self.kind
        parameters = (self.settings, self.grid, self.n_candidates)
        is_plain_class = kind.lstrip(":") == self.name and parameters == ({}, None, None)
        if self.is_registered or (is_plain_class and self.name not in CONTENDERS):
            return self.name
        text = json.dumps((kind, *parameters), sort_keys=True)
        return f"{self.name}#{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def is_custom(self) -> bool:
        """Whether this is a user's own class, given by its import path."""
        return ":" in self.kind

    def contender(self) -> Contender:
        """The object that tunes, fits and predicts."""
        if self.is_registered:
            return CONTENDERS[self.name]
        return make_contender(self.kind, self.name, self.settings, self.grid, self.n_candidates)


@dataclass(frozen=True)
class Task:
    """One data set (or a variant of it), one resampling, one split, one learner."""

    dataset: str
    share: float | None
    resampling: str
    split: int
    learner: LearnerSpec
    test_size: float | None = None  # None: the default of `execution`

    @property
    def id(self) -> str:
        """The same for the same work, on any machine."""
        share = "own" if self.share is None else f"{self.share:g}"
        if self.test_size is not None:
            share += f"@{self.test_size:g}"
        return f"{self.dataset}/{share}/{self.resampling}/{self.split}/{self.learner.label}"

    def columns(self) -> dict[str, Any]:
        """What a table of results says about the task."""
        names = ("id", "dataset", "share", "test_size", "resampling", "split")
        return {name: getattr(self, name) for name in names} | {"learner": self.learner.name}


@dataclass(frozen=True)
class Result:
    """The result of a finished task; without counts where there is nothing to compute."""

    tn: int | None = None
    fp: int | None = None
    fn: int | None = None
    tp: int | None = None
    candidate: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)  # name of a candidate -> its F1
    seconds: float = 0.0
    seeds: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    average_precision: float | None = None  # on the test part
    log_loss: float | None = None  # the same, of the probabilities
    fit_seconds: float | None = None  # CPU time to tune and fit
    predict_microseconds: float | None = None  # CPU time per row of the test part

    @property
    def exists(self) -> bool:
        """Whether there was something to compute.

        A share may leave too few minority examples, and a learner that chooses a threshold is not
        resampled.
        """
        return self.tp is not None


@dataclass(frozen=True)
class Study:
    """Data sets, shares, resamplings, splits and learners to combine, and how to report them.

    Parameters
    ----------
    name : str
    datasets : sequence of str
    learners : sequence of LearnerSpec
    splits : int
        Number of random splits of each data set.
    first_split : int
        Number of the first of them, which is also its seed.
    resampling : sequence of {"none", "smote", "rus"}
    shares : sequence of float or None
        Shares of the minority class that data sets are reduced to; None for their own share.
    test_size : float or None
        Fraction of the rows to test on. None is 0.7, or 0.5 with a share.
    title : str
        Heading in reports; the name if empty.
    measures : sequence of {"f1", "average_precision", "neg_log_loss"}
        One table of results for each.
    leader : str or None
        The learner whose lead over each of the others is reported.
    few_positives : bool
        Whether to report separate means over data sets with few positives.
    """

    name: str
    datasets: Sequence[str]
    learners: Sequence[LearnerSpec]
    splits: int = 20
    resampling: Sequence[str] = ("none",)
    shares: Sequence[float | None] = (None,)
    test_size: float | None = None
    title: str = ""
    measures: Sequence[str] = ("f1",)
    leader: str | None = None
    few_positives: bool = False
    first_split: int = 1

    def tasks(self) -> list[Task]:
        """All tasks, split by split, so that an unfinished study has whole splits first."""
        parts = (self.datasets, self.shares, self.resampling, self.learners)
        if (n_tasks := self.splits * math.prod(map(len, parts))) > MAX_TASKS:
            raise ValueError(
                f"The study {self.name!r} has {n_tasks} tasks; there can be at most {MAX_TASKS}. "
                "Choose a smaller number of splits."
            )
        return [
            Task(dataset, share, resampling, split, learner, self.test_size)
            for split in range(self.first_split, self.first_split + self.splits)
            for dataset in self.datasets
            for share in self.shares
            for resampling in self.resampling
            for learner in self.learners
        ]

    def to_dict(self) -> dict[str, Any]:
        """The fields of a study file, without defaults; can be written as JSON."""
        shown = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in vars(self).items()
            if value != getattr(Study, name, None)  # the class has the defaults
        }
        return shown | {"learners": {spec.name: spec.to_dict() for spec in self.learners}}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Study:
        """From the fields of a study file, which are taken as they are."""
        values = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in values.items()
        }
        specs = (LearnerSpec.from_dict(*each) for each in values["learners"].items())
        return cls(**values | {"learners": tuple(specs)})

    def extended(self, part: Study) -> Study:
        """Add a part of the study that was run later: the result has all that either has.

        A learner that changed under the same name is taken from the later one.
        """
        if part.test_size != self.test_size:
            return part
        learners = {spec.name: spec for spec in (*self.learners, *part.learners)}
        first = min(self.first_split, part.first_split)
        end = max(study.first_split + study.splits for study in (self, part))
        return replace(
            part,
            datasets=_union(self.datasets, part.datasets),
            learners=tuple(learners.values()),
            splits=end - first,
            first_split=first,
            resampling=_union(self.resampling, part.resampling),
            shares=_union(self.shares, part.shares),
        )


@dataclass(frozen=True)
class StudyResults:
    """A study and the finished tasks that belong to it: one row per task, columns `REPORTED`."""

    study: Study
    rows: DataFrame


def all_tasks(studies: Iterable[Study]) -> list[Task]:
    """The tasks of several studies; those that they share are listed once."""
    return list({task.id: task for study in studies for task in study.tasks()}.values())


def _union(first: Iterable, second: Iterable) -> tuple:
    return tuple(dict.fromkeys([*first, *second]))
