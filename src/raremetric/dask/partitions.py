"""Data in partitions: classes are counted, rows are drawn, and other rows are scored."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import dask.array as da
import numpy as np
import pandas as pd
from dask.base import is_dask_collection
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.utils import assert_all_finite, column_or_1d

from raremetric.dask.cluster import run_on_each
from raremetric.sampling import even_quotas
from raremetric.validation import take_rows

MAX_HELD_OUT = 100_000  # rows of each class
MIN_HELD_OUT = 100  # rows of each class; fewer do not suffice to calibrate probabilities
HELD_OUT_SHARE = 5  # at least one row in five is held out, if that gives MIN_HELD_OUT rows

Ranks = list[NDArray[np.int64]]  # for each class, which of its rows: 0 for the first


class Scores(NamedTuple):
    """What a fitted classifier says of rows that it was not fitted on."""

    values: NDArray[np.float64]  # larger for more likely positives
    codes: NDArray[np.int64]  # of the classes of the rows

    @classmethod
    def joined(cls, parts: Sequence[Scores]) -> Scores:
        """The scores of all rows, one part after the other."""
        return cls(*map(np.concatenate, zip(*parts, strict=True)))


class Partitions(NamedTuple):
    """Rows with known classes, in partitions."""

    parts: list[tuple]  # what `read` needs for each partition, see `run_on_each`
    # Picklable; from one of `parts` to pieces of the partition: rows and codes of their classes.
    read: Callable[..., Iterator[tuple[Any, NDArray]]]
    counts: NDArray[np.int64]  # (n_partitions, n_classes), rows of each class in each partition
    sizes: NDArray[np.int64]  # (n_partitions,), all rows
    run: Callable = run_on_each

    def draw(
        self, ranks: list[Ranks], function: Callable = lambda X, *part: (X, slice(None))
    ) -> tuple[tuple[Any, ...], NDArray, NDArray]:
        """The rows with these ranks within their classes, for each partition.

        Returns arrays or tables, and for all rows the codes of their classes and their numbers in
        the data. If there is a picklable function, these are of its results: called with rows and
        the arguments of their partition, it returns the values of some of the rows, and which rows
        these are.
        """
        parts = [(own, *part) for own, part in zip(ranks, self.parts, strict=True)]
        drawn = self.run(_draw_part, parts, (self.read, function))
        starts = np.repeat(np.cumsum(self.sizes) - self.sizes, [len(pieces) for pieces in drawn])
        values, codes, rows = zip(*(each for own in drawn for each in own), strict=True)
        numbers = [start + own for start, own in zip(starts, rows, strict=True)]
        return values, np.concatenate(codes), np.concatenate(numbers)

    def score(self, ranks: list[Ranks], score: Callable) -> Scores:
        """The scores of such rows, by a function as in `draw`."""
        values, codes, _ = self.draw(ranks, score)
        return Scores(np.concatenate(values), codes)


def _draw_part(shared: tuple, ranks: Ranks, *part: Any) -> list[tuple]:
    """For each piece of a partition: values of drawn rows, their codes and positions."""
    read, function = shared
    found, seen, start = [], np.zeros(len(ranks), dtype=np.int64), 0
    for X, codes in read(*part):
        of_class = [np.flatnonzero(codes == c) for c in range(len(ranks))]
        sizes = np.array([len(rows) for rows in of_class])
        drawn = [_within(*each) for each in zip(ranks, seen, sizes, strict=True)]
        rows = np.concatenate([rows[own] for rows, own in zip(of_class, drawn, strict=True)])
        if len(rows):
            rows.sort()
            values, kept = function(take_rows(X, rows), *part)
            rows = rows[kept]
            found.append((values, codes[rows], start + rows))
        seen, start = seen + sizes, start + len(codes)
    return found


def plan_sample(
    counts: NDArray, limit: int | None, rng: np.random.RandomState
) -> tuple[list[Ranks], list[Ranks]]:
    """Draw rows at random, without replacement, with equal probabilities within each class.

    A row is drawn by its rank among the rows of its class in the whole table, so that the rows that
    are drawn do not depend on the partitions. Returns which rows of each partition to learn from,
    see `sample_sizes`, and which to hold out. The counts are (n_partitions, n_classes).
    """
    totals, starts = counts.sum(axis=0), np.cumsum(counts, axis=0) - counts
    learned, held_out = [], []  # sorted ranks of each class in the whole table
    for total, n_learned, n_held_out in zip(totals, *sample_sizes(totals, limit), strict=True):
        order = np.random.default_rng(rng.randint(2**31 - 1)).choice(
            total, n_learned + n_held_out, replace=False
        )
        learned.append(np.sort(order[:n_learned]))
        held_out.append(np.sort(order[n_learned:]))

    def divided(ranks: Ranks) -> list[Ranks]:
        return [
            [_within(*each) for each in zip(ranks, start, count, strict=True)]
            for start, count in zip(starts, counts, strict=True)
        ]

    return divided(learned), divided(held_out)


def sample_sizes(totals: NDArray, limit: int | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many rows of each class to learn from, and how many to hold out.

    Learned from are at most `limit` rows, the same number of each class, or all rows. Of more rows
    than that, at least a fifth of each class is held out, unless this would be less than
    ``MIN_HELD_OUT`` rows.
    """
    if limit is None or limit >= totals.sum():
        return totals, np.zeros_like(totals)
    quotas = np.array(even_quotas(totals, limit))
    share = totals // HELD_OUT_SHARE
    learned = np.where(share >= MIN_HELD_OUT, np.minimum(quotas, totals - share), quotas)
    return learned, np.minimum(totals - learned, MAX_HELD_OUT)


def _within(numbers: NDArray, low: Any, count: Any) -> NDArray[np.int64]:
    """Sorted numbers from `low` on, `count` in all, counted from `low`."""
    first, last = np.searchsorted(numbers, [low, low + count])
    return numbers[first:last] - low


def represent(codes: NDArray, totals: NDArray) -> NDArray[np.float64]:
    """How many rows of its class each row stands for; the totals are those of all rows."""
    return (totals / np.bincount(codes))[codes]


def divide(X: Any, y: Any) -> tuple[Partitions, NDArray]:
    """Count the classes of a collection of Dask, or of data in memory, which are one partition.

    The arguments are those of `DaskClassifier.fit`. Returns the partitions and the classes.
    """
    if is_dask_collection(X):
        run: Callable = run_on_each
        parts = list(zip(row_blocks(X), _label_blocks(X, y), strict=True))
    else:
        run, parts = _run_here, [(as_rows(X), y)]
    found = run(_count_part, parts)
    present = [own for own, *_ in found if len(own)] or [found[0][0]]
    classes = np.unique(np.concatenate(present))
    counts = np.zeros((len(parts), len(classes)), dtype=np.int64)
    for row, (own, own_counts, _) in zip(counts, found, strict=True):
        row[np.searchsorted(classes, own)] = own_counts
    sizes = np.array([size for *_, size in found])
    return Partitions(parts, partial(_read_rows, classes), counts, sizes, run), classes


def _run_here(function: Callable, parts: list[tuple], shared: Any = None) -> list[Any]:
    return [function(shared, *part) for part in parts]


def _count_part(_: None, X: Any, y: Any) -> tuple[NDArray, NDArray, int]:
    """The classes of a partition, their numbers of rows, and the number of all rows."""
    labels = _checked_labels(X, y)
    return *np.unique(labels, return_counts=True), len(labels)


def _read_rows(classes: NDArray, X: Any, y: Any) -> Iterator[tuple[Any, NDArray]]:
    yield X, np.searchsorted(classes, _checked_labels(X, y))


def _checked_labels(X: Any, y: ArrayLike) -> NDArray:
    labels = column_or_1d(y, warn=True)
    _check_length(X.shape[0], len(labels))
    if labels.dtype.kind == "f":
        assert_all_finite(labels, input_name="y")
    elif pd.isna(labels).any():
        raise ValueError("Input y contains missing labels. Leave these rows out.")
    return labels


def _check_length(n_rows: int, n_labels: int) -> None:
    if n_labels != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {n_labels}. Give one for each row.")


def row_blocks(X: Any) -> list[Any]:
    """Delayed rows of each partition of a Dask collection."""
    if hasattr(X, "rechunk"):
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got a Dask array of shape {X.shape}.")
        X = X.rechunk({1: -1})
    return np.ravel(np.array(X.to_delayed(), dtype=object)).tolist()


def _label_blocks(X: Any, y: Any) -> list[Any]:
    """Delayed labels of each partition of X."""
    sizes: tuple = X.chunks[0] if hasattr(X, "rechunk") else (np.nan,)
    if not np.isnan(sizes).any():
        if not is_dask_collection(y):
            y = da.from_array(column_or_1d(y))
        if hasattr(y, "rechunk") and not np.isnan(y.chunks[0]).any():
            _check_length(sum(sizes), len(y))
            y = y.rechunk({0: sizes})
    if not is_dask_collection(y):
        raise TypeError(
            "X is a Dask collection, so y must be one with the same partitions; got "
            f"{type(y).__name__}."
        )
    found, n_blocks = np.ravel(np.array(y.to_delayed(), dtype=object)).tolist(), len(row_blocks(X))
    if len(found) != n_blocks:
        raise ValueError(
            f"X has {n_blocks} partitions, but y has {len(found)}. Take both from the same data "
            "frame, or repartition y like X."
        )
    return found


def as_rows(X: Any) -> Any:
    """Data in memory of which rows can be taken."""
    if issparse(X):
        return X.tocsr()
    return X if hasattr(X, "shape") else np.asarray(X)


def comparable_rows(X: Any) -> Any:
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
