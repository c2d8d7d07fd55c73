"""How the package uses the processor: compiled functions, threads, and the steps of long work.

What keeps compilation short: a function is optimized again in each function that calls it, so call
chains are short; NumPy's broadcasting, of which one assignment can take seconds to compile, is
written as loops; and arrays are created and multiplied in few ways (``np.empty(shape, dtype)``,
``np.dot(a, b, out)``), because each variant is compiled separately.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from functools import cache, wraps
from multiprocessing import parent_process
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from numba import njit
from numba.core.event import Event, Listener, register
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")
OnProgress = Callable[[int, int], None]  # number of finished steps, number of all steps

UNCACHED = (
    "numba finds no directory in which compiled functions can be kept, so that they are compiled "
    "again in every process, which can take twenty seconds. To avoid this, set the environment "
    "variable NUMBA_CACHE_DIR to a directory that is kept and that only you can write to."
)

# Summing in any order lets a loop use vector instructions; infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}


def _cached(**options: Any) -> Callable[[Callable], Any]:
    """Compile a function and keep the result for later processes, if numba has a place for it.

    Without a place, as in a container with a read-only file system, every process compiles. A
    temporary directory would not help: it would be as new as the process.
    """

    def compiled(function: Callable) -> Any:
        try:
            return njit(cache=True, **options)(function)
        except RuntimeError:  # "no locator available"
            _announce_compilation()
            return njit(**options)(function)

    return compiled


class _CompilationNote(Listener):
    """Says once why compilation takes time; processes that this one starts do not repeat it."""

    said = False

    def on_start(self, event: Event) -> None:
        """Called before numba compiles any function, also one of another package."""
        ours = event.data["dispatcher"].__module__.startswith("raremetric.")
        if ours and not self.said and parent_process() is None:
            self.said = True
            warnings.warn(UNCACHED, stacklevel=1)

    def on_end(self, event: Event) -> None:
        """Nothing more to say."""


@cache
def _announce_compilation() -> None:
    register("numba:compile", _CompilationNote())


jit = _cached(**OPTIONS)
any_order = _cached(fastmath=ANY_ORDER, **OPTIONS)
# Called by other compiled functions only: no entry point from Python, no cache file of their own.
INTERNAL: dict[str, Any] = {"no_cpython_wrapper": True, **OPTIONS}
internal = njit(**INTERNAL)
internal_any_order = njit(fastmath=ANY_ORDER, **INTERNAL)
# The innermost functions, a few instructions each: a call would cost more than they do.
inlined = njit(fastmath=ANY_ORDER, forceinline=True, **INTERNAL)
# Long functions with one caller: compiled as a part of it, not also on their own.
merged = njit(inline="always", **OPTIONS)


def one_blas_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with one thread for BLAS and LAPACK, then restore the previous limit.

    A fit multiplies many small matrices. Threads that wait for each other at every product make it
    many times slower when other processes use the cores. Results do not depend on the number of
    threads of BLAS, on which the last digits of its products depend.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _BLAS_LIMIT:
            return function(*args, **kwargs)

    return limited


class _BlasLimit:
    """One thread for BLAS while any thread is inside, because the limit is one of the process.

    If each thread restored what it found, the limit would end too early, or never.
    """

    def __init__(self) -> None:
        self._lock, self._n_inside = Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                _take_control()
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                _take_control()
                self._limit.restore_original_limits()
                _take_control()


def _take_control() -> None:
    """Let any thread change the limit; threadpoolctl 3.8 lets only the one that did it before."""
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_BLAS_LIMIT = _BlasLimit()


def log_progress(name: str, verbose: int) -> OnProgress | None:
    """A function that logs every tenth of the steps, for an estimator with this name."""
    if not verbose:
        return None
    logger, shown = logging.getLogger("raremetric"), [-1]
    if not logging.getLogger().handlers and not logger.handlers:
        logger.addHandler(logging.StreamHandler(sys.stderr))  # in the terminal or notebook
    logger.setLevel(min(logger.level or logging.INFO, logging.INFO))

    def report(n_done: int, n_steps: int) -> None:
        tenth = 10 * n_done // n_steps
        if tenth > shown[0]:
            shown[0] = tenth
            logger.info("[%s] %3d %%: step %d of %d", name, 10 * tenth, n_done, n_steps)

    return report


class Progress:
    """Counts finished steps, in any thread, and reports them by ``on_progress(n_done, n_steps)``.

    ``part`` is the number of this part and the number of parts, if others have as many steps.
    """

    def __init__(
        self, on_progress: OnProgress | None, n_steps: int, part: tuple[int, int] = (0, 1)
    ):
        self.on_progress, self.n_steps, self.n_done = on_progress, n_steps, 0
        self.part = part
        self._lock = Lock()

    def __call__(self, n_finished: int = 1) -> None:
        """Report that some steps are finished."""
        with self._lock:
            self.n_done += n_finished
            if self.on_progress is not None:
                number, n_parts = self.part
                self.on_progress(number * self.n_steps + self.n_done, n_parts * self.n_steps)


@cache
def _libraries() -> ThreadpoolController:
    """Found once: NumPy and SciPy are loaded by then, and the search takes milliseconds."""
    return ThreadpoolController()
