"""Data that do not fit in memory: partitions are counted, sampled and scored with Dask."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from raremetric.cluster import run_on_each
from raremetric.copies import keys_to_leave_out, rows_without
from raremetric.extras import import_optional
from raremetric.sampling import even_quotas
from raremetric.validation import take_rows

BLOCK = 2048  # rows scored at a time
MAX_HELD_OUT = 100_000  # rows of each class that are scored for the calibration
MIN_HELD_OUT = 100  # with fewer rows of a class, the cross-validation calibrates better
HELD_OUT_SHARE = 5  # at least one row in five is held out, if that gives MIN_HELD_OUT rows

Ranks = list[NDArray[np.int64]]  # for each class, which of its rows: 0 for the first


class Plan(NamedTuple):
    """Which rows to learn from and which to hold out, by partition and class."""

    learned: list[Ranks]
    held_out: list[Ranks]
    weights: NDArray[np.float64]  # (n_classes,), rows of the data per row that is learned from
    held_out_weights: NDArray[np.float64]  # the same for held-out rows; 0 if there are none


def plan_sample(counts: NDArray, limit: int | None, random_state: Any) -> Plan:
    """Draw rows at random, without replacement, with equal probabilities within each class.

    Parameters
    ----------
    counts : ndarray of shape (n_partitions, n_classes)
        Number of rows of each class in each partition.
    limit : int or None
        Maximum number of rows to learn from, the same number of each class; None for all rows. Of
        more rows than that, at least a fifth of each class is held out, unless this would be less
        than ``MIN_HELD_OUT`` rows.
    random_state : int, RandomState instance or None
    """
    rng = check_random_state(random_state)
    totals = counts.sum(axis=0)
    learned, held_out = sample_sizes(totals, limit)
    parts: tuple[list[Ranks], list[Ranks]] = ([], [])
    drawn = []
    for total, n_learned, n_held_out in zip(totals, learned, held_out, strict=True):
        order = np.random.default_rng(rng.randint(2**31 - 1)).choice(
            total, n_learned + n_held_out, replace=False
        )
        drawn.append((np.sort(order[:n_learned]), np.sort(order[n_learned:])))
    starts = np.cumsum(counts, axis=0) - counts
    for start, count in zip(starts, counts, strict=True):
        for which, found in enumerate(parts):
            found.append(
                [_within(own[which], *each) for own, *each in zip(drawn, start, count, strict=True)]
            )
    return Plan(*parts, totals / learned, totals / np.where(held_out, held_out, np.inf))


def sample_sizes(totals: NDArray, limit: int | None) -> tuple[NDArray, NDArray]:
    """How many rows of each class to learn from, and how many to hold out."""
    if limit is None or limit >= totals.sum():
        return totals, np.zeros_like(totals)
    quotas = np.array(even_quotas(totals, limit))
    share = totals // HELD_OUT_SHARE
    learned = np.where(share >= MIN_HELD_OUT, np.minimum(quotas, totals - share), quotas)
    return learned, np.minimum(totals - learned, MAX_HELD_OUT)


def _within(numbers: NDArray, low: int, count: int) -> NDArray[np.int64]:
    """Sorted numbers from `low` on, `count` in all, counted from `low`."""
    first, last = np.searchsorted(numbers, [low, low + count])
    return numbers[first:last] - low


def chosen_rows(codes: NDArray, ranks: Ranks) -> NDArray[np.int64]:
    """Sorted positions of the rows with these ranks within their classes."""
    found = [np.flatnonzero(codes == c)[own] for c, own in enumerate(ranks) if len(own)]
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *found]))


def is_collection(X: Any) -> bool:
    """Whether data are an array or a data frame of Dask."""
    return hasattr(X, "__dask_graph__")


class Sample(NamedTuple):
    """The rows of a Dask collection to learn from, and what is known about the others."""

    X: Any  # an array, or a DataFrame if the collection is one
    y: NDArray
    rows: NDArray[np.int64]  # their numbers in the collection
    counts: NDArray[np.int64]  # rows of each class in the collection
    classes: NDArray
    plan: Plan
    parts: list[tuple]  # delayed X and y of each partition

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """How many rows of the collection each row stands for; None if it is one."""
        if (self.plan.weights == 1).all():
            return None
        return self.plan.weights[np.searchsorted(self.classes, self.y)]

    def score_held_out(
        self, score: Callable[[Any, NDArray], NDArray], model: Any
    ) -> tuple[NDArray, NDArray[np.int64], NDArray[np.float64]]:
        """Scores of the held-out rows, the codes of their classes, and their weights.

        Copies of rows that are learned from are left out; the others have larger weights then.

        Parameters
        ----------
        score : callable (model, rows) -> ndarray of shape (n_rows, ...)
            A function of a module, so that it can be pickled.
        model : object
        """
        parts = [(*part, ranks) for part, ranks in zip(self.parts, self.plan.held_out, strict=True)]
        shared = (
            score,
            model,
            self.classes,
            keys_to_leave_out(np.asarray(self.X, dtype=np.float64)),
        )
        found = run_on_each(_score_part, parts, shared)
        scores, codes = (np.concatenate(each) for each in zip(*found, strict=True))
        return scores, codes, self.counts[codes] / np.bincount(codes)[codes]


def has_held_out(plan: Plan) -> NDArray[np.bool_]:
    """Classes of which enough rows are held out to calibrate probabilities."""
    sizes = np.array([[len(own) for own in ranks] for ranks in plan.held_out])
    return sizes.sum(axis=0) >= MIN_HELD_OUT


def has_left(codes: NDArray, n_classes: int) -> NDArray[np.bool_]:
    """The same for the codes of the held-out rows that were scored."""
    return np.bincount(codes, minlength=n_classes) >= MIN_HELD_OUT


def draw_sample(X: Any, y: Any, limit: int | None, random_state: Any) -> Sample:
    """Count the classes of a Dask collection in one pass, and draw a sample in another.

    Parameters
    ----------
    X : dask.array.Array of shape (n_samples, n_features) or dask.dataframe.DataFrame
    y : dask.array.Array or dask.dataframe.Series of shape (n_samples,), or array-like
        Partitioned like X. In memory only if the sizes of the chunks of X are known.
    limit, random_state
        See `plan_sample`.
    """
    parts = _split(X, y)
    found = run_on_each(_count_part, parts)
    classes = np.unique(np.concatenate([own for own, _ in found]))
    check_classification_targets(classes)
    counts = np.zeros((len(parts), len(classes)), dtype=np.int64)
    for row, (own, n) in zip(counts, found, strict=True):
        row[np.searchsorted(classes, own)] = n
    plan = plan_sample(counts, limit, random_state)
    wanted = [(*part, ranks) for part, ranks in zip(parts, plan.learned, strict=True)]
    drawn = run_on_each(_draw_part, wanted, classes)
    tables, labels, positions = zip(*drawn, strict=True)
    starts = np.concatenate([[0], np.cumsum(counts.sum(axis=1))[:-1]])
    rows = [start + own for start, own in zip(starts, positions, strict=True)]
    return Sample(
        _stacked(tables),
        np.concatenate(labels),
        np.concatenate(rows),
        counts.sum(axis=0),
        classes,
        plan,
        parts,
    )


def _split(X: Any, y: Any) -> list[tuple]:
    """Delayed X and y of each partition."""
    if hasattr(X, "rechunk"):
        X = X.rechunk({1: -1}) if X.ndim > 1 else X
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions; got a Dask array of shape {X.shape}.")
        known = not np.isnan(X.chunks[0]).any()
        if known and not is_collection(y):
            y = column_or_1d(y)
            _check_lengths(len(y), sum(X.chunks[0]))
            y = import_optional("dask.array").from_array(y, chunks=(X.chunks[0],))
        elif known and hasattr(y, "rechunk") and not np.isnan(y.chunks[0]).any():
            _check_lengths(y.shape[0], X.shape[0])
            y = y.rechunk({0: X.chunks[0]})
    if not is_collection(y):
        raise TypeError(
            f"X is a Dask collection, so y must be one with the same partitions; got "
            f"{type(y).__name__}."
        )
    pairs = [np.ravel(np.array(each.to_delayed(), dtype=object)) for each in (X, y)]
    if len(pairs[0]) != len(pairs[1]):
        raise ValueError(
            f"X has {len(pairs[0])} partitions, but y has {len(pairs[1])}. Take both from the same "
            "data frame, or repartition y like X."
        )
    return list(zip(*pairs, strict=True))


def _check_lengths(n_labels: int, n_rows: int) -> None:
    if n_labels != n_rows:
        raise ValueError(f"X has {n_rows} rows, but y has {n_labels}. Give one label per row.")


def _count_part(_: None, X: Any, y: Any) -> tuple[NDArray, NDArray]:
    """The classes of a partition and their numbers of rows."""
    _check_lengths(len(y), len(X))
    return np.unique(column_or_1d(y), return_counts=True)


def _draw_part(classes: NDArray, X: Any, y: Any, ranks: Ranks) -> tuple[Any, NDArray, NDArray]:
    """The chosen rows of a partition, their labels and their positions."""
    labels = column_or_1d(y)
    rows = chosen_rows(np.searchsorted(classes, labels), ranks)
    return take_rows(X, rows), labels[rows], rows


def _score_part(shared: tuple, X: Any, y: Any, ranks: Ranks) -> tuple[NDArray, NDArray]:
    """Scores of the chosen rows of a partition, and the codes of their classes."""
    score, model, classes, learned = shared
    chosen, labels, _ = _draw_part(classes, X, y, ranks)
    new = rows_without(learned, np.asarray(chosen, dtype=np.float64))
    chosen, labels = take_rows(chosen, new), labels[new]
    return score_blocks(score, model, chosen), np.searchsorted(classes, labels)


def score_blocks(score: Callable, model: Any, X: Any) -> NDArray[np.float64]:
    """Scores of many rows, block by block: a search of neighbors takes memory for each row."""
    starts = range(0, len(X), BLOCK)
    blocks = [score(model, take_rows(X, np.arange(i, min(i + BLOCK, len(X))))) for i in starts]
    return np.concatenate(blocks) if blocks else score(model, X)


def _stacked(tables: Sequence[Any]) -> Any:
    if hasattr(tables[0], "columns"):
        return import_optional("pandas").concat(tables, ignore_index=True)
    return np.concatenate(tables)
