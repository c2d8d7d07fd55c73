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
    """The reference solvers: less and less rounding, until the bound proves the accuracy."""
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
        bound.add(loss.dual_point(loss.multipliers(L, width)))
        return bound.value

    return minimize_in_stages(
        minimize, loss.value, lower_bound, L,
        widths=widths, max_iter=options.max_iter, tol=options.tol,
    )  # fmt: skip


def not_proved(found: Solution, bound: DualBound, options: SolverOptions) -> bool:
    """Whether the bound leaves open that the fast solver missed the minimum.

    There is no bound for λ = 0, and none to be expected for a metric of lower rank.
    """
    if bound.regularization == 0 or found.L.shape[0] < found.L.shape[1] or not found.converged:
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
    proved = polished.value - bound.value <= options.tol * polished.value
    return polished._replace(n_iter=found.n_iter + polished.n_iter, converged=proved)
