"""Which version of the code computed a result: a hash of the source files that can change it."""

from __future__ import annotations

import ast
import hashlib
import inspect
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import raremetric
from raremetric.contenders import Contender
from raremetric.contenders.registry import load_class
from raremetric.study.tasks import LearnerSpec

# What every result depends on: the data, the protocol and the metric learners.
COMMON = (
    "datasets/*.py",
    "study/execution.py",
    *("contenders/base.py", "contenders/registry.py", "contenders/resampling.py"),
    *("learners/*.py", "losses/*.py", "solvers/*.py", "neighbors/*.py"),
    *("metric.py", "pairs.py", "performance.py", "sampling.py", "scales.py", "validation.py"),
)
# A majority vote of neighbors, as in the paper.
VOTES = (
    "contenders/neighbor_vote.py",
    *("classifier.py", "selection/folds.py", "selection/sample.py"),
    *("voting/fitting.py", "voting/training.py", "voting/votes.py"),
)
# Calibrated scores and a threshold.
SCORES = (
    *("classifier.py", "copies.py"),
    *("contenders/*.py", "features/*.py", "rare/*.py", "selection/*.py", "voting/*.py"),
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
    root = Path(raremetric.__file__).parent
    return hash_of_code([(root / name).read_bytes() for name in names])


def hash_of_code(sources: Iterable[bytes]) -> str:
    """A hash of the code of modules. A module that is moved or renamed does not change it."""
    parts = sorted(hashlib.sha256(_without_imports(source)).digest() for source in sources)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]


def _without_imports(source: bytes) -> bytes:
    """The lines of a module, except empty ones and imports, which contain names of modules."""
    lines = source.splitlines(keepends=True)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [b"\n"] * (last - first)
    return b"".join(line for line in lines if line.strip())


@cache
def _source_hash(estimator: type) -> str:
    """A hash of the file that defines a class."""
    try:
        source = Path(inspect.getfile(estimator)).read_bytes()
    except (TypeError, OSError):  # a class without a file, such as one of an extension module
        source = b""
    return hashlib.sha256(source).hexdigest()[:8]
