"""From distances to scores.

The score of a class is how much farther the other classes are: s = log d_others − log d_own, or
d²_others − d²_own, each read off the distances to the nearest examples, in one of several ways. One
search for neighbors serves all of them, and every threshold on each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.validation import Labels

BLOCK = 2**22  # distances held at a time: 32 MB


class Reading(NamedTuple):
    """How the distance to a class is read off the distances to its nearest examples."""

    size: int  # m
    averaged: bool = False  # the mean over the first m, or the m-th
    squared: bool = False  # of the squared distances, or of their logarithms

    def __call__(self, log_distances: NDArray) -> NDArray:
        """Read sorted log-distances, (n, k); all of them where there are fewer than m."""
        count = min(self.size, log_distances.shape[1])
        read = log_distances[:, slice(count) if self.averaged else slice(count - 1, count)]
        return (np.exp(2 * read) if self.squared else read).mean(axis=1)

    def __str__(self) -> str:
        kind = "mean of" if self.averaged else "nearest"
        return f"{kind} {self.size}, squared" if self.squared else f"{kind} {self.size}"


# Ratios of distances tell classes apart that are mixed in small patches. Far from all examples
# they even out; differences of squares do not, and suit classes with a smooth border between them:
# over all examples they would be a linear discriminant.
READINGS = (
    *(Reading(size) for size in (2, 4, 8, 16)),
    *(Reading(size, averaged=True) for size in (2, 5, 10, 20, 40, 80)),
    *(Reading(size, averaged=True, squared=True) for size in (20, 80)),
)


class ClassNeighbors(NamedTuple):
    """The nearest training rows of each class: sorted distances and row numbers.

    Each list has one array per class, of shape (n_queries, k) or less where a class has fewer.
    """

    distances: list[NDArray[np.float64]]
    indices: list[NDArray[np.int64]]


def nearest_of_each_class(
    Z: NDArray, labels: Labels, queries: NDArray, k: int, exact: bool = True
) -> ClassNeighbors:
    """The k nearest rows of Z of each class to each query, in blocks of bounded memory.

    Equally near rows come in the order of their numbers; which of them come, when not all can, is
    not said. Without ``exact``, distances are those of a matrix product, good to ten digits: a
    third of the time.
    """
    members = [np.flatnonzero(labels.codes == c) for c in range(len(labels.classes))]
    found = [_nearest(Z[rows], queries, min(k, len(rows)), exact) for rows in members]
    return ClassNeighbors(
        [distances for distances, _ in found],
        [rows[places] for rows, (_, places) in zip(members, found, strict=True)],
    )


def _nearest(Z: NDArray, queries: NDArray, k: int, exact: bool) -> tuple[NDArray, NDArray]:
    distances = np.empty((len(queries), k))
    places = np.empty((len(queries), k), dtype=np.int64)
    center = Z.mean(axis=0)  # products of small numbers lose fewer digits
    rows, others = Z - center, queries - center
    size = max(1, BLOCK // len(Z))
    for low in range(0, len(queries), size):
        part = slice(low, low + size)
        squares = squared_distances(others[part], rows)
        if k < len(Z):
            near = np.sort(np.argpartition(squares, k - 1, axis=1)[:, :k], axis=1)
        else:
            near = np.tile(np.arange(k), (len(squares), 1))
        found = np.take_along_axis(squares, near, axis=1)
        # Where two rows nearly coincide their inner product cannot say how nearly.
        unsure = found < (np.inf if exact else 1e-6 * squares.max(axis=1, keepdims=True))
        i, slot = np.nonzero(unsure)
        differences = queries[part][i] - Z[near[i, slot]]
        found[i, slot] = np.einsum("ij,ij->i", differences, differences)
        order = np.argsort(found, axis=1, kind="stable")
        distances[part] = np.sqrt(np.take_along_axis(found, order, axis=1))
        places[part] = np.take_along_axis(near, order, axis=1)
    return distances, places


def squared_distances(A: NDArray, B: NDArray) -> NDArray:
    """‖a − b‖² for all rows of A and B, by one matrix product."""
    squares = A @ (-2.0 * B.T)
    squares += np.einsum("ij,ij->i", A, A)[:, np.newaxis]
    squares += np.einsum("ij,ij->i", B, B)
    return np.maximum(squares, 0.0, out=squares)


def distance_floor(Z: NDArray, n_rows: int = 60) -> float:
    """A tenth of the median distance to the nearest other row: nothing nearer is told apart.

    Repeated rows are at distance zero, and its logarithm would decide alone. A few rows, evenly
    spaced, speak for all.
    """
    rows = np.unique(np.linspace(0, len(Z) - 1, n_rows).astype(int))
    Z = Z - Z.mean(axis=0)
    squares = squared_distances(Z[rows], Z)
    squares[squares <= 1e-10 * squares.max(initial=0.0)] = np.inf
    nearest = squares.min(axis=1)
    nearest = nearest[np.isfinite(nearest)]
    return 0.1 * float(np.sqrt(np.median(nearest))) if len(nearest) else 1.0


def class_scores(
    distances: list[NDArray], floor: float, readings: Sequence[Reading]
) -> NDArray[np.float64]:
    """How much nearer each class is than all others: (n_readings, n_queries, n_classes)."""
    logs = [np.log(np.maximum(part, floor)) for part in distances]
    own = np.stack([[reading(part) for part in logs] for reading in readings])
    if len(logs) == 2:
        others = own[:, ::-1]
    else:
        rest = [np.sort(np.hstack(logs[:c] + logs[c + 1 :]), axis=1) for c in range(len(logs))]
        others = np.stack([[reading(part) for part in rest] for reading in readings])
    return (others - own).transpose(0, 2, 1)
