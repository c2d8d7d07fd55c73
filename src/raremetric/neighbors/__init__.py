"""Nearest neighbors under the Euclidean distance, with ties broken by the lowest index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import pairwise
from math import frexp
from typing import NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from raremetric.neighbors.queries import NO_ROW, nearest_examples, round_examples
from raremetric.neighbors.self_join import class_neighbors, merge_lists
from raremetric.performance import one_blas_thread
from raremetric.validation import Labels

MIN_QUERIES = 16  # per thread
SMALL = 2**22  # multiplications; below, setting the threads (20 µs) is not worthwhile


class Neighbors(NamedTuple):
    """The nearest examples to each query, nearest first."""

    distances: NDArray[np.float64]  # (n_queries, k)
    indices: NDArray[np.int64]  # (n_queries, k), rows of the examples


class NeighborSearch:
    """Nearest neighbors of queries among fixed examples, over all classes or for each class.

    The examples Z are already mapped into the space in which distances are Euclidean, and their
    ``labels`` are for ``nearest_of_each_class``. Examples at the same distance are ordered by their
    row numbers. The result of an exact search for a query does not depend on the other queries, nor
    on the number of threads, ``n_jobs``.
    """

    def __init__(self, Z: NDArray, labels: Labels | None = None, n_jobs: int | None = None):
        self.Z = np.ascontiguousarray(Z, dtype=np.float64)
        self.labels, self.n_jobs = labels, n_jobs

    def __getstate__(self) -> dict:
        # Compiled code does not check indices, so none may come from a file.
        return {"Z": self.Z, "labels": self.labels, "n_jobs": self.n_jobs}

    def nearest(self, queries: NDArray | None, k: int) -> Neighbors:
        """The k nearest examples of any class; without queries, those of each example."""
        available = len(self.Z) - (queries is None)
        if not 1 <= k <= available:
            kind = "other examples" if queries is None else "examples"
            raise ValueError(f"k must be from 1 to the number of {kind}, {available}; got {k}.")
        return self._search(queries, [slice(None)], [k], exact=True)[0]

    def nearest_of_each_class(
        self,
        queries: NDArray | None,
        k: int,
        *,
        exact: bool = True,
        n_classes: int | None = None,
    ) -> list[Neighbors]:
        """The k nearest examples of each class, or all of them if the class has fewer.

        Without queries, each example gets its nearest other examples; where its own class has fewer
        than k others, the list ends with index -1 and infinite distance. Unless ``exact``,
        neighbors are chosen by distances in single precision, which is faster if many distances are
        nearly equal. The distances that are returned are exact, but which of several nearly equal
        neighbors is chosen may depend on the other queries. Returns one entry for each of the first
        ``n_classes``, None for all, in the order of ``labels.classes``.
        """
        if self.labels is None:
            raise ValueError("nearest_of_each_class needs labels, but NeighborSearch got none.")
        if k < 1:
            raise ValueError(f"k must be at least 1; got {k}.")
        _, starts = self._grouped
        classes = [slice(low, high) for low, high in pairwise(starts)][:n_classes]
        sizes = [min(k, part.stop - part.start) for part in classes]
        return self._search(queries, classes, sizes, exact)

    def _search(
        self, queries: NDArray | None, groups: Sequence[slice], sizes: Sequence[int], exact: bool
    ) -> list[Neighbors]:
        """The nearest examples of each group, in blocks of queries, one block per thread."""
        order, _ = self._grouped
        rows, norms, center, scale = self._rounded
        points = self.Z if queries is None else self._check_queries(queries)
        found = [
            Neighbors(np.full((len(points), k), np.inf), np.full((len(points), k), NO_ROW))
            for k in sizes
        ]

        def search(low: int, high: int) -> None:
            for group, k, (distances, indices) in zip(groups, sizes, found, strict=True):
                if k > 0:
                    nearest_examples(
                        points[low:high], low if queries is None else -1, self.Z, order[group],
                        rows[group], norms[group], center, scale, exact,
                        distances[low:high], indices[low:high],
                    )  # fmt: skip

        if self.Z.size * len(points) < SMALL:
            search(0, len(points))
        else:
            _run_in_threads(search, len(points), self.n_jobs)
        for distances, indices in found:
            np.sqrt(distances, out=distances)
            indices[indices == NO_ROW] = -1
        return found

    def _check_queries(self, queries: NDArray) -> NDArray[np.float64]:
        queries = np.ascontiguousarray(queries, dtype=np.float64)
        if queries.ndim != 2 or queries.shape[1] != self.Z.shape[1]:
            raise ValueError(
                f"queries must have shape (n_queries, {self.Z.shape[1]}), with one column per "
                f"feature of the examples; got {queries.shape}."
            )
        return queries

    @cached_property
    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows class by class, and the starts of the classes."""
        if self.labels is None:
            return np.arange(len(self.Z)), np.array([0, len(self.Z)])
        if len(self.labels.codes) != len(self.Z):
            n_labels = len(self.labels.codes)
            raise ValueError(f"There are {len(self.Z)} examples but {n_labels} labels.")
        return group_by_class(self.labels)

    @cached_property
    def _rounded(self) -> tuple[NDArray, NDArray, NDArray, float]:
        """The grouped examples in single precision: see `round_examples`."""
        return round_examples(self.Z, self._grouped[0])


def group_by_class(labels: Labels) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows class by class, and the start of each class, followed by the end of the last."""
    order = np.argsort(labels.codes, kind="stable")
    return order, np.searchsorted(labels.codes[order], np.arange(len(labels.classes) + 1))


@one_blas_thread
def _run_in_threads(search: Callable[[int, int], None], n_queries: int, n_jobs: int | None) -> None:
    """Call ``search(low, high)`` for a range of queries per thread."""
    n_threads = min(effective_n_jobs(n_jobs), max(1, n_queries // MIN_QUERIES))
    if n_threads == 1:
        search(0, n_queries)
        return
    bounds = [part * n_queries // n_threads for part in range(n_threads + 1)]
    with ThreadPoolExecutor(n_threads) as threads:
        list(threads.map(search, bounds[:-1], bounds[1:]))


class ClassSearch:
    """Nearest neighbors of training examples among each other, within and across classes.

    ``anchors`` are the rows whose neighbors are searched, among all rows; None means all. They are
    in ``rows``, class by class.
    """

    def __init__(
        self,
        X: NDArray,
        labels: Labels,
        n_jobs: int | None = None,
        anchors: NDArray[np.int64] | None = None,
    ):
        self.counts, self.n_threads = labels.counts, effective_n_jobs(n_jobs)
        self.order, self.starts = group_by_class(labels)
        grouped = X[self.order]
        centered = grouped - X.mean(axis=0)
        # Division by a power of two is exact; in single precision no square overflows afterwards.
        exponent = frexp(np.abs(centered).max())[1]
        scale = 2.0 ** min(max(exponent, -500), 500)
        self.Z, self.rounded = grouped / scale, (centered / scale).astype(np.float32)
        self.anchors = None
        if anchors is not None:
            self.anchors = np.flatnonzero(np.isin(self.order, anchors, assume_unique=True))
        self.rows = self.order if self.anchors is None else self.order[self.anchors]

    def within(self, k: int) -> NDArray[np.int64]:
        """The k nearest rows of the same class, nearest first, (n_anchors, ≤ k).

        A row is never its own neighbor, even if it has duplicates. Where there are too few rows,
        -1 follows.
        """
        return self._search(min(k, self.counts.max() - 1), within=True)

    def across(self, k: int) -> NDArray[np.int64]:
        """The k nearest rows of all other classes, (n_anchors, ≤ k).

        Rows at the same distance are ordered by class, then by row number.
        """
        return self._search(min(k, self.counts.sum() - self.counts.min()), within=False)

    def _search(self, k: int, *, within: bool) -> NDArray[np.int64]:
        lists = nearest_by_class(
            self.Z, self.starts, max(int(k), 1), within=within, rounded=self.rounded,
            anchors=self.anchors, n_threads=self.n_threads,
        )  # fmt: skip
        return np.where(lists < 0, -1, self.order[lists])


def nearest_by_class(
    Z: NDArray,
    starts: NDArray,
    k: int,
    *,
    within: bool,
    rounded: NDArray,
    exact: bool = True,
    anchors: NDArray | None = None,
    n_threads: int = 1,
) -> NDArray[np.int64]:
    """The k nearest rows of Z to each row, of its own class or of all others.

    Class c consists of rows starts[c] to starts[c + 1] − 1. ``rounded`` is Z in single precision,
    centered so that little is lost; unless ``exact``, it alone decides. ``anchors`` are the rows
    that get a list, in increasing order; None means all. A list that is too short ends with -1.
    """
    if anchors is not None:
        return _nearest_to_anchors(Z, starts, k, within, anchors, n_threads)
    Z = Z if exact else np.empty((0, 0))  # it is not read, and compiled for double precision only

    def search(part: int) -> tuple[NDArray, NDArray]:
        return class_neighbors(Z, rounded, starts, k, within, exact, part, n_threads)

    if n_threads == 1:
        return search(0)[0]
    with ThreadPoolExecutor(n_threads) as threads:
        (lists, distances), *others = threads.map(search, range(n_threads))
    for more in others:
        lists, distances = merge_lists(lists, distances, *more)
    return lists


def _nearest_to_anchors(
    Z: NDArray, starts: NDArray, k: int, within: bool, anchors: NDArray, n_jobs: int
) -> NDArray[np.int64]:
    """`nearest_by_class` for some of the rows, as queries."""
    lists = np.full((len(anchors), k), -1, dtype=np.int64)
    bounds = np.searchsorted(anchors, starts)
    for c, (low, high) in enumerate(pairwise(starts)):
        own = slice(bounds[c], bounds[c + 1])
        examples = Z[low:high] if within else np.delete(Z, slice(low, high), axis=0)
        size = min(k, len(examples) - within)
        if size == 0 or own.start == own.stop:
            continue
        queries = Z[anchors[own]]
        found = NeighborSearch(examples, n_jobs=n_jobs).nearest(queries, size + within).indices
        if within:
            found += low
            is_anchor = found == anchors[own, np.newaxis]
            is_anchor[:, -1] |= ~is_anchor.any(axis=1)  # it is not even among its duplicates
            found = found[~is_anchor].reshape(-1, size)
        else:
            found[found >= low] += high - low
        lists[own, :size] = found
    return lists
