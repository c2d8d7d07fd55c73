"""Nearest neighbors where one class is compared under a learned metric, and the others are not."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.pipeline import Pipeline

from raremetric.neighbors import Neighbors, NeighborSearch
from raremetric.validation import Labels


class OneSidedSearch:
    """The interface of `NeighborSearch` for a metric that is used toward one class only.

    Z and queries have the plain coordinates, and beside them the learned ones, by which the
    examples of the class number ``learned`` are compared.
    """

    def __init__(self, Z: NDArray, labels: Labels, learned: int, n_jobs: int | None = None):
        self.labels, self.learned = labels, learned
        self.searches = [NeighborSearch(half, labels, n_jobs) for half in np.hsplit(Z, 2)]

    def nearest_of_each_class(self, queries: NDArray | None, k: int) -> list[Neighbors]:
        """See `NeighborSearch.nearest_of_each_class`."""
        halves = [None, None] if queries is None else np.hsplit(queries, 2)
        plain, mapped = (
            search.nearest_of_each_class(half, k)
            for search, half in zip(self.searches, halves, strict=True)
        )
        plain[self.learned] = mapped[self.learned]
        return plain

    def nearest(self, queries: NDArray | None, k: int) -> Neighbors:
        """See `NeighborSearch.nearest`; at equal distances, the lower row number comes first."""
        of_each = self.nearest_of_each_class(queries, k)
        distances, indices = (np.concatenate(parts, axis=1) for parts in zip(*of_each, strict=True))
        order = np.lexsort((indices, distances))[:, :k]
        return Neighbors(
            np.take_along_axis(distances, order, axis=1), np.take_along_axis(indices, order, axis=1)
        )


def map_rows(metric: Any, X: Any) -> NDArray[np.float64]:
    """X as a fitted metric maps it: a plain array, whatever output the transformer was set to.

    Under a one-sided metric, the plain coordinates are beside the mapped ones.
    """
    mapped = as_points(metric.transform(X), _last_step(metric), np.shape(X)[0])
    if not is_one_sided(metric):
        return mapped
    plain = metric[:-1].transform(X) if isinstance(metric, Pipeline) else X
    return np.hstack([np.asarray(plain, dtype=np.float64), mapped])


def as_points(mapped: Any, transformer: Any, n_rows: int) -> NDArray:
    """What a transformer has returned for some rows: a dense array with one row for each of them.

    Other output, of a class that is not from this package, is refused.
    """
    owner = f"{type(transformer).__name__}.transform returned"
    if issparse(mapped):
        raise ValueError(
            f"{owner} a sparse matrix, but distances are computed from dense arrays. Let it return "
            "the matrix's toarray()."
        )
    points = np.asarray(mapped)
    if points.ndim != 2 or len(points) != n_rows:
        raise ValueError(
            f"{owner} an array of shape {points.shape} for {n_rows} rows; expected "
            f"({n_rows}, n_components)."
        )
    return points


def prepare_search(
    metric: Any, Z: NDArray, labels: Labels, n_jobs: int | None = None
) -> NeighborSearch | OneSidedSearch:
    """A search among examples that `map_rows` has mapped."""
    if not is_one_sided(metric):
        return NeighborSearch(Z, labels, n_jobs)
    learned = labels.classes.tolist().index(_last_step(metric).pos_label_)
    return OneSidedSearch(Z, labels, learned, n_jobs)


def is_one_sided(metric: Any) -> bool:
    """Whether a metric measures the distances to one class only, as `MLFP` does."""
    return getattr(_last_step(metric), "is_one_sided", False)


def _last_step(metric: Any) -> Any:
    return metric[-1] if isinstance(metric, Pipeline) else metric
