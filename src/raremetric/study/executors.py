"""Tasks in this process, in several, or on a Dask cluster: the same results from each."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from raremetric.study.run_task import Result, run_task
from raremetric.study.store import Store
from raremetric.study.tasks import Task

Outcome = tuple[Task, Result | str]  # a result, or the traceback of a failure


def guarded(run: Callable[[Task], Result], task: Task) -> Outcome:
    """Run a task; a failure is an outcome too and does not stop the rest."""
    try:
        return task, run(task)
    except Exception:
        return task, traceback.format_exc()


def execute(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int = 1, dask: str | None = None
) -> Iterator[Outcome]:
    """Outcomes as they come.

    Parameters
    ----------
    run : callable Task -> Result
        Can be pickled.
    tasks : sequence of Task
    n_jobs : int
        Processes, or workers of a local Dask cluster.
    dask : str or None
        Address of a Dask scheduler, or ``"local"``.
    """
    if dask is not None:
        return _on_dask(run, tasks, n_jobs, dask)
    if n_jobs == 1:
        return (guarded(run, task) for task in tasks)
    return _in_processes(run, tasks, n_jobs)


def _in_processes(run: Callable, tasks: Sequence[Task], n_jobs: int) -> Iterator[Outcome]:
    """Processes by joblib. A process that dies takes the pool along: go on with a new one."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    left = {task.id: task for task in tasks}
    while left:
        pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs")
        before = len(left)
        try:
            for task, outcome in pool(delayed(guarded)(run, task) for task in list(left.values())):
                del left[task.id]
                yield task, outcome
        except TerminatedWorkerError:
            if len(left) == before:  # not one task survived: more tries would go the same way
                raise


def _on_dask(run: Callable, tasks: Sequence[Task], n_jobs: int, address: str) -> Iterator[Outcome]:
    from dask.distributed import as_completed

    with _dask_client(n_jobs, address) as client:
        futures = [client.submit(guarded, run, task, key=task.id, pure=False) for task in tasks]
        for future in as_completed(futures):
            yield future.result()


@contextmanager
def _dask_client(n_jobs: int, address: str) -> Iterator[Any]:
    import dask
    from dask.distributed import Client, LocalCluster

    if address != "local":
        try:
            client = Client(address, timeout=10)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"No Dask scheduler answers at {address!r} ({error}). Give its address, such as "
                "tcp://host:8786, or 'local'."
            ) from error
        with client:
            yield client
        return
    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(n_workers=n_jobs, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client


def run_missing(
    store: Store,
    tasks: Sequence[Task],
    *,
    n_jobs: int = 1,
    dask: str | None = None,
    retry_failed: bool = False,
    tell: Callable[[Task, Result | str], None] = lambda task, outcome: None,
) -> None:
    """Do what the store does not have yet, and save each outcome as it comes.

    Parameters
    ----------
    store : Store
    tasks : sequence of Task
    n_jobs, dask
        See `execute`.
    retry_failed : bool
        Whether tasks that failed before are missing, too.
    tell : callable (task, outcome)
        Called after each task is saved.
    """
    with store.writing():
        outcomes = execute(run_task, store.missing(tasks, retry_failed), n_jobs, dask)
        for task, outcome in outcomes:
            if isinstance(outcome, str):
                store.save_failure(task, outcome)
            else:
                store.save(task, outcome)
            tell(task, outcome)


def seconds_left(store: Store, missing: Sequence[Task], n_jobs: int) -> float | None:
    """Expected time for the missing tasks, from those of their kind that are done; None if none."""
    known = store.mean_seconds()
    if not known:
        return None
    typical = sum(known.values()) / len(known)
    total = sum(known.get((task.dataset, task.learner.name), typical) for task in missing)
    return total / n_jobs
