"""Nearest rows, exact, with ties broken by the lowest index."""

from __future__ import annotations

import numpy as np

from raremetric.kernels import jit


@jit
def squared_distances_to(point, columns, out):
    """‖p_j − point‖² for all j, from ``columns`` = Pᵀ, shape (n_dims, n_points)."""
    out[:] = 0.0
    for t in range(columns.shape[0]):
        row = columns[t]
        coordinate = point[t]
        for j in range(out.shape[0]):
            difference = row[j] - coordinate
            out[j] += difference * difference


@jit
def insert_smallest(distances, start, skip, best_distances, best_indices):
    """Merge distances[j] of index start + j into sorted lists of the smallest.

    Scanned in rising order with a strict comparison: among equals the lowest index stays.
    """
    last = best_distances.shape[0] - 1
    for j in range(distances.shape[0]):
        value = distances[j]
        if value < best_distances[last] and start + j != skip:
            slot = last
            while slot > 0 and value < best_distances[slot - 1]:
                best_distances[slot] = best_distances[slot - 1]
                best_indices[slot] = best_indices[slot - 1]
                slot -= 1
            best_distances[slot] = value
            best_indices[slot] = start + j


@jit
def nearest_rows(queries, columns, k, own):
    """The k nearest of the points ``columns`` = Pᵀ to each query, nearest first.

    own[i] is the index of query i among the points, never its own neighbour, or -1.
    Cost n_queries · n_points · n_dims; memory n_queries · k + n_points.
    """
    n_queries, n_points = queries.shape[0], columns.shape[1]
    indices = np.full((n_queries, k), -1, dtype=np.int64)
    distances = np.full((n_queries, k), np.inf)
    row = np.empty(n_points)
    for i in range(n_queries):
        squared_distances_to(queries[i], columns, row)
        insert_smallest(row, 0, own[i], distances[i], indices[i])
    return indices, distances


@jit
def nearest_of_other_classes(Z, starts, k):
    """The k nearest rows of other classes to each row; rows are grouped by class.

    Class c owns rows starts[c] to starts[c + 1]. Lists shorter than k end in index -1 and
    infinite distance.
    """
    n_samples = Z.shape[0]
    columns = np.ascontiguousarray(Z.T)
    indices = np.full((n_samples, k), -1, dtype=np.int64)
    distances = np.full((n_samples, k), np.inf)
    row = np.empty(n_samples)
    for c in range(starts.shape[0] - 1):
        low, high = starts[c], starts[c + 1]
        before, after = row[:low], row[high:]
        for i in range(low, high):
            squared_distances_to(Z[i], columns[:, :low], before)
            squared_distances_to(Z[i], columns[:, high:], after)
            insert_smallest(before, 0, -1, distances[i], indices[i])
            insert_smallest(after, high, -1, distances[i], indices[i])
    return indices, distances
