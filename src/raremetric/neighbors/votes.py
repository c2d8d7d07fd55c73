"""Votes of the nearest neighbors."""

from __future__ import annotations

import numpy as np

from raremetric.neighbors.self_join import insert_nearest, squared_norms
from raremetric.performance import jit


@jit
def count_votes(train, codes, n_classes, test, k):
    """Votes of the k nearest training rows for each class: (n_test, n_classes).

    Distances come from a matrix product in double precision; among equals the lowest index votes.
    """
    products = np.dot(test, train.T)
    norms = np.empty(train.shape[0])
    squared_norms(train, norms)
    votes = np.zeros((test.shape[0], n_classes), dtype=np.int64)
    distances, indices = np.empty((1, k)), np.empty((1, k), dtype=np.int64)
    for i in range(test.shape[0]):
        distances[:], indices[:] = np.inf, -1
        for j in range(train.shape[0]):
            distance = norms[j] - 2.0 * products[i, j]  # less ‖test row‖², the same for all j
            if distance < distances[0, k - 1]:
                insert_nearest(0, distance, j, distances, indices)
        for s in range(k):
            votes[i, codes[indices[0, s]]] += 1
    return votes
