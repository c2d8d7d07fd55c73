"""Who is near whom. Exact, and with ties broken by the lowest index."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.neighbors import NearestNeighbors

from raremetric.validation import Labels


class NeighborIndex(NearestNeighbors):
    """scikit-learn's search, saved without its tree, which is grown again from the points.

    A tree is memory that compiled code walks without looking: none is ever taken from a file.
    """

    def __getstate__(self):
        return {name: value for name, value in super().__getstate__().items() if name != "_tree"}

    def __setstate__(self, state):
        super().__setstate__(state)
        if "_fit_X" in state:
            self.fit(state["_fit_X"])


class Neighbors(NamedTuple):
    """The nearest examples to each query, nearest first."""

    distances: NDArray[np.float64]  # (n_queries, k)
    indices: NDArray[np.int64]  # (n_queries, k), rows of the examples


class NeighborSearch:
    """Nearest neighbors of queries among fixed examples: among all of them, or class by class.

    Examples at the same distance are ordered by their row numbers.

    Parameters
    ----------
    Z : ndarray of shape (n_samples, n_features)
        The examples, already mapped into the space in which distances are Euclidean.
    labels : Labels or None, default=None
        Classes of the examples, for ``nearest_of_each_class``.
    n_jobs : int or None, default=None
        Threads. The result does not depend on it.
    """

    def __init__(self, Z: NDArray, labels: Labels | None = None, n_jobs: int | None = None):
        self.Z, self.labels, self.n_jobs = Z, labels, n_jobs

    def nearest(self, queries: NDArray | None, k: int, *, exact: bool = True) -> Neighbors:
        """The k nearest examples of any class.

        Parameters
        ----------
        queries : ndarray of shape (n_queries, n_features) or None
            None stands for the examples themselves, each without itself.
        k : int
        exact : bool, default=True
            False chooses the neighbors by distances in single precision, which is faster; the
            distances of those chosen are exact.
        """
        n_available = len(self.Z) - (queries is None)
        if not 1 <= k <= n_available:
            raise ValueError(
                f"k must be between 1 and {n_available}, the number of examples "
                f"that can be neighbors, got {k}."
            )
        rows = np.arange(len(self.Z))
        return self._search(queries, rows, k)

    def nearest_of_each_class(
        self, queries: NDArray | None, k: int, *, exact: bool = True
    ) -> list[Neighbors]:
        """The k nearest examples of each class, or all where a class has fewer.

        Returns one entry per class, in the order of ``labels.classes``. Without queries, the list
        of an example in its own class is one shorter if it would contain the example itself.
        """
        if self.labels is None:
            raise ValueError("The search by class needs the labels of the examples.")
        codes = self.labels.codes
        members = [np.flatnonzero(codes == c) for c in range(len(self.labels.classes))]
        return [self._search(queries, rows, min(k, len(rows))) for rows in members]

    def _search(self, queries: NDArray | None, rows: NDArray, k: int) -> Neighbors:
        points = self.Z if queries is None else queries
        distances, indices = np.empty((len(points), k)), np.empty((len(points), k), dtype=np.int64)
        for i, point in enumerate(points):
            differences = self.Z[rows] - point
            squares = np.einsum("ij,ij->i", differences, differences)
            if queries is None:
                squares[rows == i] = np.inf
            order = np.argsort(squares, kind="stable")[:k]
            distances[i], indices[i] = np.sqrt(squares[order]), rows[order]
        indices[np.isinf(distances)] = -1
        return Neighbors(distances, indices)


def nearest_within_class(
    X: NDArray, labels: Labels, k: int, n_jobs: int | None = None
) -> list[NDArray[np.int64]]:
    """For each class, the k nearest rows of that class to each of its rows, nearest first.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    labels : Labels
    k : int
        Lists are shortened to the number of rows that can be neighbors; a row is never its own
        neighbor, even when another lies on the same spot.
    n_jobs : int or None
        Threads; the result does not depend on it.
    """
    return _class_neighbors(X, labels, np.minimum(k, labels.counts - 1), True, n_jobs)


def nearest_across_classes(
    X: NDArray, labels: Labels, k: int, n_jobs: int | None = None
) -> list[NDArray[np.int64]]:
    """For each class, the k nearest rows of all other classes to each of its rows.

    Rows at the same distance are taken in the order of their classes, then of their indices.
    """
    available = len(X) - labels.counts
    return _class_neighbors(X, labels, np.minimum(k, available), False, n_jobs)


def search_in_parts(
    search: Callable[[int], tuple[NDArray, NDArray]], n_parts: int
) -> tuple[NDArray, NDArray]:
    """Run the parts of a search in as many threads, and merge their lists (indices, distances)."""
    from raremetric.neighbors.self_join import merge_lists

    if n_parts == 1:
        return search(0)
    with ThreadPoolExecutor(n_parts) as threads:
        (lists, distances), *others = threads.map(search, range(n_parts))
    for more in others:
        lists, distances = merge_lists(lists, distances, *more)
    return lists, distances


def _class_neighbors(
    X: NDArray, labels: Labels, sizes: NDArray, within: bool, n_jobs: int | None
) -> list[NDArray[np.int64]]:
    from raremetric.neighbors import self_join as kernels

    order = np.argsort(labels.codes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(labels.counts)])
    Z, k = X[order], int(sizes.max())
    rows = (Z - X.mean(axis=0)).astype(np.float32)
    n_parts = effective_n_jobs(n_jobs)
    lists, _ = search_in_parts(
        lambda part: kernels.class_neighbors(Z, rows, starts, k, within, True, part, n_parts),
        n_parts,
    )
    return [
        order[lists[low:high, :size]]
        for low, high, size in zip(starts[:-1], starts[1:], sizes, strict=True)
    ]
