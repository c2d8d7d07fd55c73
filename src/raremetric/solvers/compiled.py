"""A descent over L in compiled windows of a few iterations: the fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from raremetric.solvers.stages import NEARLY_NOTHING, Solution

WIDTHS = (1e-2, 1e-3)  # how far the corners of the loss are rounded, one stage each
WINDOW = 5  # iterations between two looks at the exact neighbors
MEMORY = 10  # corrections kept
HALVINGS = 12  # of a step that led upwards


class History(tuple):
    """What L-BFGS remembers: steps, changes of the gradient, curvatures, [stored, newest]."""

    def __new__(cls, shape: tuple[int, int]):
        """Nothing stored yet, for matrices of a given shape."""
        steps, changes = np.zeros((MEMORY, *shape)), np.zeros((MEMORY, *shape))
        return tuple.__new__(cls, (steps, changes, np.zeros(MEMORY), np.array([0, -1])))


class WindowedLoss(Protocol):
    """A loss that is costly to evaluate exactly, and cheap near a point where it was."""

    def value_and_gradient(self, L: NDArray, width: float) -> tuple[float, NDArray]:
        """Evaluate exactly at L."""

    def run_window(
        self, L: NDArray, value: float, gradient: NDArray, width: float, history: tuple, n_iter: int
    ) -> tuple[NDArray, int]:
        """Descend for at most n_iter iterations; the new L and the iterations done."""


def minimize_compiled(
    loss: WindowedLoss,
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimise a loss rounded first a little, then less.

    Parameters
    ----------
    loss : WindowedLoss
    L : ndarray of shape (n_components, n_features)
        The start.
    max_iter : int
        Bound on the sum of both stages' iterations.
    tol : float
        A stage ends when a window of iterations gains less than this fraction of the value.
    report : callable (iteration, value) or None
        Called after each window.
    """
    n_iter, converged = 0, False
    for width in WIDTHS:
        if n_iter < max_iter:
            stage = _minimize_stage(loss, L, width, n_iter, max_iter, tol, report)
            L, n_iter, converged = stage.L, stage.n_iter, stage.converged
    return Solution(L, loss.value_and_gradient(L, 0.0)[0], n_iter, converged)


def _minimize_stage(loss, L, width, n_iter, max_iter, tol, report) -> Solution:
    history = History(L.shape)
    value, gradient = loss.value_and_gradient(L, width)
    floor, window = NEARLY_NOTHING * abs(value), 1
    while n_iter < max_iter:
        allowed = min(window, max_iter - n_iter)
        point, done = loss.run_window(L, value, gradient, width, history, allowed)
        n_iter += max(done, 1)
        new = (point, *loss.value_and_gradient(point, width))
        misled = new[1] > value  # by neighbors that were so no longer
        if misled:
            new = _step_back(loss, L, value, gradient, width, new)
        gain, (L, value, gradient) = value - new[1], new
        if report is not None:
            report(n_iter, value)
        if gain <= tol * max(abs(value), floor) * window / WINDOW and (not misled or gain == 0):
            return Solution(L, value, n_iter, True)
        window = 1 if misled else min(window + 1, WINDOW)
    return Solution(L, value, n_iter, False)


def _step_back(loss, L, value, gradient, width, new):
    """Halve the step until the exact loss falls; stay at L if it never does."""
    for _ in range(HALVINGS):
        point = (L + new[0]) / 2
        new = (point, *loss.value_and_gradient(point, width))
        if new[1] < value:
            return new
    return L, value, gradient
