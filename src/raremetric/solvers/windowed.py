"""A descent over L in compiled windows of many iterations: the fast path."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raremetric.solvers.stages import NEARLY_NOTHING, Solution

WIDTHS = (1e-2, 1e-3)  # how far the corners of the loss are rounded, one stage each
WINDOWS = (1, 40)  # fewest and most iterations between two looks at the exact neighbors
MEMORY = 6  # corrections kept
HASTE = 4.0  # times looser is the first stage's tolerance: the second one goes on from there
PATIENCE = 5  # iterations whose gain tells whether more are worth while
SINGLE_PRECISION = 1e-5  # the tightest tolerance that it can serve
LESSONS = 12  # windows in a row that may lead upwards, each for neighbors that are then known


class History(tuple):
    """What L-BFGS remembers: steps, changes of the gradient, curvatures, [stored, newest]."""

    def __new__(cls, shape: tuple[int, int], dtype: DTypeLike = np.float64):
        """Nothing stored yet, for matrices of a given shape."""
        steps, changes = np.zeros((2, MEMORY, *shape), dtype)
        return tuple.__new__(cls, (steps, changes, np.zeros(MEMORY), np.array([0, -1])))


class WindowedLoss(Protocol):
    """A loss that is costly to evaluate exactly, and cheap near a point where it was."""

    @property
    def dtype(self) -> np.dtype:
        """Precision in which steps are remembered."""

    @property
    def candidates(self) -> Any:
        """What is looked at in a cheap evaluation."""

    def in_single_precision(self) -> Self:
        """A less exact copy that is evaluated faster."""

    def value(self, L: NDArray) -> float:
        """The loss itself, not rounded."""

    def value_and_gradient(self, L: NDArray, width: float) -> tuple[float, NDArray]:
        """Evaluate the rounded loss at L."""

    def look_also_at(self, before: Any) -> None:
        """Return to earlier candidates, but keep those found since in sight."""

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


Loss = TypeVar("Loss", bound=WindowedLoss)


def as_exact_as(tol: float, loss: Loss) -> Loss:
    """The loss in the lowest precision that serves a tolerance."""
    return loss.in_single_precision() if tol >= SINGLE_PRECISION else loss


def descend(
    loss: WindowedLoss,
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimise a loss rounded first a little, then less; the value returned is the rounded one.

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
    solution, window = Solution(L, np.inf, 0, False), WINDOWS[0]
    descent = as_exact_as(tol, loss)
    for width, stage_tol in zip(WIDTHS, (HASTE * tol, tol), strict=True):
        if solution.n_iter < max_iter:
            solution, window = _minimize_stage(
                descent, solution.L, width, window, solution.n_iter, max_iter, stage_tol, report
            )
    return solution


def _minimize_stage(loss, L, width, window, n_iter, max_iter, tol, report) -> tuple[Solution, int]:
    history, lessons = History(L.shape, loss.dtype), 0
    value, gradient = loss.value_and_gradient(L, width)
    floor = NEARLY_NOTHING * abs(value)
    while n_iter < max_iter:
        small_gain = tol * max(abs(value), floor)
        point, promised, done, settled = loss.run_window(
            L, value, gradient, width, history,
            min(window, max_iter - n_iter), PATIENCE, small_gain,
        )  # fmt: skip
        n_iter += max(done, 1)
        before = loss.candidates
        new_value, new_gradient = loss.value_and_gradient(point, width)
        gain, missed = value - new_value, new_value - promised
        if gain < 0 and lessons < LESSONS:  # misled by neighbors that were so no longer
            loss.look_also_at(before)
            lessons, window = lessons + 1, max(window // 2, WINDOWS[0])
            continue
        lessons = 0
        if gain > 0:
            L, value, gradient = point, new_value, new_gradient
        if report is not None:
            report(n_iter, value)
        little = small_gain * (1.0 if settled else done / PATIENCE)
        if gain <= little or (settled and missed <= small_gain):
            return Solution(L, value, n_iter, True), window
        # The neighbors of the window's start served well, or not.
        window = window // 2 if missed > 0.5 * (gain + missed) else 2 * window
        window = min(max(window, WINDOWS[0]), WINDOWS[1])
    return Solution(L, value, n_iter, False), window
