"""The loss as the paper's equation reads: sums over the sets, pair by pair."""

import numpy as np

from tests.oracles.neighbors import dissimilar_lists, similar_lists, squared_distance


def iml_loss(L, X, y, *, k, m, a, lam, refreshed, scheme="balanced", sample_weight=None):
    """F(LᵀL) with k neighbors, chosen in X (dissimilar ones in XLᵀ when refreshed)."""
    Z = X @ L.T
    weight = np.ones(len(X)) if sample_weight is None else sample_weight
    similar = similar_lists(X, y, k)
    dissimilar = dissimilar_lists(Z if refreshed else X, y, k)
    classes = np.unique(y)
    shares = (2 * a, 2 * (1 - a)) if scheme == "inverse" else (a, 1 - a)
    total = 0.0
    for c in classes:
        rows = np.flatnonzero(y == c)
        for lists, share, loss in (
            (similar, shares[0], lambda d: max(d - 1, 0)),
            (dissimilar, shares[1], lambda d: max(1 + m - d, 0)),
        ):
            pairs = [(i, j) for i in rows for j in lists[i]]
            if not pairs:
                continue
            losses = [weight[i] * loss(squared_distance(Z[i], Z[j])) for i, j in pairs]
            mean = sum(losses) / sum(weight[i] for i, _ in pairs)
            total += share * mean * set_weight(scheme, len(classes), len(pairs), np.mean(y != c))
    M = L.T @ L
    return total + lam * np.sum((M - np.eye(len(M))) ** 2)


def set_weight(scheme, n_classes, n_pairs, share_of_others):
    """What the mean loss of a set is multiplied by."""
    if scheme == "balanced":
        return 1 / (2 * n_classes)
    return n_pairs * (share_of_others if scheme == "inverse" else 1)
