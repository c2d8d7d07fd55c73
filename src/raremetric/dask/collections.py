"""Arrays and data frames of Dask, or data in memory, as partitions of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import is_dask_collection
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, column_or_1d

from raremetric.dask.cluster import run_on_each
from raremetric.dask.partitions import Partitions


def divide(X: Any, y: Any, sample_weight: Any = None) -> tuple[Partitions, NDArray, NDArray]:
    """Count the classes of a collection of Dask, or of data in memory, which are one partition.

    Parameters
    ----------
    X : dask.array.Array, dask.dataframe.DataFrame or array-like of shape (n_samples, n_features)
    y : dask.array.Array, dask.dataframe.Series or array-like of shape (n_samples,)
        Partitioned like X. In memory only if the sizes of the chunks of X are known.
    sample_weight : like y, or None
        Rows of weight zero are left out.

    Returns
    -------
    data : Partitions
    classes : ndarray of shape (n_classes,)
    totals : ndarray of shape (n_classes,)
        Sum of the weights of the rows of each class.
    """
    if is_dask_collection(X):
        run: Callable = run_on_each
        columns = [row_blocks(X), _blocks_like(X, y, "y")]
        columns.append(_blocks_like(X, sample_weight, "sample_weight"))
    else:
        run, columns = _run_here, [[as_rows(X)], [y], [sample_weight]]
    parts = list(zip(*columns, strict=True))
    found = run(_count_part, parts)
    present = [own for own, *_ in found if len(own)] or [found[0][0]]
    classes = np.unique(np.concatenate(present))
    counts = np.zeros((len(parts), len(classes)), dtype=np.int64)
    totals = np.zeros(len(classes))
    for row, (own, own_counts, own_totals, _) in zip(counts, found, strict=True):
        codes = np.searchsorted(classes, own)
        row[codes] = own_counts
        totals[codes] += own_totals
    sizes = np.array([size for *_, size in found])
    return Partitions(parts, partial(_read_rows, classes), counts, sizes, run), classes, totals


def _run_here(function: Callable, parts: list[tuple], shared: Any = None) -> list[Any]:
    return [function(shared, *part) for part in parts]


def _count_part(_: None, X: Any, y: Any, weights: Any) -> tuple[NDArray, NDArray, NDArray, int]:
    """The classes of a partition, their numbers of rows and their weights; the number of rows."""
    labels, weights = _labels_and_weights(X, y, weights)
    kept = weights > 0
    classes, codes, counts = np.unique(labels[kept], return_inverse=True, return_counts=True)
    return classes, counts, np.bincount(codes, weights[kept], len(classes)), len(labels)


def _read_rows(classes: NDArray, X: Any, y: Any, weights: Any) -> Iterator[tuple]:
    labels, weights = _labels_and_weights(X, y, weights)
    codes = np.full(len(labels), -1)  # without a weight, a label can be unknown
    codes[weights > 0] = np.searchsorted(classes, labels[weights > 0])
    yield X, codes, weights


def _labels_and_weights(X: Any, y: ArrayLike, weights: Any) -> tuple[NDArray, NDArray]:
    labels = column_or_1d(y, warn=True)
    _check_lengths(X.shape[0], len(labels), "y")
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    elif pd.isna(labels).any():
        raise ValueError("Input y contains missing labels. Leave these rows out.")
    if weights is None:
        return labels, np.ones(len(labels))
    weights = column_or_1d(weights, dtype=np.float64)
    _check_lengths(X.shape[0], len(weights), "sample_weight")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative; 0 leaves a row out.")
    return labels, weights


def _check_lengths(n_rows: int, n_values: int, name: str) -> None:
    if n_values != n_rows:
        raise ValueError(f"X has {n_rows} rows, but {name} has {n_values}. Give one for each row.")


def row_blocks(X: Any) -> list[Any]:
    """Delayed rows of each partition of a Dask collection."""
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got a Dask array of shape {X.shape}.")
        X = X.rechunk({1: -1})
    return np.ravel(np.array(X.to_delayed(), dtype=object)).tolist()


def _blocks_like(X: Any, values: Any, name: str) -> list[Any]:
    """Delayed labels or weights of each partition of X."""
    n_blocks = len(row_blocks(X))
    if values is None:
        return [None] * n_blocks
    sizes: tuple = X.chunks[0] if hasattr(X, "rechunk") else (np.nan,)
    if not np.isnan(sizes).any():
        if not is_dask_collection(values):
            values = da.from_array(column_or_1d(values))
        if hasattr(values, "rechunk") and not np.isnan(values.chunks[0]).any():
            _check_lengths(sum(sizes), len(values), name)
            values = values.rechunk({0: sizes})
    if not is_dask_collection(values):
        raise TypeError(
            f"X is a Dask collection, so {name} must be one with the same partitions; got "
            f"{type(values).__name__}."
        )
    found = np.ravel(np.array(values.to_delayed(), dtype=object)).tolist()
    if len(found) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions, but {name} has {len(found)}. Take both from the same "
            f"data frame, or repartition {name} like X."
        )
    return found


def as_rows(X: Any) -> Any:
    """Data in memory of which rows can be taken."""
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def as_numbers(X: Any) -> Any:
    """Numbers for which rows are equal where they are in X: hashes of texts and other objects."""
    if issparse(X) or (not hasattr(X, "columns") and X.dtype.kind in "biuf"):
        return X
    numbers = np.empty(X.shape)
    for i, (_, column) in enumerate(pd.DataFrame(X).items()):
        if not pd.api.types.is_numeric_dtype(column):
            column = pd.util.hash_pandas_object(column, index=False)
        numbers[:, i] = column.to_numpy(np.float64, na_value=np.nan)
    return numbers


def stacked(tables: tuple[Any, ...]) -> Any:
    """One array or table of the rows of several."""
    if len(tables) == 1:
        return tables[0]
    if hasattr(tables[0], "columns"):
        return pd.concat(tables, ignore_index=True)
    return np.concatenate(tables)
