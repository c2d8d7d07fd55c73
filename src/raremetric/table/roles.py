"""Columns that say how the rows are used: their time, their group, their weight."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from raremetric.copies import join_groups, why_so_few
from raremetric.encoding.columns import without_zero
from raremetric.table.reading import TableError, read_table
from raremetric.table.reading.dates import LAYOUTS, fitting_layouts, have_zone, parse_dates
from raremetric.table.reading.levels import unquote
from raremetric.table.reading.numbers import parse_numbers
from raremetric.validation import as_names


class Roles(NamedTuple):
    """Names of the columns that are not features."""

    time: str | None = None
    group: str | None = None
    weight: str | None = None


class RowRoles(NamedTuple):
    """What these columns say about each row; None if there is no such column."""

    times: NDArray[np.float64] | None = None
    groups: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    copies: NDArray[np.int64] | None = None  # equal numbers for rows with equal values

    def take(self, rows: NDArray) -> RowRoles:
        """The same for some of the rows."""
        return RowRoles(*(None if values is None else values[rows] for values in self))

    @property
    def sets(self) -> NDArray[np.int64] | None:
        """Groups that contain every copy of each of their rows; None if all rows are separate."""
        return join_groups(self.copies, self.groups)

    @property
    def why_so_few(self) -> str:
        """A sentence, with a space before it, if copies join groups; else nothing."""
        return why_so_few(self.copies, self.groups)


def read_with_roles(
    path: Any,
    target: str | int | None,
    positive: Any,
    categorical: Collection[str],
    ignore: Collection[str],
    roles: Roles,
    row_names: str | None = None,
    **options: Any,
) -> tuple[Any, RowRoles]:
    """The table, without the columns that have a role, and the roles of its rows.

    Rows of weight 0 are left out, with a warning. For other options, see `read_table`.
    """
    used = [name for name in roles if name is not None]
    left_out = [name for name in as_names(ignore) if name != row_names]
    left_out += [name for name in (roles.group, roles.weight) if name is not None]
    table = read_table(
        path,
        target,
        positive,
        categorical=categorical,
        ignore=left_out,
        row_names=row_names,
        verbatim=used,
        **options,
    )
    texts, marks, (time, group, weight) = table.verbatim, table.decimals, roles
    found = RowRoles(
        times=None if time is None else read_times(time, texts[time], marks[time]),
        groups=None if group is None else read_groups(texts[group]),
        weights=None if weight is None else read_weights(weight, texts[weight], marks[weight]),
    )
    return _without_weightless(table, found)


def _without_weightless(table: Any, roles: RowRoles) -> tuple[Any, RowRoles]:
    """Leave out rows of weight 0."""
    if roles.weights is None or roles.weights.all():
        return table, roles
    rows = np.flatnonzero(roles.weights)
    warnings.warn(
        f"{len(roles.weights) - len(rows)} rows have the weight 0 and are left out.",
        UserWarning,
        stacklevel=2,
    )
    table.data, table.target = table.data.iloc[rows].reset_index(drop=True), table.target[rows]
    table.rows = table.rows[rows]
    if table.row_names is not None:
        table.row_names = [table.row_names[row] for row in rows]
    written = table.encoder.written_  # of the file, which the encoder does not see
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # given by the first fit
        table.encoder.fit(table.data).written_ = written
    return table, roles.take(rows)


def read_groups(texts: list[Any]) -> NDArray[np.int64]:
    """A number for each value; rows without a value are groups of their own.

    As in features, spaces around a value are ignored, and 7.0 is 7.
    """
    values = pd.Series([without_zero(unquote(text)) for text in texts], dtype=object)
    codes, distinct = pd.factorize(values.replace("", None))
    missing = codes < 0
    codes[missing] = len(distinct) + np.arange(missing.sum())
    return codes.astype(np.int64)


def read_times(name: str, texts: list[Any], decimal: str = ".") -> NDArray[np.float64]:
    """Points in time as numbers, from numbers or dates.

    Numbers and dates are written as `read_table` allows it, all dates in the same layout.
    """
    numbers = _as_numbers(name, texts, decimal)
    if not np.isnan(numbers).any():
        return numbers
    codes, distinct = pd.factorize(pd.Series(texts, dtype=object).str.strip())
    layouts = fitting_layouts(distinct)
    if layouts:
        have_zone(name, distinct.tolist())
    if len(layouts) == 1:
        return parse_dates(distinct, codes, layouts[0]).astype(np.float64)
    if layouts:
        raise TableError(
            f"Column {name!r} cannot be used as time: it contains dates such as {texts[0]!r}, of "
            "which day and month cannot be distinguished. Write them as YYYY-MM-DD."
        )
    wrong = np.isnan(numbers)
    if wrong.mean() >= 0.5:
        dates = [parse_dates(distinct, codes, layout) for layout in LAYOUTS]
        wrong = min(map(np.isnat, dates), key=np.count_nonzero)
    row = int(np.flatnonzero(wrong)[0])
    raise TableError(
        f"Column {name!r} cannot be used as time: {texts[row]!r} in row {row + 1} is neither a "
        "number nor a date like the others. Write all dates as YYYY-MM-DD, or all as DD.MM.YYYY; "
        "a time of day may follow, such as 17:30."
    )


def _as_numbers(name: str, texts: list[Any], decimal: str) -> NDArray[np.float64]:
    """Numbers, as features are read; NaN for other texts."""
    return parse_numbers(name, pa.chunked_array([texts], "string"), decimal).values


def read_weights(name: str, texts: list[Any], decimal: str = ".") -> NDArray[np.float64]:
    """One finite number per row that is not negative."""
    weights = _as_numbers(name, texts, decimal)
    wrong = np.isnan(weights) | (weights < 0)
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise TableError(
            f"Column {name!r} cannot be used as weight: {texts[row]!r} in row {row + 1} is not a "
            "finite number of at least 0."
        )
    if not weights.any():
        raise TableError(f"Column {name!r} cannot be used as weight: all of its values are 0.")
    return weights
