"""Cyclic Bregman projections under the LogDet divergence."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from raremetric.performance import any_order, inlined

LANES = 8  # double-precision numbers in two vector registers


class Projection(NamedTuple):
    """The result of the projections."""

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
    *,
    gamma: float,
    max_iter: int,
    tol: float,
) -> Projection:
    """The metric nearest to I, in LogDet divergence, that satisfies bounds on squared distances.

    Minimizes D(M, I) + γ D(diag ξ, diag ξ₀), with D(A, B) = tr AB⁻¹ − log det AB⁻¹ − d, so that
    sign·(δᵀMδ − ξ) ≤ 0 for each pair. At the minimum M⁻¹ = I + Σ sign·λ δδᵀ,
    ξ⁻¹ = ξ₀⁻¹ − sign·λ/γ, λ ≥ 0, and λ > 0 only where the bound is met with equality.

    ``differences`` are the δ, (n_pairs, n_features); pairs with δ = 0 are skipped. ``signs`` are +1
    for an upper bound and -1 for a lower one, and ``bounds`` are ξ₀ > 0. An infinite γ forbids
    slack. There are at most ``max_iter`` sweeps through all pairs, until one changes the
    multipliers by less than the fraction ``tol``.
    """
    n_features = differences.shape[1]
    # Columns of zeros make rows of whole vectors, which are processed faster.
    padding = ((0, 0), (0, -n_features % LANES))
    learned = np.pad(np.eye(n_features), padding)
    slack_bounds = np.array(bounds, dtype=np.float64)
    multipliers = np.zeros(len(differences))
    n_iter, change = bregman_sweeps(
        learned, np.pad(np.asarray(differences, dtype=np.float64), padding),
        np.ascontiguousarray(signs, dtype=np.float64), slack_bounds, multipliers,
        float(gamma), int(max_iter), float(tol),
    )  # fmt: skip
    learned = np.ascontiguousarray(learned[:, :n_features])
    values = linalg.svdvals(learned.T) ** 2
    objective = float(np.sum(values - np.log(values) - 1))
    if np.isfinite(gamma):
        ratios = slack_bounds / bounds
        objective += gamma * float(np.sum(ratios - np.log(ratios) - 1))
    return Projection(learned, slack_bounds, multipliers, objective, n_iter, change < tol)


@inlined
def project(L, difference, projected):
    """Write Lδ to projected and return ‖Lδ‖²."""
    p = 0.0
    for r in range(L.shape[0]):
        total, axis = 0.0, L[r]
        for t in range(L.shape[1]):
            total += axis[t] * difference[t]
        projected[r] = total
        p += total * total
    return p


@inlined
def stretch_along(L, projected, stretch, row):
    """Replace L by (I + s wwᵀ)L for w = Lδ, the projected difference; row is for work."""
    for t in range(L.shape[1]):
        row[t] = 0.0
    for r in range(L.shape[0]):
        weight, axis = projected[r], L[r]
        for t in range(L.shape[1]):
            row[t] += weight * axis[t]
    for r in range(L.shape[0]):
        weight, axis = stretch * projected[r], L[r]
        for t in range(L.shape[1]):
            axis[t] += weight * row[t]


@any_order
def bregman_sweeps(L, differences, signs, bounds, multipliers, gamma, max_iter, tol):
    """Cycle through all bounds until the multipliers settle; changes L, bounds, multipliers.

    Each step projects M = LᵀL onto one bound on p = ‖Lδ‖²: p ≤ bound if the sign is +1, p ≥ bound
    if it is -1. M⁻¹ − sign·α δδᵀ is reached by a rank-one change of L itself, so M stays positive
    definite despite rounding: M⁺ = Lᵀ(I + s wwᵀ)²L with w = Lδ and (1 + s p)² = 1/(1 − sign·α p).
    Returns the number of sweeps and the last change, Σ|λ − λ'| / (‖λ‖ + ‖λ'‖).
    """
    projected, row = np.empty(L.shape[0], np.float64), np.empty(L.shape[1], np.float64)
    share, change = 1.0 if math.isinf(gamma) else gamma / (gamma + 1.0), np.inf
    for sweep in range(max_iter):
        moved, norm, old_norm = 0.0, 0.0, 0.0
        for c in range(differences.shape[0]):
            old, bound, sign, alpha = multipliers[c], bounds[c], signs[c], 0.0
            p = project(L, differences[c], projected)
            if p > 0.0:  # otherwise equal points: their distance is 0 under every metric
                alpha = sign * share * (1.0 / p - 1.0 / bound)
                shrink = 1.0 - share + share * p / bound  # 1 − sign·α p without cancellation
                if old <= alpha:
                    alpha, shrink = old, 1.0 - sign * old * p
            if alpha != 0.0:
                stretch_along(L, projected, (1.0 / math.sqrt(shrink) - 1.0) / p, row)
                bounds[c] = 1.0 / (1.0 / bound + sign * alpha / gamma)
                multipliers[c] = old - alpha
            moved += abs(multipliers[c] - old)
            norm += multipliers[c] ** 2
            old_norm += old * old
        total = math.sqrt(norm) + math.sqrt(old_norm)
        change = moved / total if total > 0.0 else 0.0
        if change < tol:
            return sweep + 1, change
    return max_iter, change
