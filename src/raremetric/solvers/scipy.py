"""L-BFGS over L by SciPy: a reference solver."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from raremetric.solvers.stages import Solution

ITERATION_LIMIT = 1  # SciPy's status when maxiter or maxfun ended the run


def minimize_lbfgs(
    evaluate: Callable[[NDArray], tuple[float, NDArray]],
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    memory: int = 10,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimize a function of L by L-BFGS-B.

    Parameters
    ----------
    evaluate : callable L -> (value, gradient)
    L : ndarray of shape (n_components, n_features)
        The start.
    max_iter : int
    tol : float
        Stop when an iteration gains less than this fraction of the value.
    memory : int
        Number of corrections kept.
    report : callable (iteration, value) or None
    """
    shape = L.shape
    # SciPy's tolerances are relative only to values above one, so scale the value to one.
    scale = max(abs(evaluate(L)[0]), np.finfo(float).tiny)

    def scaled(x: NDArray) -> tuple[float, NDArray]:
        value, gradient = evaluate(x.reshape(shape))
        return value / scale, gradient.ravel() / scale

    iterations = count(1)

    def log(intermediate_result) -> None:
        if report is not None:
            report(next(iterations), float(intermediate_result.fun) * scale)

    result = minimize(
        scaled,
        L.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=log,
        options={"maxiter": max_iter, "ftol": tol, "gtol": 0.0, "maxcor": memory},
    )
    converged = result.status != ITERATION_LIMIT
    return Solution(result.x.reshape(shape), float(result.fun) * scale, int(result.nit), converged)
