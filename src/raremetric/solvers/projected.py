"""Accelerated gradient descent over M, projected onto the cone of PSD matrices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from raremetric.metric import matrix_from_components, project_psd
from raremetric.solvers.stages import Solution

PATIENCE = 5  # iterations in a row with a gain below the tolerance that end the descent


def minimize_projected(
    evaluate: Callable[[NDArray], tuple[float, NDArray]],
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimize a smooth convex function of M = LᵀL over M ⪰ 0.

    Nesterov's momentum, restarted when the value rises; step lengths by backtracking.

    Parameters
    ----------
    evaluate : callable L -> (value, gradient over M)
        The function receives a factor L of M, which the projection computes anyway.
    L : ndarray of shape (n_components, n_features)
        The start. With fewer rows than columns, M has at most that rank: not convex.
    max_iter : int
    tol : float
        Stop when several iterations in a row gain less than this fraction of the value.
    report : callable (iteration, value) or None
    """
    M = matrix_from_components(L)
    value, gradient = evaluate(L)
    step = float(0.1 * np.linalg.norm(M) / max(np.linalg.norm(gradient), np.finfo(float).tiny))
    ahead, ahead_L, momentum, idle = M, L, 1.0, 0
    for iteration in range(1, max_iter + 1):
        new_M, new_L, new_value, step = _descend(evaluate, ahead, ahead_L, step)
        gained = value - new_value
        idle = idle + 1 if gained <= tol * abs(value) else 0
        if gained < 0 and momentum > 1:
            ahead, ahead_L, momentum = M, L, 1.0
        else:
            new_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            push = (momentum - 1) / new_momentum
            ahead, ahead_L = project_psd(new_M + push * (new_M - M), len(L))
            momentum = new_momentum
            if gained >= 0:
                M, L, value = new_M, new_L, new_value
        if report is not None:
            report(iteration, value)
        if idle >= PATIENCE:
            return Solution(L, value, iteration, True)
    return Solution(L, value, max_iter, False)


def _descend(evaluate, M: NDArray, L: NDArray, step: float):
    """One projected step from M, shortened until the quadratic model is an upper bound."""
    value, gradient = evaluate(L)
    slack = 1e-13 * abs(value)  # near the minimum, rounding must not shorten the steps without end
    while True:
        new_M, new_L = project_psd(M - step * gradient, len(L))
        change = new_M - M
        new_value, _ = evaluate(new_L)
        model = value + np.sum(gradient * change) + np.sum(change**2) / (2 * step)
        if new_value <= model + slack:
            return new_M, new_L, new_value, 1.25 * step
        step /= 2
