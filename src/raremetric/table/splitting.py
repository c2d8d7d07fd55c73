"""The outer folds of a comparison: stratified, by group, or by time; copies of a row together."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from raremetric.datasets import read_table
from raremetric.extras import import_optional
from raremetric.table.fitting import n_tuning_folds
from raremetric.validation import check_integer

Folds = list[tuple[NDArray[np.int64], NDArray[np.int64]]]

# With fewer different rows than this share, equal rows are taken for different examples.
MIN_DISTINCT = 0.1


def outer_folds(
    y: NDArray,
    n_folds: int,
    seed: int,
    *,
    n_repeats: int = 1,
    copies: NDArray | None = None,
    groups: NDArray | None = None,
    times: NDArray | None = None,
) -> Folds:
    """Training and test rows of each outer fold.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        0 or 1.
    n_folds, seed, n_repeats : int
    copies : ndarray of int of shape (n_samples,) or None
        Numbers 0, 1, ...; rows with equal numbers are copies and go to the same fold.
    groups : ndarray of int of shape (n_samples,) or None
        Rows with equal numbers are never both in the training and the test part.
    times : ndarray of shape (n_samples,) or None
        If given, each model is tested on rows that are later than all of its training rows.
    """
    check_integer(n_folds, "n_folds", low=2)
    check_integer(n_repeats, "n_repeats", low=1)
    n_rare = int(np.bincount(y, minlength=2).min())
    if n_folds > n_rare:
        raise ValueError(
            f"The rare class has {n_rare} examples, too few for {n_folds} folds: each fold must "
            "contain at least one of them. Use fewer folds."
        )
    if times is not None:
        if n_repeats > 1:
            raise ValueError("Folds by time cannot be repeated: use n_repeats=1 with time.")
        folds = time_folds(y, times, n_folds, _merge(copies, groups))
    elif groups is not None:
        folds = group_folds(y, _merge(copies, groups), n_folds, seed, n_repeats)
    else:
        copies = np.arange(len(y)) if copies is None else copies
        folds = copy_folds(y, copies, n_folds, seed, n_repeats)
    for train, test in folds:
        if len(np.unique(y[test])) < 2:
            raise ValueError("A test fold contains only one class. Use fewer folds.")
        n_tuning_folds(y[train])  # raises an error if they are too few to tune on
    return folds


def copy_folds(y: NDArray, copies: NDArray, n_folds: int, seed: int, n_repeats: int) -> Folds:
    """Stratified folds; of each set of copies, the first decides for all."""
    _, first = np.unique(copies, return_index=True)
    if np.bincount(y[first], minlength=2).min() < n_folds:
        raise ValueError(f"Without copies, a class has fewer than {n_folds} rows. Use fewer folds.")
    folds = []
    for repeat in range(n_repeats):
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed + repeat)
        for train, test in splitter.split(first, y[first]):
            folds.append((_members(copies, train), _members(copies, test)))
    return folds


def group_folds(y: NDArray, groups: NDArray, n_folds: int, seed: int, n_repeats: int) -> Folds:
    """Folds with about the same share of positives, and no group in two of them."""
    n_positive_groups = len(np.unique(groups[y == 1]))
    if n_positive_groups < n_folds:
        raise ValueError(
            f"The positive rows belong to {n_positive_groups} groups, too few for {n_folds} folds. "
            "Use fewer folds."
        )
    folds: Folds = []
    for repeat in range(n_repeats):
        splitter = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed + repeat)
        folds += splitter.split(groups, y, groups)
    return folds


def time_folds(y: NDArray, times: NDArray, n_folds: int, groups: NDArray | None) -> Folds:
    """Train on the past, test on the next period; each period has as many positives.

    The rows are sorted by time and divided into n_folds + 1 periods. Fold i learns from the first
    i periods and is tested on the next one. Rows with the same time stay in one period. Rows whose
    group is in the test part are left out of the training part.
    """
    positive_times = np.sort(times[y == 1])
    positions = np.arange(1, n_folds + 1) * len(positive_times) // (n_folds + 1)
    starts = np.unique(positive_times[positions])
    if len(starts) < n_folds:
        raise ValueError(
            f"Too many positive rows have the same time to make {n_folds} folds. Use fewer folds."
        )
    folds = []
    for i, start in enumerate(starts):
        is_test = times >= start
        if i + 1 < len(starts):
            is_test &= times < starts[i + 1]
        is_train = times < start
        if groups is not None:
            is_train &= ~np.isin(groups, groups[is_test])
        folds.append((np.flatnonzero(is_train), np.flatnonzero(is_test)))
    return folds


def describe_folds(n_folds: int, n_repeats: int, time: str | None, group: str | None) -> str:
    """How the outer folds were made, in one or two sentences."""
    if time is not None:
        text = (
            f"The rows were sorted by {time!r} and divided into {n_folds + 1} periods; each "
            "period but the first is tested by models that were fitted on all periods before it."
        )
    else:
        text = (
            f"Each row is tested once, in one of {n_folds // n_repeats} folds, by a model that was "
            "fitted on the other folds."
        )
        if n_repeats > 1:
            text += f" This was repeated {n_repeats} times with other folds."
    if group is not None:
        text += f" No value of {group!r} occurs both in the training and in the test part."
    return text


def find_copies(data: Any) -> tuple[NDArray[np.int64], int]:
    """Numbers that are equal for rows with equal values, and how many rows repeat an earlier one.

    In a table with few possible rows, equal rows are different examples, and none is a copy.
    """
    pandas = import_optional("pandas")
    codes, distinct = pandas.factorize(pandas.util.hash_pandas_object(data, index=False))
    if len(distinct) < MIN_DISTINCT * len(codes):
        return np.arange(len(codes)), 0
    return codes.astype(np.int64), len(codes) - len(distinct)


def read_with_times(
    path: str | Path,
    target: str | int | None,
    positive: Any,
    categorical: Collection[str],
    ignore: Collection[str],
    time: str | None,
    group: str | None,
) -> tuple[Any, NDArray | None, NDArray | None]:
    """The table, and the times and groups of its rows, which are not among its columns."""

    def read(column: str | None) -> Any:
        left_out = {*ignore, *({time, group} - {None, column})} - {column}
        settings: Any = {"categorical": categorical, "ignore": sorted(left_out)}
        return read_table(path, target, positive, row_names=column, **settings)

    table = read(time or group)
    times = None if time is None else read_times(time, table.row_names)
    if group is None:
        return table, times, None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # given by the first reading
        texts = table.row_names if time in (None, group) else read(group).row_names
    return table, times, read_groups(texts)


def read_groups(texts: list[Any]) -> NDArray[np.int64]:
    """A number for each value; rows without a value are groups of their own."""
    pandas = import_optional("pandas")
    codes, distinct = pandas.factorize(pandas.Series(texts, dtype=object).replace("", None))
    missing = codes < 0
    codes[missing] = len(distinct) + np.arange(missing.sum())
    return codes.astype(np.int64)


def read_times(name: str, texts: list[Any]) -> NDArray[np.float64]:
    """Points in time as numbers, from numbers or dates."""
    pandas = import_optional("pandas")
    column = pandas.Series(texts, dtype=object)
    numbers = pandas.to_numeric(column, errors="coerce")
    if numbers.notna().all():
        return numbers.to_numpy(dtype=np.float64)
    dates = pandas.to_datetime(column, errors="coerce", format="mixed", utc=True)
    if dates.notna().all():
        return dates.to_numpy(dtype="datetime64[ns]").astype(np.int64).astype(np.float64)
    wrong = numbers.isna() if numbers.notna().mean() > 0.5 else dates.isna()
    row = int(np.flatnonzero(wrong)[0])
    raise ValueError(
        f"Column {name!r} cannot be used as time: {texts[row]!r} in row {row + 1} is neither a "
        "number nor a date."
    )


def _members(copies: NDArray, numbers: NDArray) -> NDArray[np.int64]:
    return np.flatnonzero(np.isin(copies, numbers))


def _merge(copies: NDArray | None, groups: NDArray | None) -> Any:
    """Groups that contain every copy of each of their rows; None if all rows are separate."""
    if copies is None or groups is None:
        return copies if groups is None else groups
    n_copies, n_groups = copies.max() + 1, groups.max() + 1
    links = coo_array(
        (np.ones(len(copies)), (copies, n_copies + groups)), shape=(n_copies + n_groups,) * 2
    )
    _, components = connected_components(links, directed=False)
    return components[copies]
