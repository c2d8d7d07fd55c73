"""Which version of the code computed a result: a hash of the source files that can change it."""

from __future__ import annotations

import hashlib
import inspect
from functools import cache
from pathlib import Path

import raremetric
from raremetric.contenders import Contender
from raremetric.contenders.registry import load_class
from raremetric.study.tasks import LearnerSpec

# What every result depends on: the data, the protocol and the metric learners.
COMMON = (
    *(
        "datasets/imbalance.py",
        "datasets/loading.py",
        "datasets/parsers.py",
        "datasets/registry.py",
    ),
    "study/execution.py",
    *("contenders/base.py", "contenders/registry.py", "contenders/resampling.py"),
    *("learners/*.py", "losses/*.py", "solvers/*.py", "neighbors/*.py"),
    *("metric.py", "pairs.py", "performance.py", "scales.py", "validation.py"),
)
# A majority vote of neighbors, as in the paper.
VOTES = (
    *("contenders/neighbor_vote.py", "contenders/paper_grids.py", "contenders/vote_folds.py"),
    *("classifier.py", "voting/fitting.py", "voting/training.py", "voting/votes.py"),
)
# Calibrated scores and a threshold.
SCORES = (
    *("classifier.py", "copies.py"),
    *("contenders/*.py", "features/*.py", "rare/*.py", "voting/*.py"),
)


def fingerprint(learner: LearnerSpec) -> str:
    """A hash of the code that computes the results of a learner."""
    package = _hash_of_files(computing_files(learner.contender()))
    return f"{package}+{_source_hash(load_class(learner.kind))}" if learner.is_custom else package


def computing_files(contender: Contender) -> tuple[str, ...]:
    """The files of this package that can change a result of a contender, relative to its folder.

    Code that reads a user's own tables, or shows and explains results, is not among them.
    """
    root = Path(raremetric.__file__).parent
    patterns = (*COMMON, *(SCORES if contender.has_threshold else VOTES))
    found = {path.relative_to(root).as_posix() for each in patterns for path in root.glob(each)}
    return tuple(sorted(found))


@cache
def _hash_of_files(names: tuple[str, ...]) -> str:
    root, digest = Path(raremetric.__file__).parent, hashlib.sha256()
    for name in names:
        digest.update(name.encode() + (root / name).read_bytes())
    return digest.hexdigest()[:16]


@cache
def _source_hash(estimator: type) -> str:
    """A hash of the file that defines a class."""
    try:
        source = Path(inspect.getfile(estimator)).read_bytes()
    except (TypeError, OSError):  # a class without a file, such as one of an extension module
        source = b""
    return hashlib.sha256(source).hexdigest()[:8]
