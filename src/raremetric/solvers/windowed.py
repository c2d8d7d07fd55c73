"""The fast solver of the pair-set loss: compiled L-BFGS over L, in windows of many iterations.

Within a window the neighbors are searched among a few candidates only. Between two windows the
candidates are found again by a search through all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from raremetric.losses.pair_sets import PairSetLoss
from raremetric.solvers.stages import SMALL_VALUE, Solution
from raremetric.solvers.windowed_kernels import run_window

WIDTHS = (1e-2, 1e-3)  # how far the corners of the loss are rounded, one stage for each
WINDOW_SIZES = (1, 40)  # fewest and most iterations between two searches for candidates
MEMORY = 6  # corrections that L-BFGS keeps
FIRST_STAGE_TOL = 4.0  # the first stage's tolerance is looser by this factor
PATIENCE = 5  # iterations whose gain decides whether to go on
SINGLE_PRECISION_TOL = 1e-5  # the tightest tolerance for which single precision is enough
MAX_RETRIES = 12  # windows in a row that may end higher; each one adds candidates
RIDGE = 1e-3  # of the mean curvature, for directions in which no pair differs


class Candidates(NamedTuple):
    """Candidates for neighbors, and the metric L under which they contain the nearest rows."""

    lists: NDArray[np.int64]
    L: NDArray

    def under(self, L: NDArray, loss: PairSetLoss) -> Candidates:
        """The candidates under another metric: found again, unless it is the same one."""
        if L is self.L or np.array_equal(L, self.L):
            return self
        return Candidates(loss.candidates(L), L)

    def extended_by(self, other: Candidates, n_nearest: int) -> Candidates:
        """These, and the nearest of the other ones that are not among them."""
        found = other.lists[:, :n_nearest]
        known = (found[:, :, np.newaxis] == self.lists[:, np.newaxis, :]).any(axis=2)
        return self._replace(lists=np.hstack([self.lists, np.where(known, -1, found)]))


def inverse_hessian(hessian: NDArray, regularization: float) -> NDArray:
    """The inverse of a Hessian for each row of L, with the curvature 8λ of the regularization."""
    extra = 8 * regularization + RIDGE * np.trace(hessian) / len(hessian)
    return np.linalg.inv(hessian + max(extra, np.finfo(float).tiny) * np.eye(len(hessian)))


def fast_precision(loss: PairSetLoss, tol: float) -> PairSetLoss:
    """The loss in the lowest precision that is enough for a tolerance."""
    return loss.in_precision(np.float32) if tol >= SINGLE_PRECISION_TOL else loss


def empty_history(shape: tuple[int, int], dtype: DTypeLike) -> tuple[NDArray, ...]:
    """No corrections yet: steps, changes of the gradient, curvatures, [number stored, newest]."""
    steps, changes = np.zeros((2, MEMORY, *shape), dtype)
    return steps, changes, np.zeros(MEMORY), np.array([0, -1])


def minimize_windowed(
    loss: PairSetLoss,
    L: NDArray,
    candidates: NDArray | None,
    inverse: NDArray,
    *,
    max_iter: int,
    tol: float,
    report: Callable[[int, float], None] | None = None,
) -> Solution:
    """Minimize the loss in two stages, rounded less in the second one.

    The value of the solution is that of the rounded loss.

    Parameters
    ----------
    loss : PairSetLoss
    L : ndarray of shape (n_components, n_features)
        The start.
    candidates : ndarray of shape (n_anchors, n_candidates) or None
        Candidates for neighbors under the start; None to search for them.
    inverse : ndarray of shape (n_features, n_features)
        Approximate inverse Hessian for each row of L, up to scale.
    max_iter : int
        Bound on the sum of both stages' iterations.
    tol : float
        The last stage ends when a few iterations gain less than this fraction of the value.
    report : callable (iteration, value) or None
        Called after each window.
    """
    loss = fast_precision(loss, tol)
    descent = _Descent(loss, inverse.astype(loss.X.dtype, copy=False), max_iter, report)
    candidates = loss.candidates(L) if candidates is None else candidates
    solution, known = Solution(L, np.inf, 0, False), Candidates(candidates, L)
    for width, stage_tol in zip(WIDTHS, (FIRST_STAGE_TOL * tol, tol), strict=True):
        if solution.n_iter < max_iter:
            solution, known = descent.run_stage(solution, known, width, stage_tol)
    return solution


class _Descent:
    """The working state of both stages."""

    def __init__(self, loss: PairSetLoss, inverse: NDArray, max_iter: int, report: Callable | None):
        self.loss, self.inverse, self.max_iter, self.report = loss, inverse, max_iter, report
        self.window = WINDOW_SIZES[0]

    def run_stage(
        self, start: Solution, known: Candidates, width: float, tol: float
    ) -> tuple[Solution, Candidates]:
        """Minimize the loss rounded by one width."""
        L, n_iter, n_retries = start.L, start.n_iter, 0
        history = empty_history(L.shape, self.loss.X.dtype)
        known = known.under(L, self.loss)
        value, gradient = self.loss.value_and_gradient(L, width, known.lists)
        floor = SMALL_VALUE * abs(value)
        while n_iter < self.max_iter:
            small_gain = tol * max(abs(value), floor)
            point, promised, done, settled = run_window(
                L, value, gradient, self.loss, known.lists, width, self.inverse, history,
                min(self.window, self.max_iter - n_iter), PATIENCE, small_gain,
            )  # fmt: skip
            n_iter += max(done, 1)
            found = known.under(point, self.loss)
            new_value, new_gradient = self.loss.value_and_gradient(point, width, found.lists)
            gain, missed = value - new_value, new_value - promised
            if gain < 0 and n_retries < MAX_RETRIES:  # the candidates lacked the true neighbors
                known = known.extended_by(found, self.loss.n_refreshed)
                n_retries, self.window = n_retries + 1, max(self.window // 2, WINDOW_SIZES[0])
                continue
            n_retries, known = 0, found
            if gain > 0:
                L, value, gradient = point, new_value, new_gradient
            if self.report is not None:
                self.report(n_iter, value)
            little = small_gain * (1.0 if settled else done / PATIENCE)
            if gain <= little or (settled and missed <= small_gain):
                return Solution(L, value, n_iter, True), known
            # Longer windows where the candidates of the window's start served well.
            self.window = self.window // 2 if missed > 0.5 * (gain + missed) else 2 * self.window
            self.window = min(max(self.window, WINDOW_SIZES[0]), WINDOW_SIZES[1])
        return Solution(L, value, n_iter, False), known
