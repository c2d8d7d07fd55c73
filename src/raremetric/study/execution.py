"""Run tasks in this process, in several processes or on a Dask cluster, with equal results."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures.process import BrokenProcessPool
from functools import partial

from joblib import Parallel, delayed

from raremetric.study.protocol import fingerprint, run_task
from raremetric.study.store import Store
from raremetric.study.tasks import Result, Study, Task, all_tasks

MAX_DEATHS = 3  # of workers, without a finished task
Outcome = tuple[Task, Result | str]  # a result, or the traceback of a failure
Work = Callable[[Task], Outcome]


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
    work = partial(guarded, run)
    if dask is not None:
        return _on_dask(work, tasks, n_jobs, dask)
    return map(work, tasks) if n_jobs == 1 else _in_processes(work, tasks, n_jobs)


def _in_processes(work: Work, tasks: Sequence[Task], n_jobs: int) -> Iterator[Outcome]:
    """Run in joblib's processes. If a worker dies, the remaining tasks run in a new pool."""
    left, n_deaths = {task.id: task for task in tasks}, 0
    while left:
        pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        before = len(left)
        try:
            for task, outcome in pool(delayed(work)(task) for task in list(left.values())):
                del left[task.id]
                yield task, outcome
        except BrokenProcessPool as error:
            n_deaths = n_deaths + 1 if len(left) == before else 0
            if n_deaths == MAX_DEATHS:
                raise ValueError(
                    f"{MAX_DEATHS} times in a row, a worker process was killed before any task was "
                    "finished. Is there enough memory? Try a smaller number of jobs."
                ) from error


def _on_dask(work: Work, tasks: Sequence[Task], n_jobs: int, address: str) -> Iterator[Outcome]:
    from raremetric.dask.cluster import as_completed, dask_client

    with dask_client(address, n_jobs) as client:
        futures = [client.submit(work, task, key=task.id, pure=False) for task in tasks]
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
    run: Callable[[Task], Result] = run_task,
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
    run : callable (task) -> Result
        What computes a result.
    """
    with store.writing():
        store.record(studies)
        missing = store.missing(all_tasks(studies), retry_failed)
        for task, outcome in execute(run, missing, n_jobs, dask):
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
    note = (
        f"{len(names)} finished tasks of {', '.join(sorted({*names}))} were computed with other "
        "code than today's and are kept. To compute them again, use another store."
    )
    return [note] if names else []
