"""One task: tune on the training part, score once on the test part. A pure function."""

from __future__ import annotations

import hashlib
import platform
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_limits

import raremetric
from raremetric.datasets import load_dataset, with_minority_share
from raremetric.datasets.imbalance import TooFewMinorityError
from raremetric.learners.grid import Fold, rare_f1, score_candidates
from raremetric.study.contenders import CONTENDERS, Answer, contend, contender_candidates
from raremetric.study.protocol import (
    KINDS,
    N_NEIGHBORS,
    Candidate,
    candidates,
    grid_candidates,
    make_split,
    prepare,
    winner,
)
from raremetric.study.tasks import Task
from raremetric.validation import check_labels

TEST_SIZE, TEST_SIZE_OF_VARIANTS = 0.7, 0.5
POSITIVE = 1


@dataclass(frozen=True)
class Result:
    """What a finished task leaves behind; no counts where the variant does not exist."""

    tn: int | None = None
    fp: int | None = None
    fn: int | None = None
    tp: int | None = None
    candidate: dict[str, Any] = field(default_factory=dict)
    scores: dict[str, float] = field(default_factory=dict)  # printed candidate -> validated F1
    seconds: float = 0.0
    seeds: dict[str, int] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    average_precision: float | None = None  # on the test part

    @property
    def exists(self) -> bool:
        """Whether there was anything to do: a share may leave too few minority examples."""
        return self.tp is not None


def run_task(task: Task) -> Result:
    """Tune, refit, test. The same task gives the same result, whoever runs it."""
    start = time.perf_counter()
    about: dict[str, Any] = {
        "seeds": {"split": task.split, "candidates": task.split, "resampling": 42},
        "versions": versions(),
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
        X_train, y_train, X_test = X[split.train], y[split.train], X[split.test]
        tried = _candidates(task)
        if task.learner.kind in CONTENDERS:
            spec = task.learner
            answer = contend(spec.kind, spec.settings, tried, X_train, y_train, X_test, task.split)
        else:
            answer = _vote(task, tried, X_train, y_train, X_test, split.folds)
    counts = confusion_matrix(y[split.test], answer.called, labels=[1 - POSITIVE, POSITIVE])
    return Result(
        **dict(zip(("tn", "fp", "fn", "tp"), counts.ravel().tolist(), strict=True)),
        candidate=answer.candidate,
        scores={name: round(score, 10) for name, score in answer.validation.items()},
        seconds=time.perf_counter() - start,
        average_precision=float(average_precision_score(y[split.test], answer.scores)),
        **about,
    )


def _test_size(task: Task) -> float:
    if task.test_size is not None:
        return task.test_size
    return TEST_SIZE if task.share is None else TEST_SIZE_OF_VARIANTS


def _load(task: Task) -> tuple[NDArray, NDArray]:
    X, y = load_dataset(task.dataset, return_X_y=True)
    if task.share is None:
        return X, y
    return with_minority_share(X, y, task.share, random_state=task.split)


def _candidates(task: Task) -> list[Candidate]:
    spec = task.learner
    if spec.kind in CONTENDERS:
        return contender_candidates(spec.kind, spec.grid, spec.n_candidates, task.split)
    if spec.grid is not None:
        return grid_candidates(spec.grid, spec.n_candidates, task.split)
    return candidates(spec.kind, task.split)[: spec.n_candidates]


def _vote(
    task: Task,
    tried: Sequence[Candidate],
    X: NDArray,
    y: NDArray,
    X_test: NDArray,
    folds: Sequence,
) -> Answer:
    """The paper's way: the winner of the folds, refitted, and three neighbors that vote."""
    scores = _validate(task, tried, X, y, folds)
    chosen = tried[winner(tried, scores)]
    X, y, X_test = prepare(X, y, X_test, task.resampling)
    learner = KINDS[task.learner.kind](**task.learner.settings, **chosen.params).fit(X, y)
    knn = KNeighborsClassifier(N_NEIGHBORS, algorithm="brute").fit(learner.transform(X), y)
    shares = knn.predict_proba(learner.transform(X_test))
    return Answer(
        knn.classes_[np.argmax(shares, axis=1)],
        shares[:, list(knn.classes_).index(POSITIVE)],
        chosen.params,
        {c.printed: s for c, s in zip(tried, scores, strict=True)},
    )


def _validate(
    task: Task, tried: Sequence[Candidate], X: NDArray, y: NDArray, folds: Sequence
) -> list[float]:
    """Mean F1 of each candidate over the folds."""
    if len(tried) == 1:
        return [0.0]  # nothing to choose between
    scores = []
    for train, test in folds:
        X_train, y_train, X_test = prepare(X[train], y[train], X[test], task.resampling)
        fold = Fold(X_train, check_labels(y_train, "A fold"), X_test, y[test])
        scores.append(_score_fold(task, tried, fold))
    return np.mean(scores, axis=0).tolist()


def _score_fold(task: Task, tried: Sequence[Candidate], fold: Fold) -> list[float]:
    spec, score = task.learner, rare_f1(POSITIVE)
    settings = [{**spec.settings, **candidate.params} for candidate in tried]
    if spec.kind == "IML":
        return [f1 for f1, _ in score_candidates(fold, settings, score, N_NEIGHBORS)]
    y = fold.labels.classes[fold.labels.codes]
    fitted = (KINDS[spec.kind](**params).fit(fold.X, y) for params in settings)
    return [score(learner.components_, fold, N_NEIGHBORS) for learner in fitted]


@cache
def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    names = ("numpy", "scipy", "scikit-learn", "numba", "imbalanced-learn")
    return {
        "python": platform.python_version(),
        "raremetric": raremetric.__version__,
        **{name: metadata.version(name) for name in names},
    }


@cache
def fingerprint() -> str:
    """A mark of the code that computes results: all of the package but what only shows or saves."""
    root = Path(raremetric.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if not name.startswith(("report/", "cli", "table/", "explain/", "export")):
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]
