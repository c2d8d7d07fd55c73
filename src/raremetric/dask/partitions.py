"""Data in partitions, which are counted, sampled and scored one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import is_dask_collection
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, column_or_1d

from raremetric.cluster import run_on_each
from raremetric.dask.calibration import Scores, scores_of
from raremetric.dask.sampling import Ranks, chosen_rows
from raremetric.validation import take_rows


class Sample(NamedTuple):
    """The rows to learn from."""

    X: Any
    codes: NDArray[np.int64]  # of their classes
    weights: NDArray[np.float64] | None  # None if none were given
    rows: NDArray[np.int64]  # their numbers in the data


class Partitions(ABC):
    """Rows with known classes, in partitions. `DaskClassifier.fit` accepts any subclass.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Class labels, sorted.
    counts : ndarray of shape (n_partitions, n_classes)
        Number of rows of each class in each partition.
    totals : ndarray of shape (n_classes,)
        Sum of the weights of the rows of each class.
    """

    classes: NDArray
    counts: NDArray[np.int64]
    totals: NDArray[np.float64]

    @abstractmethod
    def draw(self, ranks: list[Ranks]) -> Sample:
        """The rows with these ranks within their classes, for each partition."""

    @abstractmethod
    def score(self, ranks: list[Ranks], estimator: Any, columns: Sequence[int]) -> Scores:
        """What a fitted estimator says of such rows, see `scores_of`."""


class Rows(Partitions):
    """Rows of a collection of Dask, or an array or a table in memory as one partition.

    Parameters
    ----------
    X : dask.array.Array, dask.dataframe.DataFrame or array-like of shape (n_samples, n_features)
    y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,)
        Partitioned like X. In memory only if the sizes of the chunks of X are known.
    sample_weight : like y, or None
        Rows of weight zero are left out.
    """

    def __init__(self, X: Any, y: Any, sample_weight: Any = None):
        self.is_weighted = sample_weight is not None
        if is_dask_collection(X):
            self._run: Callable = run_on_each
            columns = [row_blocks(X), _blocks_like(X, y, "y")]
            columns.append(_blocks_like(X, sample_weight, "sample_weight"))
        else:
            self._run = _run_here
            columns = [[as_rows(X)], [y], [sample_weight]]
        self.parts = list(zip(*columns, strict=True))
        found = self._run(_count_part, self.parts)
        present = [own for own, *_ in found if len(own)] or [found[0][0]]
        self.classes = np.unique(np.concatenate(present))
        self.counts = np.zeros((len(self.parts), len(self.classes)), dtype=np.int64)
        self.totals = np.zeros(len(self.classes))
        for row, (own, counts, totals, _) in zip(self.counts, found, strict=True):
            codes = np.searchsorted(self.classes, own)
            row[codes] = counts
            self.totals[codes] += totals
        sizes = [size for *_, size in found]
        self.starts = np.cumsum([0, *sizes])[:-1]

    def draw(self, ranks: list[Ranks]) -> Sample:
        """See `Partitions`."""
        drawn = self._run(_draw_part, self._with(ranks), self.classes)
        tables, codes, weights, rows = zip(*drawn, strict=True)
        return Sample(
            _stacked([table for table in tables if table.shape[0]]),
            np.concatenate(codes),
            np.concatenate(weights) if self.is_weighted else None,
            np.concatenate([start + own for start, own in zip(self.starts, rows, strict=True)]),
        )

    def score(self, ranks: list[Ranks], estimator: Any, columns: Sequence[int]) -> Scores:
        """See `Partitions`."""
        shared = (self.classes, estimator, columns)
        return Scores.joined(self._run(_score_part, self._with(ranks), shared))

    def _with(self, ranks: list[Ranks]) -> list[tuple]:
        return [(*part, own) for part, own in zip(self.parts, ranks, strict=True)]


def as_rows(X: Any) -> Any:
    """Data in memory of which rows can be taken."""
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def row_blocks(X: Any) -> list[Any]:
    """Delayed rows of each partition of a Dask collection."""
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got a Dask array of shape {X.shape}.")
        X = X.rechunk({1: -1})
    return np.ravel(np.array(X.to_delayed(), dtype=object)).tolist()


def _blocks_like(X: Any, values: Any, name: str) -> list[Any]:
    """Delayed labels or weights of each partition of X."""
    if values is None:
        return [None] * len(row_blocks(X))
    sizes: tuple = X.chunks[0] if hasattr(X, "rechunk") else (np.nan,)
    if not np.isnan(sizes).any():
        if not is_dask_collection(values):
            values = column_or_1d(values)
            _check_lengths(len(values), sum(sizes), name)
            values = da.from_array(values, chunks=(sizes,))
        elif hasattr(values, "rechunk") and not np.isnan(values.chunks[0]).any():
            _check_lengths(values.shape[0], sum(sizes), name)
            values = values.rechunk({0: sizes})
    if not is_dask_collection(values):
        raise TypeError(
            f"X is a Dask collection, so {name} must be one with the same partitions; got "
            f"{type(values).__name__}."
        )
    found = np.ravel(np.array(values.to_delayed(), dtype=object)).tolist()
    if len(found) != (expected := len(row_blocks(X))):
        raise ValueError(
            f"X has {expected} partitions, but {name} has {len(found)}. Take both from the same "
            f"data frame, or repartition {name} like X."
        )
    return found


def _run_here(function: Callable, parts: Sequence[tuple], shared: Any = None) -> list[Any]:
    return [function(shared, *part) for part in parts]


def _check_lengths(n_values: int, n_rows: int, name: str) -> None:
    if n_values != n_rows:
        raise ValueError(f"X has {n_rows} rows, but {name} has {n_values}. Give one for each row.")


def _labels_and_weights(X: Any, y: ArrayLike, weights: Any) -> tuple[NDArray, NDArray]:
    labels = column_or_1d(y, warn=True)
    _check_lengths(len(labels), X.shape[0], "y")
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    elif pd.isna(labels).any():
        raise ValueError("Input y contains missing labels. Leave these rows out.")
    if weights is None:
        return labels, np.ones(len(labels))
    weights = column_or_1d(weights, dtype=np.float64)
    _check_lengths(len(weights), len(labels), "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative; 0 leaves a row out.")
    return labels, weights


def _count_part(_: None, X: Any, y: Any, weights: Any) -> tuple[NDArray, NDArray, NDArray, int]:
    """The classes of a partition, their numbers of rows and their weights; the number of rows."""
    labels, weights = _labels_and_weights(X, y, weights)
    kept = weights > 0
    classes, codes, counts = np.unique(labels[kept], return_inverse=True, return_counts=True)
    return classes, counts, np.bincount(codes, weights[kept], len(classes)), len(labels)


def _draw_part(
    classes: NDArray, X: Any, y: Any, weights: Any, ranks: Ranks
) -> tuple[Any, NDArray, NDArray, NDArray]:
    """The chosen rows of a partition, the codes of their classes, their weights and positions."""
    labels, weights = _labels_and_weights(X, y, weights)
    kept = np.flatnonzero(weights)
    codes = np.searchsorted(classes, labels[kept])
    chosen = chosen_rows(codes, ranks)
    rows = kept[chosen]
    return take_rows(X, rows), codes[chosen], weights[rows], rows


def _score_part(shared: tuple, X: Any, y: Any, weights: Any, ranks: Ranks) -> Scores:
    classes, estimator, columns = shared
    chosen, codes, weights, _ = _draw_part(classes, X, y, weights, ranks)
    return Scores(scores_of(estimator, chosen, columns), codes, weights)


def _stacked(tables: Sequence[Any]) -> Any:
    if len(tables) == 1:
        return tables[0]
    if hasattr(tables[0], "columns"):
        return pd.concat(tables, ignore_index=True)
    return np.concatenate(tables)
