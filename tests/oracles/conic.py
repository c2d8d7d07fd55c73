"""The same problem handed to an independent conic solver."""

import cvxpy as cp
import numpy as np

from tests.oracles.neighbors import dissimilar_lists, similar_lists


def iml_optimum(X, y, *, k, m, a, lam, refreshed):
    """min F(M) over M ⪰ 0, by Clarabel; refreshed terms as sums of the k largest hinges."""
    d = X.shape[1]
    M = cp.Variable((d, d), PSD=True)
    n_classes = len(np.unique(y))

    def squared(i, others):
        outer = [np.outer(X[i] - X[j], X[i] - X[j]).ravel() for j in others]
        return np.array(outer) @ cp.vec(M, order="C")

    similar, dissimilar = similar_lists(X, y, k), dissimilar_lists(X, y, k)
    loss = lam * cp.sum_squares(M - np.eye(d))
    for i in range(len(X)):
        members = np.flatnonzero(y == y[i])
        n_similar = sum(len(similar[j]) for j in members)
        n_dissimilar = sum(len(dissimilar[j]) for j in members)
        loss += a / (2 * n_classes * n_similar) * cp.sum(cp.pos(squared(i, similar[i]) - 1))
        weight = (1 - a) / (2 * n_classes * n_dissimilar)
        if refreshed:
            others = np.flatnonzero(y != y[i])
            loss += weight * cp.sum_largest(cp.pos(1 + m - squared(i, others)), k)
        else:
            loss += weight * cp.sum(cp.pos(1 + m - squared(i, dissimilar[i])))
    problem = cp.Problem(cp.Minimize(loss))
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)
