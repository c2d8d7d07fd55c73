"""Who is near whom. Exact, and with ties broken by the lowest index."""

from __future__ import annotations

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from numpy.typing import NDArray

from raremetric.validation import Labels


def k_nearest(
    queries: NDArray, points: NDArray, k: int, own: NDArray | None = None, n_jobs: int | None = None
) -> NDArray[np.int64]:
    """Indices of the k nearest points to each query, nearest first.

    Parameters
    ----------
    queries : ndarray of shape (n_queries, n_dims)
    points : ndarray of shape (n_points, n_dims)
    k : int
        Lists are shortened to the number of points that can be neighbors.
    own : ndarray of shape (n_queries,) or None
        Index of each query among the points: never its own neighbor, even when another point
        lies on the same spot.
    n_jobs : int or None
        Threads over the queries; the result does not depend on it.
    """
    from raremetric.kernels import neighbors as kernels

    own = np.full(len(queries), -1, dtype=np.int64) if own is None else own
    k = min(k, len(points) - int(np.any(own >= 0)))
    columns = np.ascontiguousarray(points.T)
    blocks = np.array_split(np.arange(len(queries)), min(effective_n_jobs(n_jobs), len(queries)))
    found = Parallel(n_jobs=n_jobs, prefer="threads")(
        delayed(kernels.nearest_rows)(queries[block], columns, k, own[block]) for block in blocks
    )
    return np.concatenate([indices for indices, _ in found])


def nearest_within_class(
    X: NDArray, labels: Labels, k: int, n_jobs: int | None = None
) -> list[NDArray[np.int64]]:
    """For each class, the k nearest rows of that class to each of its rows, nearest first."""
    neighbors = []
    for c in range(len(labels.classes)):
        members = np.flatnonzero(labels.codes == c)
        own = np.arange(len(members))
        neighbors.append(members[k_nearest(X[members], X[members], k, own, n_jobs)])
    return neighbors


def nearest_across_classes(
    X: NDArray, labels: Labels, k: int, n_jobs: int | None = None
) -> list[NDArray[np.int64]]:
    """For each class, the k nearest rows of all other classes to each of its rows."""
    neighbors = []
    for c in range(len(labels.classes)):
        members = labels.codes == c
        others = np.flatnonzero(~members)
        neighbors.append(others[k_nearest(X[members], X[others], k, n_jobs=n_jobs)])
    return neighbors
