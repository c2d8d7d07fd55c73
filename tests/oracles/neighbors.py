"""Nearest neighbors by sorting all pairs of (distance, index)."""

import numpy as np


def squared_distance(a, b):
    return float(np.sum((np.asarray(a) - np.asarray(b)) ** 2))


def nearest(X, i, candidates, k):
    """The k candidates nearest to row i; among equals the lowest index."""
    ranked = sorted((squared_distance(X[i], X[j]), j) for j in candidates if j != i)
    return [j for _, j in ranked[:k]]


def similar_lists(X, y, k):
    return [nearest(X, i, np.flatnonzero(y == y[i]), k) for i in range(len(X))]


def dissimilar_lists(X, y, k):
    return [nearest(X, i, np.flatnonzero(y != y[i]), k) for i in range(len(X))]
