"""Run tasks in this process, in several processes or on a Dask cluster, with equal results.

A result has a fingerprint of the code that computed it: a hash of the source files that can change
it.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import average_precision_score, confusion_matrix, log_loss
from threadpoolctl import threadpool_limits

import raremetric
from raremetric.contenders import Contender
from raremetric.contenders.registry import load_class
from raremetric.datasets import load_dataset, with_minority_share
from raremetric.datasets.imbalance import TooFewMinorityError
from raremetric.extras import installed_versions
from raremetric.study.splits import encoded, make_split
from raremetric.study.store import Store
from raremetric.study.tasks import COUNTS, LearnerSpec, Result, Study, Task, all_tasks
from raremetric.validation import take_rows

TEST_SIZE, TEST_SIZE_WITH_SHARE = 0.7, 0.5  # by default
MAX_DEATHS = 3  # of workers, without a finished task
# What every result depends on: the data, the protocol and the metric learners.
COMMON = (
    *("datasets/*.py", "datasets/registry.csv", "encoding/*.py"),
    *("study/execution.py", "study/splits.py"),
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
Outcome = tuple[Task, Result | str]  # a result, or the traceback of a failure


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
        train, test = encoded(X, split)
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


def guarded(run: Callable[[Task], Result], task: Task) -> Outcome:
    """Run a task; a failure is returned as its traceback and does not stop the others."""
    try:
        return task, run(task)
    except Exception as error:
        if _is_interrupt(error):
            raise KeyboardInterrupt from error
        return task, traceback.format_exc()


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether an error is a consequence of Ctrl-C: compiled functions make it a SystemError."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def execute(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int = 1, dask: str | None = None
) -> Iterator[Outcome]:
    """Outcomes of the tasks, as they finish: see `run_missing` for the parameters."""
    if dask is not None:
        return _on_dask(run, tasks, n_jobs, dask)
    if n_jobs != 1:
        return _in_processes(run, tasks, n_jobs)
    return (guarded(run, task) for task in tasks)


def _in_processes(run: Callable, tasks: Sequence[Task], n_jobs: int) -> Iterator[Outcome]:
    """Run in joblib's processes. If a worker dies, the remaining tasks run in a new pool."""
    left, n_deaths = {task.id: task for task in tasks}, 0
    while left:
        pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        before = len(left)
        try:
            for task, outcome in pool(delayed(guarded)(run, task) for task in list(left.values())):
                del left[task.id]
                yield task, outcome
        except BrokenProcessPool as error:
            n_deaths = n_deaths + 1 if len(left) == before else 0
            if n_deaths == MAX_DEATHS:
                raise ValueError(
                    f"{MAX_DEATHS} times in a row, a worker process was killed before any task was "
                    "finished. Is there enough memory? Try a smaller number of jobs."
                ) from error


def _on_dask(run: Callable, tasks: Sequence[Task], n_jobs: int, address: str) -> Iterator[Outcome]:
    from raremetric.dask.cluster import as_completed, dask_client

    with dask_client(address, n_jobs) as client:
        futures = [client.submit(guarded, run, task, key=task.id, pure=False) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


def run_missing(
    store: Store,
    studies: Sequence[Study],
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    on_result: Callable[[Task, Result | str], None] = lambda task, outcome: None,
) -> None:
    """Run the tasks that the store does not have yet, and save each outcome as it finishes.

    Parameters
    ----------
    store : Store
    studies : sequence of Study
        They are recorded in the store.
    n_jobs : int
        Processes, or workers of a local Dask cluster.
    dask : str or None
        Address of a Dask scheduler, or ``"local"``.
    retry_failed : bool
        Whether to run tasks again that failed before.
    on_result : callable (task, outcome)
        Called after each task is saved.
    """
    with store.writing():
        store.record(studies)
        missing = store.missing(all_tasks(studies), retry_failed)
        for task, outcome in execute(run_task, missing, n_jobs, dask):
            if isinstance(outcome, str):
                store.save_failure(task, outcome)
            else:
                store.save(task, outcome)
            on_result(task, outcome)


def code_notes(store: Store, tasks: Iterable[Task]) -> list[str]:
    """A note on finished tasks of users' own classes whose code, or raremetric's, has changed."""
    recorded = dict(store.select(["id", "fingerprint"]))
    names = [
        task.learner.name
        for task in tasks
        if task.learner.is_custom
        and recorded.get(task.id) not in (None, "", fingerprint(task.learner))
    ]
    if not names:
        return []
    return [
        f"{len(names)} finished tasks of {', '.join(sorted({*names}))} were computed with other "
        "code than today's and are kept. To compute them again, use another store."
    ]


def seconds_left(store: Store, missing: Sequence[Task], n_jobs: int) -> float | None:
    """Expected time for the missing tasks, from similar finished ones; None without any."""
    known = store.mean_seconds()
    if not missing or not known:
        return 0.0 if not missing else None
    typical = sum(known.values()) / len(known)
    total = sum(known.get((task.dataset, task.learner.name), typical) for task in missing)
    return total / n_jobs


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
    nodes: Iterable[ast.AST] = ()
    with suppress(SyntaxError):  # of the table of data sets
        nodes = ast.walk(ast.parse(source))
    for node in nodes:
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
