"""Outer and inner folds: stratified, by group, or by time; copies of a row together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.copies import Copies
from raremetric.files import quoted
from raremetric.selection import Folds, sets_per_class, shuffled_folds
from raremetric.table.reading.labels import labels_and_counts
from raremetric.table.roles import Roles, RowRoles
from raremetric.validation import TableError, check_integer

MAX_FOLDS = 5
MIN_RARE = 4  # examples of the rarer class that tuning needs
MAX_TRIED = 10  # folds, to say which number of them is possible
NO_ROLES = RowRoles()


def outer_folds(
    y: NDArray, n_folds: int, seed: int, roles: RowRoles = NO_ROLES, *, n_repeats: int = 1
) -> Folds:
    """Training and test rows of each outer fold.

    Copies of a row go to the same fold. Rows of one group are never both in the training and the
    test part. If there are times, each model is tested on rows that are later than all of its
    training rows.
    """
    check_integer(n_folds, "n_folds", low=2)
    check_integer(n_repeats, "n_repeats", low=1)
    if roles.times is not None and n_repeats > 1:
        raise ValueError(
            "Folds by time cannot be repeated. Leave out the repeats, or the column of times."
        )
    try:
        return _checked_folds(y, n_folds, seed, n_repeats, roles)
    except ValueError as error:
        advice = _possible_folds(y, n_folds, seed, roles)
        raise ValueError(f"{error}{roles.why_so_few} {advice}") from error


def _checked_folds(y: NDArray, n_folds: int, seed: int, n_repeats: int, roles: RowRoles) -> Folds:
    """Outer folds with both classes in each test part, and enough training rows for tuning."""
    n_rare = int(np.bincount(y, minlength=2).min())
    if n_folds > n_rare:
        raise ValueError(
            f"The rare class has {n_rare} examples, too few for {n_folds} folds: each fold must "
            "contain at least one of them."
        )
    if roles.times is None:
        folds = random_folds(y, n_folds, seed, n_repeats, roles)
    else:
        folds = time_folds(y, n_folds, roles)
    for train, test in folds:
        if len(np.unique(y[test])) < 2:
            raise ValueError("A test fold contains only one class.")
        try:
            n_tuning_folds(y[train])
        except ValueError as error:
            raise ValueError(f"{error} These are the training rows of a fold.") from error
    return folds


def _possible_folds(y: NDArray, n_folds: int, seed: int, roles: RowRoles) -> str:
    """A sentence with the nearest number of folds that is possible, or what to add if none is."""
    for number in sorted(range(2, MAX_TRIED + 1), key=lambda number: abs(number - n_folds)):
        try:
            _checked_folds(y, number, seed, 1, roles)
        except ValueError:
            continue
        return f"Use {number} folds."
    where = " of other groups" * (roles.groups is not None)
    where += " at other times" * (roles.times is not None)
    return f"No other number of folds is possible: add different rows of the rare class{where}."


def refuse_few_rows(table: Any, needed: tuple[int, int], purpose: str) -> None:
    """Refuse a table with fewer negative or positive rows than `needed`, and name its classes."""
    for name, count, least in zip(
        table.target_names, np.bincount(table.target, minlength=2), needed, strict=True
    ):
        if count < least:
            found = "1 row is" if count == 1 else f"{count} rows are"
            raise TableError(
                f"{found} of class {quoted(name)}; at least {least} are needed {purpose}. The "
                f"classes of the target column {table.target_name!r}: "
                f"{labels_and_counts(table.classes, table.counts)}."
            )


def n_tuning_folds(y: NDArray) -> int:
    """Number of folds for tuning: two rare examples per fold, and at most `MAX_FOLDS` folds."""
    n_rare = int(np.bincount(y, minlength=2).min())
    if n_rare < MIN_RARE:
        raise ValueError(
            f"The rare class has {n_rare} examples; at least {MIN_RARE} are needed to tune and fit "
            "a model."
        )
    return min(MAX_FOLDS, n_rare // 2)


def tuning_folds(y: NDArray, roles: RowRoles) -> Folds | None:
    """Folds by time to tune on: as many as leave two examples of each class to learn from.

    The first rows are in no validation part. None if there are no times: a method makes its own
    folds, which keep groups and copies together.
    """
    if roles.times is None:
        return None
    for n_folds in range(n_tuning_folds(y), 0, -1):
        try:
            folds = time_folds(y, n_folds, roles)
        except ValueError:  # too many positives have the same time
            continue
        usable = [fold for fold in folds if np.bincount(y[fold[0]], minlength=2).min() >= 2]
        if usable and len(np.unique(y[np.concatenate([test for _, test in usable])])) == 2:
            return usable
    raise ValueError(
        "The rows cannot be divided into an earlier part to learn from and a later part to tune "
        "on, with examples of both classes in each. Leave out the column with the time, or add "
        f"rows from other times.{roles.why_so_few}"
    )


def random_folds(y: NDArray, n_folds: int, seed: int, n_repeats: int, roles: RowRoles) -> Folds:
    """Stratified folds, with the rows of a group and copies of a row together."""
    sizes = sets_per_class(y, roles.sets)
    if roles.groups is not None and sizes[1] < n_folds:
        raise ValueError(
            f"The positive rows belong to {sizes[1]} {'group' if sizes[1] == 1 else 'groups'}, too "
            f"few for {n_folds} folds."
        )
    if roles.groups is None and sizes.min() < n_folds:
        raise ValueError(
            f"Without copies, a class has {sizes.min()} rows, too few for {n_folds} folds."
        )
    folds: Folds = []
    for repeat in range(n_repeats):
        folds += shuffled_folds(y, n_folds, seed + repeat, roles.groups, roles.copies)
    return folds


def time_folds(y: NDArray, n_folds: int, roles: RowRoles) -> Folds:
    """Train on the past, test on the next period; each period has as many positives.

    The rows are sorted by time and divided into n_folds + 1 periods. Fold i learns from the first
    i periods and is tested on the next one. Rows with the same time stay in one period. Rows whose
    group is in the test part are left out of the training part.
    """
    times, sets = np.asarray(roles.times), roles.sets
    positive_times = np.sort(times[y == 1])
    positions = np.arange(1, n_folds + 1) * len(positive_times) // (n_folds + 1)
    starts = np.unique(positive_times[positions])
    if len(starts) < n_folds:
        raise ValueError(f"Too many positive rows have the same time to make {n_folds} folds.")
    folds = []
    for start, stop in zip(starts, [*starts[1:], np.inf], strict=True):
        is_train, is_test = times < start, (times >= start) & (times < stop)
        if sets is not None:
            is_train &= ~np.isin(sets, sets[is_test])
        folds.append((np.flatnonzero(is_train), np.flatnonzero(is_test)))
    return folds


def describe_folds(n_folds: int, n_repeats: int, roles: Roles) -> str:
    """How the outer and the inner folds were made, in two or three sentences."""
    time, group, weight = roles
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
    if time is not None or group is not None:
        text += " The folds within the training part, on which methods are tuned, are made alike."
    if weight is not None:
        text += f" Rows count by their weight in {weight!r}, in fits, thresholds and measures."
    return text


def describe_tuning(roles: Roles, copies: Copies) -> str:
    """How the folds of a single model were made, in one sentence."""
    kinds = []
    if roles.time is not None:
        kinds.append(f"each part is validated by models of earlier rows, by {roles.time!r}")
    if roles.group is not None:
        kinds.append(f"no value of {roles.group!r} is on both sides")
    if copies.n_repeats and copies.together:
        kinds.append("copies of a row stay together")
    return "; ".join(kinds) or "stratified"
