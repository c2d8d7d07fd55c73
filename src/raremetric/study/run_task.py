"""One task: tune on the training part, test once on the test part. A pure function."""

from __future__ import annotations

import hashlib
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.model_selection import StratifiedKFold, train_test_split
from threadpoolctl import threadpool_limits

import raremetric
from raremetric.datasets import load_dataset, with_minority_share
from raremetric.datasets.imbalance import TooFewMinorityError
from raremetric.extras import installed_versions
from raremetric.study.tasks import Task

TEST_SIZE, TEST_SIZE_WITH_SHARE = 0.7, 0.5  # the paper's
N_FOLDS = 5
# Packages that only show, save or explain results.
NOT_COMPUTING = ("report/", "cli", "table/", "explain/", "export")


class Split(NamedTuple):
    """Rows to learn from and to test on, and the folds within the former."""

    train: NDArray
    test: NDArray
    folds: list[tuple[NDArray, NDArray]]  # positions within train


@dataclass(frozen=True)
class Result:
    """The result of a finished task; without counts where the variant does not exist."""

    tn: int | None = None
    fp: int | None = None
    fn: int | None = None
    tp: int | None = None
    candidate: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)  # name of a candidate -> validated F1
    seconds: float = 0.0
    seeds: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    average_precision: float | None = None  # on the test part

    @property
    def exists(self) -> bool:
        """Whether the variant exists: a share may leave too few minority examples."""
        return self.tp is not None


def run_task(task: Task) -> Result:
    """Tune, fit and test. The same task gives the same result in every process."""
    start = time.perf_counter()
    about: dict[str, Any] = {
        "seeds": {"split": task.split, "candidates": task.split, "resampling": 42},
        "versions": {"raremetric": raremetric.__version__, **installed_versions()},
        "fingerprint": fingerprint(),
    }
    with threadpool_limits(1), warnings.catch_warnings():
        # Candidates that are cut short, and small classes in folds, are part of the protocol.
        warnings.simplefilter("ignore")
        try:
            X, y = _load(task)
        except TooFewMinorityError:
            return Result(**about)
        split = make_split(y, task.split, _test_size(task))
        contender = task.learner.contender()
        answer = contender.answer(
            contender.candidates(task.split),
            X[split.train],
            y[split.train],
            X[split.test],
            folds=split.folds,
            seed=task.split,
            resampling=task.resampling,
        )
    counts = confusion_matrix(y[split.test], answer.predicted, labels=[0, 1])
    return Result(
        **dict(zip(("tn", "fp", "fn", "tp"), counts.ravel().tolist(), strict=True)),
        candidate=answer.chosen,
        scores={name: round(score, 10) for name, score in answer.validation.items()},
        seconds=time.perf_counter() - start,
        average_precision=float(average_precision_score(y[split.test], answer.scores)),
        **about,
    )


def make_split(y: NDArray, split: int, test_size: float) -> Split:
    """Split number ``split``: one RandomState serves the split and then the folds."""
    rng = np.random.RandomState(split)
    train, test = train_test_split(
        np.arange(len(y)), stratify=y, shuffle=True, test_size=test_size, random_state=rng
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=rng)
    return Split(train, test, list(folds.split(train, y[train])))


def _test_size(task: Task) -> float:
    if task.test_size is not None:
        return task.test_size
    return TEST_SIZE if task.share is None else TEST_SIZE_WITH_SHARE


def _load(task: Task) -> tuple[NDArray, NDArray]:
    X, y = load_dataset(task.dataset, return_X_y=True)
    if task.share is None:
        return X, y
    return with_minority_share(X, y, task.share, random_state=task.split)


@cache
def fingerprint() -> str:
    """A hash of the code that computes results."""
    root = Path(raremetric.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(NOT_COMPUTING):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
