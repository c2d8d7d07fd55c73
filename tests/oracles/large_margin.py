"""The large-margin loss by its definition, triplet by triplet, and by a conic solver."""

import cvxpy as cp
import numpy as np

from tests.oracles.neighbors import similar_lists


def triplets(y, targets):
    """(i, target j, possible impostor l) for all rows i."""
    return [
        (i, j, other)
        for i in range(len(y))
        for j in targets[i]
        if j >= 0
        for other in np.flatnonzero(y != y[i])
    ]


def lmnn_loss(L, X, y, targets, push_weight, weights=None):
    Z, weights = X @ L.T, np.ones(len(y)) if weights is None else weights

    def distance(a, b):
        return float(np.sum((Z[a] - Z[b]) ** 2))

    pull = sum(weights[i] * distance(i, j) for i in range(len(y)) for j in targets[i] if j >= 0)
    push = sum(
        weights[i] * max(1 + distance(i, j) - distance(i, other), 0) ** 2
        for i, j, other in triplets(y, targets)
    )
    return (1 - push_weight) * pull + push_weight * push


def lmnn_optimum(X, y, k, push_weight, weights=None):
    """min F over M ⪰ 0, by Clarabel."""
    weights = np.ones(len(y)) if weights is None else weights
    targets = similar_lists(X, y, k)
    d = X.shape[1]
    M = cp.Variable((d, d), PSD=True)

    def outer(a, b):
        return np.outer(X[a] - X[b], X[a] - X[b]).ravel()

    pulls = np.sum([weights[i] * outer(i, j) for i in range(len(y)) for j in targets[i]], axis=0)
    rows = [outer(i, j) - outer(i, other) for i, j, other in triplets(y, targets)]
    hinges = cp.pos(1 + np.array(rows) @ cp.vec(M, order="C"))
    push = np.array([weights[i] for i, _, _ in triplets(y, targets)]) @ cp.square(hinges)
    loss = (1 - push_weight) * (pulls @ cp.vec(M, order="C")) + push_weight * push
    problem = cp.Problem(cp.Minimize(loss))
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)
