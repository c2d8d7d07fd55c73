"""Lower bounds on the minimum of the pair-set loss, from its dual problem.

For λ > 0 the dual problem of min F over M ⪰ 0 is to choose multipliers α of the pairs, within the
bounds of their hinges, so that the minimum over M ⪰ 0 of ⟨A, M⟩ + linear + λ‖M − I‖² is largest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.optimize import minimize_scalar

EPSILON = np.finfo(np.float64).eps
HUGE = 1e8  # times λ: entries of A beside which λ is lost to rounding


class DualPoint(NamedTuple):
    """Statistics of feasible multipliers α for the dual problem; mixtures are feasible too."""

    A: NDArray  # Σ_sim α δδᵀ − Σ_dis α δδᵀ, (n_features, n_features)
    linear: float  # (1 + m) Σ_dis α − Σ_sim α
    is_psd: bool = False  # whether A is known to have no negative eigenvalue

    def mixed(self, other: DualPoint, share: float) -> DualPoint:
        """(1 − share) of this point plus share of the other one."""
        return DualPoint(
            (1 - share) * self.A + share * other.A,
            (1 - share) * self.linear + share * other.linear,
            self.is_psd and other.is_psd,
        )


def dual_value(point: DualPoint, regularization: float) -> float:
    """A lower bound on F; minus infinity for λ = 0.

    The minimum over M ⪰ 0 of linear + ⟨A, M⟩ + λ‖M − I‖² is linear + Σ a (1 − a/(4λ)), or λ in
    place of a term with a > 2λ, over the eigenvalues a of A. If λ is lost to rounding beside them,
    each counts as the least that it can be without rounding, so that the bound is valid.
    """
    if regularization == 0:
        return -np.inf
    values = linalg.eigvalsh(point.A)
    if np.abs(point.A).max() > HUGE * regularization:
        values -= 10 * len(values) * EPSILON * np.abs(values).max()
        values = np.maximum(values, 0.0) if point.is_psd else values
    with np.errstate(over="ignore", invalid="ignore"):
        terms = values * (1 - values / (4 * regularization))
    return float(point.linear + np.where(values < 2 * regularization, terms, regularization).sum())


def balanced_share(similar: NDArray, dissimilar: NDArray) -> float:
    """A t from 0 to 1, close to the largest one with similar − t·dissimilar ⪰ 0; both are PSD."""
    values, axes = linalg.eigh(similar)
    kept = values > 10 * len(values) * EPSILON * max(values[-1], np.finfo(float).tiny)
    axes, values = axes[:, kept], values[kept]
    inside = axes.T @ dissimilar @ axes
    total = np.trace(dissimilar)
    if total - np.trace(inside) > 1e-9 * total:
        return 0.0
    core = inside / np.sqrt(np.outer(values, values))
    largest = linalg.eigvalsh(core)[-1] if len(core) else 0.0
    return float(min(1.0, (1 - 1e-9) / max(largest, np.finfo(float).tiny)))


class DualBound:
    """The best lower bound on F that a few dual points prove, for a λ.

    The dual problem is concave, so each point is mixed with the best mixture of the points before
    it. This takes a few eigendecompositions, which are postponed until the value is needed.
    """

    def __init__(self, regularization: float):
        self.regularization = float(regularization)
        self._pending: list[DualPoint] = []
        self._best: DualPoint | None = None
        self._value = -np.inf

    def add(self, point: DualPoint) -> None:
        """Add one more point."""
        self._pending.append(point)

    @property
    def value(self) -> float:
        """The bound: at least zero, like F; minus infinity for λ = 0 or without any point."""
        while self._pending:
            self._mix(self._pending.pop(0))
        if self._best is None or self.regularization == 0:
            return -np.inf
        return max(self._value, 0.0)

    def _mix(self, new: DualPoint) -> None:
        best = self._best
        if best is None:
            self._best, self._value = new, dual_value(new, self.regularization)
            return
        found = minimize_scalar(
            lambda share: -dual_value(best.mixed(new, share), self.regularization),
            bounds=(0.0, 1.0), method="bounded", options={"maxiter": 15},
        )  # fmt: skip
        if -found.fun > self._value:
            self._best, self._value = best.mixed(new, found.x), float(-found.fun)
