"""Run tasks in this process, in several processes or on a Dask cluster, with equal results."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from raremetric.study.run_task import Result, run_task
from raremetric.study.store import Store
from raremetric.study.tasks import Study, Task, all_tasks

DASK_TIMEOUT = 10  # seconds to wait for a scheduler
Outcome = tuple[Task, Result | str]  # a result, or the traceback of a failure


def guarded(run: Callable[[Task], Result], task: Task) -> Outcome:
    """Run a task; a failure is returned as its traceback and does not stop the others."""
    try:
        return task, run(task)
    except Exception:
        return task, traceback.format_exc()


def execute(
    run: Callable[[Task], Result], tasks: Sequence[Task], n_jobs: int = 1, dask: str | None = None
) -> Iterator[Outcome]:
    """Outcomes of the tasks, as they finish.

    Parameters
    ----------
    run : callable Task -> Result
        Must be picklable.
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
    """Run in joblib's processes; if one dies, the pool is lost and the rest goes to a new one."""
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
            if len(left) == before:  # no task was finished: another pool would fail, too
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
            client = Client(address, timeout=DASK_TIMEOUT)
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
    n_jobs, dask
        See `execute`.
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


def seconds_left(store: Store, missing: Sequence[Task], n_jobs: int) -> float | None:
    """Expected time for the missing tasks, from similar finished ones; None without any."""
    known = store.mean_seconds()
    if not known:
        return None
    typical = sum(known.values()) / len(known)
    total = sum(known.get((task.dataset, task.learner.name), typical) for task in missing)
    return total / n_jobs
