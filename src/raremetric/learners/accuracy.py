"""How accurately IML solves its problem: the solvers that prove it, and when they are needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from numpy.typing import NDArray

from raremetric.losses.dual import DualBound
from raremetric.losses.pair_sets import PairSetLoss
from raremetric.solvers.reference import (
    Solution,
    minimize_in_stages,
    minimize_lbfgs,
    minimize_projected,
)

PROVED_FACTOR = 10  # times tol: what a bound must prove about the fast solver's result
POLISH_FACTOR = 5  # times max_iter: iterations for a result that was not proved
WIDTHS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
POLISH_WIDTHS = WIDTHS[2:]  # the fast solver ends with the first of these

Report = Callable[[int, float], None]


class SolverOptions(NamedTuple):
    """How to minimize; see the parameters of :class:`raremetric.IML`."""

    solver: str = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    scale_start: bool = False  # whether to start from the best multiple of the given L
    report: Report | None = None  # called with the iteration and the value


def minimize_proved(
    loss: PairSetLoss,
    bound: DualBound,
    L: NDArray,
    options: SolverOptions,
    widths: tuple[float, ...] = WIDTHS,
) -> Solution:
    """The reference solvers: less and less rounding, until the bound proves the accuracy.

    A solution that can be proved counts as converged only if it is.
    """
    solve: Callable[..., Solution] = minimize_lbfgs
    evaluate = loss.value_and_gradient
    if options.solver == "projected":
        solve, evaluate = minimize_projected, loss.value_and_matrix_gradient

    def minimize(L: NDArray, width: float, max_iter: int, tol: float) -> Solution:
        return solve(
            lambda point: evaluate(point, width),
            L,
            max_iter=max_iter,
            tol=tol,
            report=options.report,
        )

    def lower_bound(L: NDArray, width: float) -> float:
        multipliers = loss.multipliers(L, width)
        bound.add(loss.dual_point(multipliers))
        if options.solver != "auto":  # features on larger scales than one
            bound.add(loss.dual_point(multipliers, balanced=True))
        return bound.value

    found = minimize_in_stages(
        minimize, loss.value, lower_bound, L,
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


def polish(
    loss: PairSetLoss, bound: DualBound, found: Solution, options: SolverOptions
) -> Solution:
    """Continue with a reference solver until the bound proves a solution of the fast solver.

    If it is not proved in the end, the solution counts as not converged.
    """
    options = options._replace(
        max_iter=POLISH_FACTOR * options.max_iter, tol=PROVED_FACTOR * options.tol
    )
    polished = minimize_proved(loss, bound, found.L, options, POLISH_WIDTHS)
    return polished._replace(n_iter=found.n_iter + polished.n_iter)
