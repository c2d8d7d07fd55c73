"""The fast solver of the pair-set loss: compiled L-BFGS over L, in windows of many iterations.

Within a window the neighbors are searched among a few candidates only. Between two windows the
candidates are found again by a search through all rows. Of the loss, the solver calls `candidates`,
`value_and_gradient` and `value_of_zero`, and in the window the compiled `evaluate_pair_sets`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.losses.pair_sets import Multipliers, PairSetLoss
from raremetric.losses.pair_sets_kernels import evaluate_pair_sets
from raremetric.performance import internal, internal_any_order, jit, merged
from raremetric.solvers.smooth import SMALL_VALUE, Solution

WIDTHS = (1e-2, 1e-3)  # how far the corners of the loss are rounded, one stage for each
WINDOW_SIZES = (1, 40)  # fewest and most iterations between two searches for candidates
MEMORY = 6  # corrections that L-BFGS keeps
FIRST_STAGE_TOL = 4.0  # the first stage's tolerance is looser by this factor
PATIENCE = 5  # iterations whose gain decides whether to go on
SINGLE_PRECISION_TOL = 1e-5  # the tightest tolerance for which single precision is enough
SMALLEST_CURVATURE = 1e-30  # if all examples are equal: its inverse fits into single precision
LARGE = 2.0**50  # squares of larger numbers may overflow in single precision
MAX_RETRIES = 12  # windows in a row that may end higher; each one adds candidates
RIDGE = 1e-3  # of the mean curvature, for directions in which no pair differs
TRIALS = 12  # steps tried in one line search
MAX_TRIALS = 64  # of steps that are far too long, as from a start that is far too large
MIN_EXPECTED_GAIN = 0.1  # times small_gain: an iteration that is expected to gain less ends it


class Candidates(NamedTuple):
    """Candidates for neighbors, and the metric L under which they contain the nearest rows."""

    lists: NDArray[np.int64]
    L: NDArray

    def under(self, L: NDArray, loss: PairSetLoss) -> Candidates:
        """The candidates under another metric: found again, unless it is the same one."""
        if L is self.L or (L == self.L).all():
            return self
        return Candidates(loss.candidates(L), L)

    def extended_by(self, other: Candidates, n_nearest: int) -> Candidates:
        """These, and the nearest of the other ones that are not among them."""
        found = other.lists[:, :n_nearest]
        known = (found[:, :, np.newaxis] == self.lists[:, np.newaxis, :]).any(axis=2)
        return self._replace(lists=np.hstack([self.lists, np.where(known, -1, found)]))


def minimize_windowed(
    loss: PairSetLoss,
    L: NDArray,
    candidates: NDArray | None,
    hessian: NDArray,
    *,
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimize the loss in two stages, rounded less in the second one.

    The value of the solution is that of the rounded loss.

    ``candidates`` are those for neighbors under the start L; None searches for them. ``hessian``,
    (n_features, n_features), is an approximate Hessian of the pairs' terms for each row of L.
    ``max_iter`` bounds the iterations of both stages together. The last stage ends when a few
    iterations gain less than the fraction ``tol`` of the value.
    """
    # The regularization has the curvature 8λ.
    extra = 8 * loss.regularization + RIDGE * np.trace(hessian) / len(hessian)
    inverse = np.linalg.inv(hessian + max(extra, SMALLEST_CURVATURE) * np.eye(len(hessian)))
    loss = _in_fast_precision(loss, tol)
    descent = _Descent(loss, inverse.astype(loss.X.dtype, copy=False), max_iter)
    candidates = loss.candidates(L) if candidates is None else candidates
    solution, known = Solution(L, np.inf, 0, False), Candidates(candidates, L)
    for width, stage_tol in zip(WIDTHS, (FIRST_STAGE_TOL * tol, tol), strict=True):
        if solution.n_iter < max_iter:
            solution, known = descent.run_stage(solution, known, width, stage_tol)
    return solution


def windowed_multipliers(
    loss: PairSetLoss, L: NDArray, candidates: NDArray, tol: float
) -> Multipliers:
    """The multipliers at L of the loss that ``minimize_windowed`` minimizes in its last stage."""
    return _in_fast_precision(loss, tol).multipliers(L, WIDTHS[-1], candidates)


def _in_fast_precision(loss: PairSetLoss, tol: float) -> PairSetLoss:
    """The loss in the lowest precision that is enough for a tolerance, and for large features."""
    is_enough = tol >= SINGLE_PRECISION_TOL and np.abs(loss.X).max() < LARGE
    return loss.in_precision(np.float32) if is_enough else loss


class _Descent:
    """The working state of both stages."""

    def __init__(self, loss: PairSetLoss, inverse: NDArray, max_iter: int):
        self.loss, self.inverse, self.max_iter = loss, inverse, max_iter
        self.window = WINDOW_SIZES[0]

    def run_stage(
        self, start: Solution, known: Candidates, width: float, tol: float
    ) -> tuple[Solution, Candidates]:
        """Minimize the loss rounded by one width."""
        L, n_iter, n_retries = start.L, start.n_iter, 0
        steps, changes = np.zeros((2, MEMORY, *L.shape), self.loss.X.dtype)
        history = steps, changes, np.zeros(MEMORY), np.array([0, -1])  # no corrections yet
        known = known.under(L, self.loss)
        value, gradient = self.loss.value_and_gradient(L, width, known.lists)
        floor = SMALL_VALUE * min(abs(value), 2 * self.loss.value_of_zero())  # of a bad start
        while n_iter < self.max_iter:
            small_gain = tol * max(abs(value), floor)
            point, expected_value, done, settled = run_window(
                L, value, gradient, self.loss, known.lists, width, self.inverse, history,
                min(self.window, self.max_iter - n_iter), PATIENCE, small_gain,
            )  # fmt: skip
            n_iter += max(done, 1)
            found = known.under(point, self.loss)
            new_value, new_gradient = self.loss.value_and_gradient(point, width, found.lists)
            gain, missed = value - new_value, new_value - expected_value
            if gain < 0 and n_retries < MAX_RETRIES:  # the candidates lacked the true neighbors
                known = known.extended_by(found, self.loss.n_refreshed)
                n_retries, self.window = n_retries + 1, max(self.window // 2, WINDOW_SIZES[0])
                continue
            n_retries, known = 0, found
            if gain > 0:
                L, value, gradient = point, new_value, new_gradient
            little = small_gain * (1.0 if settled else done / PATIENCE)
            if gain <= little or (settled and missed <= small_gain):
                return Solution(L, value, n_iter, True), known
            # Longer windows if the candidates still contained the true neighbors.
            self.window = self.window // 2 if missed > 0.5 * (gain + missed) else 2 * self.window
            self.window = min(max(self.window, WINDOW_SIZES[0]), WINDOW_SIZES[1])
        return Solution(L, value, n_iter, False), known


# The compiled window.


@internal_any_order
def inner(a, b):
    """⟨a, b⟩ of two matrices, in the higher of their precisions."""
    x, y, total = a.ravel(), b.ravel(), a.dtype.type(0) * b.dtype.type(0)
    for t in range(x.shape[0]):
        total += x[t] * y[t]
    return total


@internal
def add_multiple(a, factor, b, out):
    """Write a + factor · b to out, in the precision of the result or a higher one."""
    x, y, z, factor = a.ravel(), b.ravel(), out.ravel(), out.dtype.type(factor)
    for t in range(x.shape[0]):
        z[t] = x[t] + factor * y[t]


@internal
def add_to(out, factor, b):
    """Add factor · b to out. This loop vectorizes; ``add_multiple`` with ``out is a`` does not."""
    z, y, factor = out.ravel(), b.ravel(), out.dtype.type(factor)
    for t in range(z.shape[0]):
        z[t] += factor * y[t]


@merged
def direction(gradient, inverse, history, heading):
    """Write −H·gradient to heading by the two-loop recursion; H starts as c·(G ↦ G·inverse)."""
    steps, changes, curvatures, state = history
    memory, n_stored, newest = steps.shape[0], state[0], state[1]
    shares, rest = np.empty(memory, np.float64), np.empty(heading.shape, heading.dtype)
    add_multiple(gradient, -2.0, gradient, rest)
    for t in range(n_stored):
        s = (newest - t) % memory
        shares[s] = inner(steps[s], rest) / curvatures[s]
        add_to(rest, -shares[s], changes[s])
    scale = 1.0
    if n_stored > 0:
        np.dot(changes[newest], inverse, heading)
        scale = curvatures[newest] / inner(changes[newest], heading)
    np.dot(rest, inverse, heading)
    add_to(heading, scale - 1.0, heading)
    for t in range(n_stored - 1, -1, -1):
        s = (newest - t) % memory
        share = shares[s] - inner(changes[s], heading) / curvatures[s]
        add_to(heading, share, steps[s])


@merged
def remember(point, L, new_gradient, gradient, history):
    """Store a step and the change of the gradient along it, if the curvature is positive."""
    steps, changes, curvatures, state = history
    slot = (state[1] + 1) % steps.shape[0]
    add_multiple(point, -1.0, L, steps[slot])
    add_multiple(new_gradient, -1.0, gradient, changes[slot])
    curvatures[slot] = inner(steps[slot], changes[slot])
    if curvatures[slot] > 1e-14 * inner(changes[slot], changes[slot]):
        state[0], state[1] = min(state[0] + 1, steps.shape[0]), slot
    elif state[0] == steps.shape[0]:
        state[0] -= 1  # the slot held the oldest correction


@jit
def run_window(
    L, value, gradient, loss, candidates, width, inverse, history, n_iter, patience, small_gain
):
    """Up to n_iter iterations of L-BFGS on the pair-set loss with fixed candidates.

    ``inverse`` (n_features, n_features) is an inverse Hessian for each row of L, up to scale.
    ``history`` holds steps, changes, curvatures and [number stored, newest]; it is updated in
    place. Steps satisfy the weak Wolfe conditions and are found by bisection and doubling. The
    window ends early when ``patience`` iterations gain less than ``small_gain``, or when no step
    decreases the loss. Returns L, its value, the number of iterations and whether it ended early.
    """
    state, heading = history[3], np.empty(L.shape, inverse.dtype)
    recent = np.empty(patience, np.float64)  # values before the last iterations
    for t in range(patience):
        recent[t] = np.inf
    for iteration in range(n_iter):
        recent[iteration % patience] = value
        direction(gradient, inverse, history, heading)
        slope = inner(heading, gradient)
        if -slope <= MIN_EXPECTED_GAIN * small_gain:  # a quadratic model gains half of that
            return L, value, iteration, True
        low, high, step, found = 0.0, np.inf, 1.0, False
        best, best_value, best_gradient = L, value, gradient
        for trial in range(MAX_TRIALS):
            if trial >= TRIALS:  # more only of steps longer than a thousandth of L
                is_long = step * step * inner(heading, heading) > 1e-6 * inner(L, L)
                if found or not is_long:
                    break
            point = np.empty(L.shape, np.float64)
            add_multiple(L, step, heading, point)
            new_value, new_gradient, _, _, _ = evaluate_pair_sets(point, loss, candidates, width)
            if new_value <= value + 1e-4 * step * slope:
                best, best_value, best_gradient, found = point, new_value, new_gradient, True
                if inner(heading, new_gradient) >= 0.9 * slope:
                    break
                low = step
            else:
                high = step
            step = (low + high) / 2.0 if high < np.inf else 2.0 * low
        if found:
            remember(best, L, best_gradient, gradient, history)
            L, value, gradient = best, best_value, best_gradient
        elif state[0] == 0:  # not even along the gradient: a minimum, or a kink
            return L, value, iteration, True
        else:
            state[0] = 0
        if recent[(iteration + 1) % patience] - value <= small_gain:
            return L, value, iteration + 1, True
    return L, value, n_iter, False
