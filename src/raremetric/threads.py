"""How many threads linear algebra takes during a fit."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")


def one_blas_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Run a function with one thread for BLAS and LAPACK, then as before.

    A fit multiplies many small matrices, and threads that wait for each other at every product
    make it many times slower where other work takes a core.
    """

    @wraps(function)
    def limited(*args: P.args, **kwargs: P.kwargs) -> R:
        with _libraries().limit(limits=1, user_api="blas"):
            return function(*args, **kwargs)

    return limited


@cache
def _libraries() -> ThreadpoolController:
    """Looked up once: NumPy and SciPy are loaded by then, and the search takes milliseconds."""
    return ThreadpoolController()
