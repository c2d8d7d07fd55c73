"""ITML's projections on whole matrices, and its problem by a conic solver."""

import cvxpy as cp
import numpy as np


def sweep(M, differences, signs, bounds, multipliers, gamma):
    """One pass over all bounds, M by its inverse: M⁻¹ changes by a multiple of δδᵀ."""
    share = 1.0 if np.isinf(gamma) else gamma / (gamma + 1)
    for c, (difference, sign) in enumerate(zip(differences, signs, strict=True)):
        p = difference @ M @ difference
        if p == 0:
            continue
        alpha = min(multipliers[c], sign * share * (1 / p - 1 / bounds[c]))
        multipliers[c] -= alpha
        bounds[c] = 1 / (1 / bounds[c] + sign * alpha / gamma)
        M = np.linalg.inv(np.linalg.inv(M) - sign * alpha * np.outer(difference, difference))
    return M


def itml_optimum(differences, signs, bounds, gamma):
    """The minimum and its M for the identity as prior, by Clarabel."""
    d = differences.shape[1]
    M = cp.Variable((d, d), PSD=True)
    outer = np.array([np.outer(difference, difference).ravel() for difference in differences])
    squared = outer @ cp.vec(M, order="C")
    objective = cp.trace(M) - cp.log_det(M) - d
    slack = bounds
    if np.isfinite(gamma):
        slack = cp.Variable(len(bounds))
        ratios = cp.multiply(1 / bounds, slack)
        objective += gamma * cp.sum(ratios - cp.log(ratios) - 1)
    constraints = [cp.multiply(signs, squared - slack) <= 0]
    problem = cp.Problem(cp.Minimize(objective), constraints)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), M.value
