"""Nearest neighbors by sorting all pairs of (distance, index)."""

import math

import numpy as np


def squared_distance(a, b):
    return float(np.sum((np.asarray(a) - np.asarray(b)) ** 2))


def ranked(query, X, candidates):
    """All candidates as pairs (squared distance, index), nearest first; equals by their index."""
    return sorted((squared_distance(query, X[j]), int(j)) for j in candidates)


def nearest(X, i, candidates, k):
    """The k candidates nearest to row i, without itself; among equals the lowest index."""
    return [j for _, j in ranked(X[i], X, [j for j in candidates if j != i])[:k]]


def similar_lists(X, y, k):
    return [nearest(X, i, np.flatnonzero(y == y[i]), k) for i in range(len(X))]


def dissimilar_lists(X, y, k):
    return [nearest(X, i, np.flatnonzero(y != y[i]), k) for i in range(len(X))]


def search(Z, queries, candidates, k):
    """Distances and indices of the k nearest candidates to each query.

    Without queries, each example is a query and not among its own candidates; lists that are
    shorter than k end with infinity and -1.
    """
    points = Z if queries is None else queries
    distances, indices = np.full((len(points), k), np.inf), np.full((len(points), k), -1)
    for i, point in enumerate(points):
        others = [j for j in candidates if queries is not None or j != i]
        for s, (square, j) in enumerate(ranked(point, Z, others)[:k]):
            distances[i, s], indices[i, s] = math.sqrt(square), j
    return distances, indices
