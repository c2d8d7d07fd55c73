"""Minimize a nonsmooth loss by a sequence of smooth approximations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SMALL_VALUE = 1e-2  # times the initial value: accuracy is relative to at least this


class Solution(NamedTuple):
    """Where a solver ended."""

    L: NDArray  # (n_components, n_features)
    value: float
    n_iter: int
    converged: bool
    bound: float = -np.inf  # a lower bound on the minimum


def minimize_in_stages(
    minimize: Callable[[NDArray, float, int, float], Solution],
    exact: Callable[[NDArray], float],
    lower_bound: Callable[[NDArray, float], float],
    L: NDArray,
    *,
    widths: Sequence[float] = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimize losses with less and less rounding, each one from the minimum of the last.

    The descent ends when the exact loss is proved to be within a fraction ``tol`` of its minimum.
    Where there is no lower bound, or ``max_iter`` is reached, a converged stage is accepted
    instead: a rounded loss is nowhere above the exact one, so the difference of the two bounds the
    distance from the minimum.

    Parameters
    ----------
    minimize : callable (L, width, max_iter, tol) -> Solution
        Minimizes the loss rounded by ``width``, from L, until steps gain less than ``tol``.
    exact : callable L -> float
        The loss with width 0.
    lower_bound : callable (L, width) -> float
        A lower bound on the exact loss, from the end of a stage; minus infinity if there is none.
    L : ndarray of shape (n_components, n_features)
    widths : sequence of float
        Decreasing widths.
    max_iter : int
        Maximum number of iterations of all stages together.
    tol : float
        Accuracy of the exact loss, relative to its value (but at least to a hundredth of its
        value at the start).
    """
    n_iter, stage_tol, bound, converged = 0, 1e-3 * tol, -np.inf, False
    best_L, best = L, exact(L)
    floor = SMALL_VALUE * abs(best)  # for a minimum of zero
    widths = list(widths)
    while widths and stage_tol > 1e-15:
        stage = minimize(L, widths[0], max_iter - n_iter, stage_tol)
        L, n_iter, value = stage.L, n_iter + stage.n_iter, exact(stage.L)
        if value <= best:
            best_L, best = L, value
        bound = lower_bound(L, widths[0])
        allowed = tol * max(abs(best), floor)
        rounded_off = value - stage.value <= allowed / 2
        proved = best - bound <= allowed
        converged = converged or proved or (stage.converged and rounded_off)
        if proved or not stage.converged or (rounded_off and bound == -np.inf):
            break
        if rounded_off:  # the rounding is fine enough, but the stage stopped too early
            stage_tol /= 100
        else:
            widths.pop(0)
    return Solution(best_L, best, n_iter, converged, bound)
