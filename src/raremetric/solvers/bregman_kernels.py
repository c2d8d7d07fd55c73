"""Bregman projections onto bounds on squared distances, one compiled loop."""

from __future__ import annotations

import numpy as np
from numba import njit

from raremetric.performance import jit


# Only the order of the additions is free, so that the sum fills vector registers.
@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract"})
def dot(a, b):
    """Σ a_t b_t."""
    total = 0.0
    for t in range(a.shape[0]):
        total += a[t] * b[t]
    return total


@jit
def project_on_bound(L, difference, sign, bound, multiplier, gamma, projected, row):
    """Project M = LᵀL onto one bound on p = ‖Lδ‖²; returns the bound and the multiplier after.

    sign is +1 for p ≤ bound and -1 for p ≥ bound. M⁻¹ − sign·α δδᵀ is reached by a rank-one
    change of L itself, so M stays positive definite whatever the rounding. ``projected`` and
    ``row`` are room for Lδ and LᵀLδ.
    """
    n_components, n_features = L.shape
    for r in range(n_components):
        projected[r] = dot(L[r], difference)
    p = dot(projected, projected)
    if p == 0.0:  # equal points: no metric moves them
        return bound, multiplier
    share = 1.0 if np.isinf(gamma) else gamma / (gamma + 1.0)
    alpha = sign * share * (1.0 / p - 1.0 / bound)
    shrink = 1.0 - share + share * p / bound  # 1 − sign·α p without cancellation
    if multiplier <= alpha:
        alpha, shrink = multiplier, 1.0 - sign * multiplier * p
    if alpha == 0.0:
        return bound, multiplier
    # M⁺ = Lᵀ(I + s wwᵀ)²L with w = Lδ and (1 + s p)² = 1/(1 − sign·α p).
    stretch = (1.0 / np.sqrt(shrink) - 1.0) / p
    row[:] = 0.0
    for r in range(n_components):
        for t in range(n_features):
            row[t] += projected[r] * L[r, t]
    for r in range(n_components):
        factor = stretch * projected[r]
        for t in range(n_features):
            L[r, t] += factor * row[t]
    bound = 1.0 / (1.0 / bound + sign * alpha / gamma)
    return bound, multiplier - alpha


@jit
def bregman_sweeps(L, differences, signs, bounds, multipliers, gamma, max_iter, tol):
    """Cycle through all bounds until the multipliers settle; changes L, bounds, multipliers.

    Returns the number of sweeps and the last change, Σ|λ − λ'| / (‖λ‖ + ‖λ'‖).
    """
    projected, row = np.empty(L.shape[0]), np.empty(L.shape[1])
    change = np.inf
    for sweep in range(max_iter):
        moved, norm, old_norm = 0.0, 0.0, 0.0
        for c in range(differences.shape[0]):
            old = multipliers[c]
            bounds[c], multipliers[c] = project_on_bound(
                L, differences[c], signs[c], bounds[c], old, gamma, projected, row
            )
            moved += abs(multipliers[c] - old)
            norm += multipliers[c] ** 2
            old_norm += old * old
        total = np.sqrt(norm) + np.sqrt(old_norm)
        change = moved / total if total > 0.0 else 0.0
        if change < tol:
            return sweep + 1, change
    return max_iter, change
