"""Copies: rows with equal values, which belong on one side of every fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array, issparse
from scipy.sparse.csgraph import connected_components

FEW_VALUES = 10  # a column that has no more different values holds categories
BY_CHANCE = 0.005  # if fewer rows equal a given one by chance, equal rows are copies
CLOSER = 1.1  # times as many rows, at most, are equal up to ten times the rounding errors
BLOCK = 4096  # rows that are compared at a time; bounds the memory
DIGEST_SIZE = 16  # bytes per row: two different rows never have the same digest in practice


class Copies(NamedTuple):
    """Which rows are copies of each other."""

    numbers: NDArray[np.int64]  # (n_samples,), equal for copies, in the order of appearance
    n_repeats: int  # rows with the values of an earlier row
    together: bool  # whether such rows are copies; if not, all numbers are different
    left_out: Sequence[str] = ()  # columns that identify rows and were not compared


def find_copies(X: Any, is_number: NDArray | None = None) -> Copies:
    """Find the rows with equal values, and decide whether they are copies.

    They are different examples in a table of few categories, in which equal rows are to be
    expected. They are copies if the columns can tell rows apart: if those of numbers, or one of
    text, have more than half as many combinations of values as there are different rows, or if
    all columns have so many combinations that less than 0.5 % of the different rows would equal
    another one by chance. For the first, only columns with more than `FEW_VALUES` different values
    count; ``is_number`` says which columns are numbers, None for all. How often rows are repeated
    makes no difference.

    Missing values are equal to each other, and so are numbers that differ by rounding errors: in an
    array, by 1e-9 of the standard deviation of the column, or 1e-5 in single precision. Categories
    and texts are numbers, too.
    """
    known: dict[bytes, int] = {}
    keys = (known.setdefault(key, len(known)) for key in row_keys(X))
    exact = np.fromiter(keys, np.int64, X.shape[0])
    for numbers in (exact if issparse(X) else _up_to_rounding(X, exact), exact):
        n_repeats = len(numbers) - len(np.unique(numbers))
        if not n_repeats or _are_copies(X, is_number, numbers):
            return Copies(numbers, n_repeats, True)
    return Copies(np.arange(len(numbers)), n_repeats, False)


def _up_to_rounding(X: NDArray, exact: NDArray[np.int64]) -> NDArray[np.int64]:
    """The numbers of rows that are equal up to rounding errors, as those of a matrix product.

    They must be closer to each other than values are by chance: with ten times the tolerance, not
    many more rows may be equal.
    """
    rows = np.unique(exact, return_index=True)[1]
    tolerances = _tolerances(X)
    near, wider = (_without_gaps(X, rows, factor * tolerances) for factor in (1, 10))
    n_near, n_wider = (len(rows) - len(np.unique(each[rows])) for each in (near, wider))
    if not n_near or n_wider > CLOSER * n_near:
        return exact
    return np.unique(near[rows], return_inverse=True)[1][exact]


def _tolerances(X: NDArray) -> NDArray[np.float64]:
    """How far equal values may be apart in each column; zero if it contains whole numbers only."""
    spread, largest, is_single = np.zeros((3, X.shape[1]))
    for j, column in enumerate(X.T):
        values = column[np.isfinite(column)]
        if np.any(values != np.floor(values)):
            spread[j], largest[j] = values.std(), np.abs(values).max()
            is_single[j] = np.array_equal(values, values.astype(np.float32))
    found = np.zeros(X.shape[1])
    for share, precision, single in ((1e-9, np.float64, 0), (1e-5, np.float32, 1)):
        some = np.flatnonzero((spread > 0) & (is_single == single))
        # All values of a column can be rounding errors of the other ones.
        least = 16 * np.finfo(precision).eps * largest[some].max(initial=0.0)
        found[some] = np.maximum(share * spread[some], least)
    return found


def _without_gaps(X: NDArray, rows: NDArray, gaps: NDArray) -> NDArray[np.int64]:
    """Divide the rows into sets that no gap in a column separates; the first row of each set."""
    firsts, starts = np.zeros(len(X), dtype=np.int64), np.zeros(1, dtype=np.int64)
    for column, gap in zip(X.T, gaps, strict=True):
        values = column[rows]
        widths = np.maximum.reduceat(values, starts) - np.minimum.reduceat(values, starts)
        if np.all(widths <= gap):
            continue
        rows = rows[np.lexsort((values, firsts[rows]))]
        values = column[rows]
        is_apart = ~((np.diff(values) <= gap) | np.isnan(values[:-1]))
        is_apart |= np.diff(firsts[rows]) > 0
        starts = np.flatnonzero(np.concatenate([[True], is_apart]))
        sizes = np.diff(starts, append=len(rows))
        firsts[rows] = np.repeat(np.minimum.reduceat(rows, starts), sizes)
        rows, sizes = rows[np.repeat(sizes > 1, sizes)], sizes[sizes > 1]
        if not len(rows):
            break
        starts = np.cumsum(sizes) - sizes
    return firsts


def row_keys(X: Any) -> Iterator[bytes]:
    """A digest of each row."""
    for low in range(0, X.shape[0], BLOCK):
        block = X[low : low + BLOCK]
        if issparse(block):
            block = csr_array(block, dtype=np.float64, copy=True)
            block.sum_duplicates()
            block.eliminate_zeros()
            both = np.stack([block.indices, _normalized(block.data)])
            rows: Any = (both[:, slice(*ends)].ravel() for ends in pairwise(block.indptr))
        else:
            rows = _normalized(block)
        for row in rows:
            yield blake2b(row.data, digest_size=DIGEST_SIZE).digest()


def keys_to_leave_out(X: Any) -> set[bytes]:
    """Digests of rows whose copies are not new; empty if equal rows are different examples."""
    return set(row_keys(X)) if find_copies(X).together else set()


def rows_without(keys: set[bytes], X: Any) -> NDArray[np.int64]:
    """The rows of X whose digests are not among the keys."""
    if not keys:
        return np.arange(X.shape[0])
    return np.flatnonzero([key not in keys for key in row_keys(X)])


def _normalized(values: NDArray) -> NDArray[np.float64]:
    """The same numbers with one kind of zero and of NaN."""
    values = np.add(values, 0.0, dtype=np.float64, order="C")  # −0 + 0 = 0
    values[np.isnan(values)] = np.nan
    return values


def _are_copies(X: Any, is_number: NDArray | None, numbers: NDArray) -> bool:
    """Whether equal rows cannot be explained by few categories: see `find_copies`."""
    _, rows, counts = np.unique(numbers, return_index=True, return_counts=True)
    different, shares = X[rows], counts / len(numbers)
    different = different.tocsc() if issparse(different) else different
    n_combinations = 1  # of the columns of numbers
    expected = float(len(rows))  # rows equal to a given one, if the columns were independent
    for j in range(different.shape[1]):
        column = different[:, [j]]
        column = column.toarray() if issparse(column) else column
        levels, codes = np.unique(column.ravel(), return_inverse=True)
        if len(levels) > FEW_VALUES:
            if is_number is None or is_number[j]:
                n_combinations *= len(levels)
            if 2 * max(n_combinations, len(levels)) > len(rows):
                return True
        expected *= (np.bincount(codes, weights=shares) ** 2).sum()
        if expected < BY_CHANCE:
            return True
    return False


def join_groups(copies: NDArray | None, groups: NDArray | None) -> Any:
    """Groups that contain every copy of each of their rows; None if all rows are separate."""
    if copies is None or groups is None:
        return copies if groups is None else groups
    n_copies, n_groups = copies.max() + 1, groups.max() + 1
    links = coo_array(
        (np.ones(len(copies)), (copies, n_copies + groups)), shape=(n_copies + n_groups,) * 2
    )
    _, components = connected_components(links, directed=False)
    return components[copies]


def why_so_few(copies: NDArray | None, groups: NDArray | None) -> str:
    """A sentence, with a space before it, if copies join groups; else nothing."""
    if copies is None or groups is None:
        return ""
    are_joined = len(np.unique(join_groups(copies, groups))) < len(np.unique(groups))
    return " Groups that contain copies of the same row count as one group." if are_joined else ""
