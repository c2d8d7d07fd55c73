"""Cyclic Bregman projections under the LogDet divergence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg


class Projection(NamedTuple):
    """Where the projections ended."""

    L: NDArray  # (n_features, n_features), M = LᵀL
    bounds: NDArray  # (n_pairs,), ξ: each pair's bound after its slack
    multipliers: NDArray  # (n_pairs,), λ ≥ 0
    objective: float
    n_iter: int
    converged: bool


def project_bregman(
    differences: NDArray,
    signs: NDArray,
    bounds: NDArray,
    L: NDArray,
    *,
    gamma: float,
    max_iter: int,
    tol: float,
) -> Projection:
    """The metric nearest to LᵀL, in LogDet divergence, that keeps bounds on squared distances.

    Minimises D(M, M₀) + γ D(diag ξ, diag ξ₀), with D(A, B) = tr AB⁻¹ − log det AB⁻¹ − d, so that
    sign·(δᵀMδ − ξ) ≤ 0 for each pair. At the minimum M⁻¹ = M₀⁻¹ + Σ sign·λ δδᵀ,
    ξ⁻¹ = ξ₀⁻¹ − sign·λ/γ, λ ≥ 0, and λ > 0 only where the bound is met with equality.

    Parameters
    ----------
    differences : ndarray of shape (n_pairs, n_features)
        δ; a pair with δ = 0 is passed over.
    signs : ndarray of shape (n_pairs,)
        +1 for an upper bound, -1 for a lower one.
    bounds : ndarray of shape (n_pairs,)
        ξ₀ > 0.
    L : ndarray of shape (n_features, n_features)
        M₀ = LᵀL, positive definite.
    gamma : float
        γ > 0, the price of slack; infinite for none.
    max_iter : int
        Bound on the sweeps through all pairs.
    tol : float
        Stop when a sweep changes the multipliers by less than this fraction.
    """
    from raremetric.solvers import bregman_kernels as kernels

    learned = np.array(L, dtype=np.float64, order="C")
    slack_bounds = np.array(bounds, dtype=np.float64)
    multipliers = np.zeros(len(differences))
    n_iter, change = kernels.bregman_sweeps(
        learned,
        np.ascontiguousarray(differences, dtype=np.float64),
        np.ascontiguousarray(signs, dtype=np.float64),
        slack_bounds,
        multipliers,
        float(gamma),
        int(max_iter),
        float(tol),
    )
    objective = logdet_divergence(learned, L)
    if np.isfinite(gamma):
        ratios = slack_bounds / bounds
        objective += gamma * float(np.sum(ratios - np.log(ratios) - 1))
    return Projection(learned, slack_bounds, multipliers, objective, n_iter, change < tol)


def logdet_divergence(L: NDArray, L0: NDArray) -> float:
    """D(LᵀL, L₀ᵀL₀) for square L and L₀, from the singular values of LL₀⁻¹."""
    values = linalg.svdvals(linalg.solve(L0.T, L.T)) ** 2
    return float(np.sum(values - np.log(values) - 1))
