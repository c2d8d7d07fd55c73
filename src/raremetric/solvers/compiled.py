"""A descent over L in compiled windows of many iterations: the fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raremetric.solvers.stages import NEARLY_NOTHING, Solution

WIDTHS = (1e-2, 1e-3)  # how far the corners of the loss are rounded, one stage each
WINDOWS = (1, 40)  # fewest and most iterations between two looks at the exact neighbors
MEMORY = 6  # corrections kept
HASTE = 3.0  # times looser is the first stage's tolerance: the second one goes on from there
PATIENCE = 5  # iterations whose gain tells whether more are worth while
SINGLE_PRECISION = 1e-5  # the tightest tolerance that it can serve
LESSONS = 12
LAST = 1.0
HALVINGS = 12  # of a step that led upwards


class History(tuple):
    """What L-BFGS remembers: steps, changes of the gradient, curvatures, [stored, newest]."""

    def __new__(cls, shape: tuple[int, int], dtype: DTypeLike = np.float64):
        """Nothing stored yet, for matrices of a given shape."""
        steps, changes = np.zeros((2, MEMORY, *shape), dtype)
        return tuple.__new__(cls, (steps, changes, np.zeros(MEMORY), np.array([0, -1])))


class WindowedLoss(Protocol):
    """A loss that is costly to evaluate exactly, and cheap near a point where it was."""

    def in_single_precision(self) -> WindowedLoss:
        """A less exact copy that is evaluated faster."""

    def value(self, L: NDArray) -> float:
        """The loss itself, not rounded."""

    def value_and_gradient(self, L: NDArray, width: float) -> tuple[float, NDArray]:
        """Evaluate the rounded loss at L."""

    def run_window(
        self,
        L: NDArray,
        value: float,
        gradient: NDArray,
        width: float,
        history: tuple,
        n_iter: int,
        patience: int,
        small_gain: float,
    ) -> tuple[NDArray, float, int, bool]:
        """Descend for at most n_iter iterations, or until ``patience`` of them gain little.

        Returns L, the value it seems to have, the iterations done and whether it ended early.
        """


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
        The last stage ends when a few iterations gain less than this fraction of the value.
    report : callable (iteration, value) or None
        Called after each window.
    """
    n_iter, converged, window = 0, False, WINDOWS[0]
    descent = loss.in_single_precision() if tol >= SINGLE_PRECISION else loss
    for width, stage_tol in zip(WIDTHS, [HASTE * tol] * (len(WIDTHS)-1)+[LAST*tol], strict=True):
        if n_iter < max_iter:
            stage, window = _minimize_stage(
                descent, L, width, window, n_iter, max_iter, stage_tol, report
            )
            L, n_iter, converged = stage.L, stage.n_iter, stage.converged
    return Solution(L, loss.value(L), n_iter, converged)


def _minimize_stage(loss, L, width, window, n_iter, max_iter, tol, report) -> tuple[Solution, int]:
    history = History(L.shape, loss.dtype)
    value, gradient = loss.value_and_gradient(L, width)
    floor = NEARLY_NOTHING * abs(value)
    lessons = 0
    while n_iter < max_iter:
        small_gain = tol * max(abs(value), floor)
        point, promised, done, settled = loss.run_window(
            L, value, gradient, width, history,
            min(window, max_iter - n_iter), PATIENCE, small_gain,
        )  # fmt: skip
        n_iter += max(done, 1)
        before = loss.candidates
        new = (point, *loss.value_and_gradient(point, width))
        misled = new[1] > value  # by neighbors that were so no longer
        if misled and lessons < LESSONS:
            lessons += 1
            loss.look_also_at(before)
            window = max(window // 2, WINDOWS[0])
            continue
        lessons = 0
        if misled:
            new = _step_back(loss, L, value, gradient, width, new)
        gain, missed, (L, value, gradient) = value - new[1], new[1] - promised, new
        if report is not None:
            report(n_iter, value)
        little = small_gain * (1.0 if settled else done / PATIENCE)
        if gain <= 0 or (not misled and gain <= little) or (settled and missed <= small_gain):
            return Solution(L, value, n_iter, True), window
        # The neighbors of the window's start served well, or not.
        window = window // 2 if missed > 0.5 * (gain + missed) else 2 * window
        window = min(max(window, WINDOWS[0]), WINDOWS[1])
    return Solution(L, value, n_iter, False), window


def _step_back(loss, L, value, gradient, width, new):
    """Halve the step until the exact loss falls; stay at L if it never does."""
    for _ in range(HALVINGS):
        point = (L + new[0]) / 2
        new = (point, *loss.value_and_gradient(point, width))
        if new[1] < value:
            return new
    return L, value, gradient
