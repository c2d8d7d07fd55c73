"""The problem of ITML by a conic solver."""

import cvxpy as cp
import numpy as np


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
