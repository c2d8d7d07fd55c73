"""The same problem handed to an independent conic solver."""

import cvxpy as cp
import numpy as np

from tests.oracles.neighbors import dissimilar_lists, nearest, similar_lists
from tests.oracles.pair_sets import set_weight


def iml_optimum(X, y, **settings):
    """min F(M) over M ⪰ 0."""
    return iml_minimum(X, y, **settings)[0]


def iml_minimum(
    X, y, *, k, m, a, lam, refreshed, scheme="balanced", left_out=None, sample_weight=None
):
    """min F(M) over M ⪰ 0 and its M, by Clarabel; refreshed terms as sums of the k largest hinges.

    The example ``left_out`` has no pairs, and the next neighbors are in its place in those of
    others; the weights of the other examples' pairs stay as they are.
    """
    d = X.shape[1]
    M = cp.Variable((d, d), PSD=True)
    n_classes = len(np.unique(y))
    weights = np.ones(len(X)) if sample_weight is None else sample_weight
    shares = (2 * a, 2 * (1 - a)) if scheme == "inverse" else (a, 1 - a)

    def weight(share, i, lists):
        """Of each pair of row i: its share of the set that the pairs of its class form."""
        members = np.flatnonzero(y == y[i])
        n_pairs = sum(len(lists[j]) for j in members)
        total = sum(weights[j] * len(lists[j]) for j in members)
        set_total = share * set_weight(scheme, n_classes, n_pairs, np.mean(y != y[i]))
        return weights[i] / total * set_total if total > 0 else 0.0

    def squared(i, others):
        outer = [np.outer(X[i] - X[j], X[i] - X[j]).ravel() for j in others]
        return np.array(outer) @ cp.vec(M, order="C")

    similar, dissimilar = similar_lists(X, y, k), dissimilar_lists(X, y, k)
    loss = lam * cp.sum_squares(M - np.eye(d))
    kept = np.flatnonzero(np.arange(len(X)) != left_out)
    for i in kept[weights[kept] > 0]:
        own, others = kept[y[kept] == y[i]], kept[y[kept] != y[i]]
        attract = weight(shares[0], i, similar)
        loss += attract * cp.sum(cp.pos(squared(i, nearest(X, i, own, k)) - 1))
        repel = weight(shares[1], i, dissimilar)
        if refreshed:
            loss += repel * cp.sum_largest(cp.pos(1 + m - squared(i, others)), k)
        else:
            loss += repel * cp.sum(cp.pos(1 + m - squared(i, nearest(X, i, others, k))))
    problem = cp.Problem(cp.Minimize(loss))
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), M.value
