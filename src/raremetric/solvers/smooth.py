"""Solvers of smooth functions: SciPy's L-BFGS over L, and projected gradient descent over M.

A nonsmooth loss is minimized by a sequence of smooth approximations, one stage for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import PairSetLoss
from raremetric.metric import matrix_from_components, project_psd

WIDTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)  # how far the corners are rounded, one stage for each
PROVED_FACTOR = 10  # times tol: what a bound must prove about the fast solver's result
ZERO = 1e-200  # smaller values at the start are zero, so that quotients do not overflow
SMALL_VALUE = 1e-2  # times the initial value: accuracy is relative to at least this
MAX_HALVINGS = 100  # of a step: it is then too short to change anything
ITERATION_LIMIT = 1  # SciPy's status when maxiter or maxfun ended the run
PATIENCE = 5  # iterations in a row with a gain below the tolerance that end the descent

Evaluate = Callable[[NDArray], tuple[float, NDArray]]  # from L to the value and the gradient


class SolverOptions(NamedTuple):
    """How to minimize; see the parameters of :class:`raremetric.IML`."""

    solver: str = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    scale_start: bool = False  # whether to start from the best multiple of the given L


class Solution(NamedTuple):
    """Where a solver ended."""

    L: NDArray  # (n_components, n_features)
    value: float
    n_iter: int
    converged: bool
    proved: bool = False  # whether a lower bound proves the accuracy
    bound: float = -np.inf  # on the exact loss


def minimize_in_stages(
    solve: Callable[..., Solution],
    evaluate: Callable[..., tuple[float, NDArray]],
    exact: Callable[[NDArray], float],
    L: NDArray,
    *,
    lower_bound: Callable[[NDArray, float], float],
    widths: Sequence[float] = WIDTHS,
    max_iter: int,
    tol: float,
) -> Solution:
    """Minimize losses with less and less rounding, each one from the minimum of the last.

    The descent ends when the exact loss is proved to be within a fraction ``tol`` of its minimum.
    Without a proof, the solution counts as converged if a stage did: a rounded loss is nowhere
    above the exact one, so the difference of the two bounds the distance from the minimum.

    ``solve`` is `minimize_lbfgs` or `minimize_projected`, ``evaluate`` the loss rounded by a width,
    and ``lower_bound`` one on the exact loss, from the end of a stage. The accuracy is relative to
    the exact loss, but at least to a hundredth of its value at the start or at L = 0, whichever is
    lower.
    """
    n_iter, proved, converged, bound = 0, False, False, -np.inf
    stage_tol = max(1e-3 * tol, 1e-14)  # less is rounding
    best_L, best = L, exact(L)
    floor = SMALL_VALUE * min(abs(best), abs(exact(np.zeros_like(L))))  # for a minimum of zero
    widths = list(widths)
    while widths and stage_tol > 1e-15:
        width = widths[0]
        stage = solve(partial(evaluate, width=width), L, max_iter=max_iter - n_iter, tol=stage_tol)
        L, n_iter, value = stage.L, n_iter + stage.n_iter, exact(stage.L)
        if value <= best:
            best_L, best = L, value
        bound = max(bound, lower_bound(L, width))
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
    return Solution(best_L, best, n_iter, converged, proved, bound)


def minimize_proved(
    loss: PairSetLoss,
    bound: DualBound,
    L: NDArray,
    options: SolverOptions,
    widths: tuple[float, ...] = WIDTHS,
) -> Solution:
    """Less and less rounding, until the bound proves the accuracy.

    A solution that can be proved counts as converged only if it is. Of the loss it calls `value`,
    its gradient, `multipliers`, `dual_point` and `has_units`.
    """

    def lower_bound(L: NDArray, width: float) -> float:
        multipliers = loss.multipliers(L, width)
        bound.add(loss.dual_point(multipliers))
        if options.solver != "auto" or loss.has_units:  # features on larger scales than one
            bound.add(loss.dual_point(multipliers, balanced=True))
        return bound.value

    found = minimize_in_stages(
        minimize_lbfgs, loss.value_and_gradient, loss.value, L, lower_bound=lower_bound,
        widths=widths, max_iter=options.max_iter, tol=options.tol,
    )  # fmt: skip
    return found._replace(converged=found.proved) if can_be_proved(bound, L) else found


def can_be_proved(bound: DualBound, L: NDArray) -> bool:
    """Whether a proof is to be expected: not for λ = 0, nor for a metric of lower rank."""
    return bound.regularization > 0 and L.shape[0] >= L.shape[1]


def not_proved(found: Solution, bound: DualBound, options: SolverOptions) -> bool:
    """Whether the bound leaves open that the fast solver missed the minimum."""
    if not found.converged or not can_be_proved(bound, found.L):
        return False
    return found.value - bound.value > PROVED_FACTOR * options.tol * found.value


def minimize_lbfgs(
    evaluate: Evaluate,
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    patience: int = 1,
) -> Solution:
    """Minimize a function of L by L-BFGS-B.

    It ends when an iteration gains less than the fraction ``tol`` of the initial value; or, with a
    ``patience`` above one, when this number of iterations gains less than that fraction of the
    value, or of a hundredth of the initial value.
    """
    shape = L.shape
    # SciPy's tolerances are relative only to values above one, so scale the value to one.
    start = evaluate(L)
    scale = max(abs(start[0]), ZERO)

    def scaled(x: NDArray) -> tuple[float, NDArray]:
        point = x.reshape(shape)
        value, gradient = start if np.array_equal(point, L) else evaluate(point)
        return value / scale, gradient.ravel() / scale

    values = [1.0]  # after each iteration

    def watch(intermediate_result) -> None:
        values.append(float(intermediate_result.fun))
        if 1 < patience < len(values):
            gain = values[-1 - patience] - values[-1]
            if gain <= tol * max(values[-1], SMALL_VALUE):
                raise StopIteration

    ftol = tol if patience == 1 else 0.0
    result = minimize(
        scaled,
        L.ravel(),
        jac=True,
        method="L-BFGS-B",
        callback=watch,
        options={"maxiter": max_iter, "ftol": ftol, "gtol": 0.0},
    )
    if not np.isfinite(result.fun):  # the first step went too far for numbers of these sizes
        return Solution(L, start[0], int(result.nit), False)
    converged = result.status != ITERATION_LIMIT
    return Solution(result.x.reshape(shape), float(result.fun) * scale, int(result.nit), converged)


def minimize_projected(
    evaluate: Evaluate,
    L: NDArray,
    *,
    max_iter: int,
    tol: float,
    largest: float,
) -> Solution:
    """Minimize a smooth convex function of M = LᵀL with eigenvalues from 0 to ``largest``.

    Nesterov's momentum, restarted when the value rises; step lengths by backtracking. It ends when
    several iterations in a row gain less than the fraction ``tol`` of the value.

    ``evaluate`` gives the value and the gradient over M for a factor L of M, which the projection
    computes anyway.
    """
    M = matrix_from_components(L)
    value, gradient = evaluate(L)
    step = 0.1 * float(np.linalg.norm(M)) / max(float(np.linalg.norm(gradient)), ZERO)
    ahead, ahead_L, momentum, idle = M, L, 1.0, 0
    for iteration in range(1, max_iter + 1):
        new_M, new_L, new_value, step = _descend(evaluate, ahead, ahead_L, step, largest)
        gained = value - new_value
        idle = idle + 1 if gained <= tol * abs(value) else 0
        if gained < 0 and momentum > 1:
            ahead, ahead_L, momentum = M, L, 1.0
        else:
            new_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
            push = (momentum - 1) / new_momentum
            ahead, ahead_L = project_psd(new_M + push * (new_M - M), largest)
            momentum = new_momentum
            if gained >= 0:
                M, L, value = new_M, new_L, new_value
        if idle >= PATIENCE:
            return Solution(L, value, iteration, True)
    return Solution(L, value, max_iter, False)


@np.errstate(over="ignore", invalid="ignore")
def _descend(evaluate, M: NDArray, L: NDArray, step: float, largest: float):
    """One projected step from M, shortened until the quadratic model is an upper bound."""
    value, gradient = evaluate(L)
    slack = 1e-13 * abs(value)  # near the minimum, rounding must not shorten the steps without end
    for _ in range(MAX_HALVINGS):  # also if numbers overflow: the condition is false then
        new_M, new_L = project_psd(M - step * gradient, largest)
        change = new_M - M
        new_value, _ = evaluate(new_L)
        model = value + np.sum(gradient * change) + np.sum(change**2) / (2 * step)
        if new_value <= model + slack:
            return new_M, new_L, new_value, 1.25 * step
        step /= 2
    return M, L, value, step  # no step decreases the loss
