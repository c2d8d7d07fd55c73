"""What a task does: split a data set, tune, fit and test; and the fingerprint of that code."""

from __future__ import annotations

import hashlib
import inspect
import time
import warnings
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, confusion_matrix, log_loss
from sklearn.model_selection import (
    GroupShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    train_test_split,
)
from threadpoolctl import threadpool_limits

import raremetric
from raremetric.contenders.registry import load_class
from raremetric.datasets import load_dataset, with_minority_share
from raremetric.datasets.imbalance import TooFewMinorityError
from raremetric.encoding import TableEncoder
from raremetric.extras import installed_versions
from raremetric.study.tasks import COUNTS, LearnerSpec, Result, Task
from raremetric.validation import take_rows

TEST_SIZE, TEST_SIZE_WITH_SHARE = 0.7, 0.5  # by default
N_FOLDS = 5
ROOT = Path(raremetric.__file__).parent
# What cannot change a result: it shows results, or reads a user's own tables.
NEUTRAL = {"cli.py", "dask", "explain", "export", "pages.py", "study", "table", "terminal.py"}


class Split(NamedTuple):
    """Rows to learn from and to test on, and the folds within the former."""

    train: NDArray
    test: NDArray
    folds: list[tuple[NDArray, NDArray]]  # positions within train


def make_split(y: NDArray, split: int, test_size: float, groups: NDArray | None = None) -> Split:
    """Split number ``split``: one RandomState for the split and then for the folds.

    Rows of a group are on one side, also in the folds.
    """
    rng = np.random.RandomState(split)
    if groups is not None:
        halves = GroupShuffleSplit(1, test_size=test_size, random_state=rng)
        train, test = next(halves.split(y, y, groups))
        by_group = StratifiedGroupKFold(N_FOLDS, shuffle=True, random_state=rng)
        return Split(train, test, list(by_group.split(train, y[train], groups[train])))
    train, test = train_test_split(
        np.arange(len(y)), stratify=y, shuffle=True, test_size=test_size, random_state=rng
    )
    folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=rng)
    return Split(train, test, list(folds.split(train, y[train])))


def encoded(X: Any, split: Split, max_levels: int = 20) -> tuple[NDArray, NDArray]:
    """Both parts of the rows as numbers; a data frame is encoded as its training part says."""
    train, test = take_rows(X, split.train), take_rows(X, split.test)
    if isinstance(X, np.ndarray):
        return train, test
    encoder = TableEncoder(max_levels=max_levels).fit(train)
    return encoder.transform(train), encoder.transform(test)


def run_task(task: Task) -> Result:
    """Tune, fit and test. The same task gives the same result in every process."""
    start = time.perf_counter()
    about: dict[str, Any] = {
        "seeds": {"split": task.split, "candidates": task.split, "resampling": 42},
        "versions": {"raremetric": raremetric.__version__, **installed_versions()},
        "fingerprint": fingerprint(task.learner),
    }
    contender = task.learner.contender()
    if contender.has_threshold and task.resampling != "none":
        return Result(**about)  # see `check_resamplings`
    with threadpool_limits(1), warnings.catch_warnings():
        # Candidates that are cut short, and small classes in folds, are part of the protocol.
        warnings.simplefilter("ignore")
        try:
            data: Any = load_dataset(task.dataset)
            X, y, groups = data.data, data.target, data.groups
            if task.share is not None:
                rows, y = with_minority_share(
                    np.arange(len(y)), y, task.share, random_state=task.split
                )
                X, groups = take_rows(X, rows), None if groups is None else groups[rows]
        except TooFewMinorityError:
            return Result(**about)
        default = TEST_SIZE if task.share is None else TEST_SIZE_WITH_SHARE
        split = make_split(y, task.split, task.test_size or default, groups)
        train, test = encoded(X, split, contender.max_levels)
        begin = time.process_time()
        tuned = contender.fit(
            contender.candidates(task.split),
            train,
            y[split.train],
            folds=None if contender.has_threshold else split.folds,
            groups=None if groups is None else groups[split.train],
            seed=task.split,
            resampling=task.resampling,
            max_samples=contender.default_max_samples,
            queries=test,  # without their labels, and for transductive methods only
        )
        fit_seconds = time.process_time() - begin
        answer = tuned.answer(test)
        if contender.has_threshold:
            begin = time.process_time()
            p = tuned.probabilities(test)
            about["predict_microseconds"] = 1e6 * (time.process_time() - begin) / len(p)
            about["log_loss"] = float(log_loss(y[split.test], p))
    counts = confusion_matrix(y[split.test], answer.predicted, labels=[0, 1])
    return Result(
        **dict(zip(COUNTS, counts.ravel().tolist(), strict=True)),
        candidate=tuned.chosen,
        scores={name: round(score, 10) for name, score in tuned.validation.items()},
        seconds=time.perf_counter() - start,
        fit_seconds=fit_seconds,
        average_precision=float(average_precision_score(y[split.test], answer.scores)),
        **about,
    )


def fingerprint(learner: LearnerSpec) -> str:
    """A hash of the code of this package that computes results, and of a user's own class."""
    package = package_fingerprint()
    return f"{package}+{_source_hash(load_class(learner.kind))}" if learner.is_custom else package


@cache
def package_fingerprint(root: Path = ROOT) -> str:
    """The part of a fingerprint before the plus sign, of the package in a folder.

    A module that is moved or renamed does not change it.
    """
    parts = sorted(hashlib.sha256(path.read_bytes()).digest() for path in computing_files(root))
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def computing_files(root: Path) -> list[Path]:
    """The files of the package that can change a result."""
    files = [path for path in root.rglob("*.py") if path.relative_to(root).parts[0] not in NEUTRAL]
    return [*files, root / "study" / "protocol.py", root / "datasets" / "registry.csv"]


@cache
def _source_hash(estimator: type) -> str:
    """A hash of the file that defines a class."""
    try:
        source = Path(inspect.getfile(estimator)).read_bytes()
    except (TypeError, OSError):  # a class without a file, such as one of an extension module
        source = b""
    return hashlib.sha256(source).hexdigest()[:8]
