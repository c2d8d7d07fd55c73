"""How the package uses the processor: compiled functions, and threads of linear algebra.

What keeps compilation short: a function is optimized again in each function that calls it, so call
chains are short; NumPy's broadcasting, of which one assignment can take seconds to compile, is
written as loops; and arrays are created and multiplied in few ways (``np.empty(shape, dtype)``,
``np.dot(a, b, out)``), because each variant is compiled separately.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar

from numba import njit
from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")

# Summing in any order lets a loop use vector instructions; infinities keep their meaning.
ANY_ORDER = {"reassoc", "contract", "nsz"}
OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
jit = njit(cache=True, **OPTIONS)
any_order = njit(cache=True, fastmath=ANY_ORDER, **OPTIONS)
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
    many times slower when other processes use the cores.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Found once: NumPy and SciPy are loaded by then, and the search takes milliseconds."""
    return ThreadpoolController()
