"""Run a function on many parts of the data with Dask, here or on a cluster."""

from __future__ import annotations

import logging
import pickle
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import cloudpickle
import dask
from dask import distributed
from dask.distributed import as_completed

DASK_TIMEOUT = 10  # seconds to wait for a scheduler
LOCAL_CONFIG = {
    "distributed.worker.daemon": True,
    # A process that was killed is started again, which takes long on a busy machine. After this
    # time, Dask would give it up, by default after 15 seconds.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Dask makes its workers return freed memory to the system at once. Each array of each block of
    # rows would then get new pages, which takes a fifth of the time of a prediction.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 28,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    # When an error ends the work, workers would warn of the tasks that they give up.
    "distributed.nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED": "error",
}


@contextmanager
def dask_client(address: str | None, n_workers: int | None = None) -> Iterator[Any]:
    """A client of the scheduler at an address, or of a new local cluster of one process per core.

    The local cluster, for None or "local", ends with the block; it can have another number of
    processes.
    """
    if address not in (None, "local"):
        try:
            client = distributed.Client(address, timeout=DASK_TIMEOUT)
        except (OSError, ValueError) as error:
            raise ValueError(
                f"No Dask scheduler answers at {address!r} ({error}). Give its address, such as "
                "tcp://host:8786, or 'local'."
            ) from error
        with client:
            yield client
        return
    with dask.config.set(LOCAL_CONFIG):
        with _without_interrupts():
            cluster = distributed.LocalCluster(
                n_workers=n_workers,
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.ERROR,
            )
        with cluster, distributed.Client(cluster) as client:
            yield client


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in processes that are started here: only this process is stopped by it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def send_once(value: Any) -> Any:
    """A delayed copy of a value for many tasks, which travels to each worker once.

    As the result of a task, unlike data that were sent, it can be computed again if it is lost.
    """
    return dask.delayed(pickle.loads)(cloudpickle.dumps(value))


def run_on_each(
    function: Callable,
    parts: Sequence[tuple],
    shared: Any = None,
    client: Any = None,
    on_result: Callable[[int, Any], None] = lambda number, result: None,
) -> list[Any]:
    """Results of ``function(shared, *part)`` for all parts, in their order.

    The function is picklable, and the arguments may be delayed objects of Dask. A task whose worker
    is lost runs again on another one. ``shared`` travels to each worker once. Without a client,
    Dask's current scheduler is used: a cluster, if there is a client, or threads. With one,
    ``on_result`` is called with the number and the result of each part that is finished.
    """
    packed = send_once(shared)
    tasks = [dask.delayed(_or_mistake)(function, packed, *part) for part in parts]
    if client is None:
        return [_unless_mistake(each) for each in dask.compute(*tasks)]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
        futures = client.compute(tasks)
    numbers = {future.key: number for number, future in enumerate(futures)}
    results: list[Any] = [None] * len(tasks)
    unfinished = as_completed(futures)
    del futures  # so that a result that is here is not computed again if its worker is lost
    try:
        for future in unfinished:
            number = numbers[future.key]
            results[number] = _unless_mistake(future.result())
            on_result(number, results[number])
    except distributed.scheduler.KilledWorker as error:
        raise ValueError(
            "Several workers were lost while they worked on the same part. Is there enough memory? "
            "Use smaller files, or workers with more memory."
        ) from error
    return results


def _or_mistake(function: Callable, *arguments: Any) -> Any:
    """Return an error that a user can correct: Dask would log its traceback before our sentence."""
    try:
        return function(*arguments)
    except (ValueError, OSError) as error:
        return error


def _unless_mistake(result: Any) -> Any:
    if isinstance(result, Exception):
        raise result
    return result
