"""Columns of numbers, dates and categories as features, with one encoder for each kind."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import infer_dtype, is_bool_dtype, is_numeric_dtype, is_timedelta64_dtype
from pandas.api.types import is_datetime64_any_dtype as is_date_column
from sklearn.base import BaseEstimator

MISSING_LEVEL = "(missing)"
# The levels of truth values, in all file formats and spellings.
BOOLEANS = {"false": "False", "true": "True"}
_BINARY = {"0": "False", "1": "True", "0.0": "False", "1.0": "True"}
# Fewer missing values have no feature of their own: it would tell little, and put their rows far
# from all others.
MIN_HOLES = 10
MIN_SHARE_OF_HOLES = 0.01
_HOUR = 3_600_000_000  # in microseconds
_DAY = 24 * _HOUR
# What pandas calls the content of a column of objects.
NUMBERS = frozenset({"integer", "floating", "mixed-integer-float", "decimal"})
DATES = frozenset({"date", "datetime", "datetime64"})


def plain_columns(frame: Any) -> Any:
    """The same table with columns of plain types."""
    return pd.DataFrame({name: plain_column(frame[name]) for name in frame}, copy=False)


def plain_column(column: Any) -> Any:
    """A column whose type says what it holds: objects become numbers, dates or text."""
    if column.dtype != object:
        return column
    kind = infer_dtype(column, skipna=True)
    if kind in NUMBERS or column.isna().all():
        values = column.to_numpy(np.float64, na_value=np.nan)
        return pd.Series(values, column.index, name=column.name)
    if kind in DATES:
        return pd.to_datetime(column)
    return column if kind in ("string", "boolean") else column.map(str, na_action="ignore")


class EmptyEncoder(BaseEstimator):
    """Leave out a column that has no value in `fit`: nothing can be learned about it."""

    kind = "empty"

    def fit(self, column: Any) -> EmptyEncoder:
        """Learn nothing."""
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """No features."""
        return np.empty((len(column), 0))

    def feature_names(self, name: str) -> list[str]:
        """No names."""
        return []


class NumberEncoder(BaseEstimator):
    """Keep numbers; a missing one becomes the median, and a second feature says that it was."""

    kind = "number"

    def fit(self, column: Any) -> NumberEncoder:
        """Learn the median."""
        values = _as_floats(column)
        missing = np.isnan(values)
        self.median_ = 2 * float(np.median(values[~missing] / 2))  # a sum could overflow
        self.has_holes_ = are_holes(missing)
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column, which may hold numbers as text."""
        if is_bool_dtype(column):
            raise ValueError(
                f"Column {column.name!r} was numeric when the encoder was fitted, but now it holds "
                "True and False. Convert it to the numbers that they stand for."
            )
        if not is_number(column):
            numbers = pd.to_numeric(column.astype(object), errors="coerce")
            wrong = numbers.isna().to_numpy() & column.notna().to_numpy()
            if wrong.any():
                row = int(np.argmax(wrong))
                raise ValueError(
                    f"Column {column.name!r} was numeric when the encoder was fitted, but row "
                    f"{row + 1} holds {column.iloc[row]!r}."
                )
            column = numbers
        values = _as_floats(column)
        missing = np.isnan(values)
        found = [np.where(missing, self.median_, values), missing]
        return np.column_stack(found[: 1 + self.has_holes_])

    def feature_names(self, name: str) -> list[str]:
        """The name of the column, and such as ``age missing`` for a column ``age``."""
        return [name, f"{name} missing"][: 1 + self.has_holes_]


def are_holes(missing: NDArray[np.bool_]) -> bool:
    """Whether so many values are missing that a feature says where."""
    return bool(missing.sum() >= max(MIN_HOLES, MIN_SHARE_OF_HOLES * len(missing)))


def is_number(column: Any) -> bool:
    """Whether a column of a DataFrame holds numbers; booleans are a category."""
    if is_date_column(column) or is_timedelta64_dtype(column):
        raise ValueError(date_message(column.name))
    return is_numeric_dtype(column) and not is_bool_dtype(column)


def _as_floats(column: Any) -> NDArray[np.float64]:
    """The values of a column of numbers; an error if one is infinite."""
    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values))) + 1
        raise ValueError(f"Column {column.name!r} holds an infinite value in row {row}.")
    return values


class DateEncoder(BaseEstimator):
    """Encode a date as the days since the first day, the weekday (0 for Monday) and the hour."""

    kind = "date"

    def fit(self, column: Any) -> DateEncoder:
        """Learn the first day, the features that vary, and the median."""
        points = date_points(column)
        present = points[~np.isnat(points)]
        self.origin_ = str(present.min().astype("datetime64[D]"))
        self.has_zone_ = column.dt.tz is not None
        features = _features(present, self.origin_, 0.0)
        self.parts_ = [
            part for part, values in features.items() if part == "days" or np.ptp(values) > 0
        ]
        self.median_ = float(np.median(features["days"]))
        if are_holes(np.isnat(points)):
            self.parts_.append("missing")
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column of dates, with a time zone if they had one in `fit`."""
        if not is_date_column(column) and not column.isna().all():
            raise ValueError(
                f"Column {column.name!r} held dates when the encoder was fitted, but now its type "
                f"is {column.dtype}. Convert it to dates, with pandas.to_datetime and the format "
                "in which it is written."
            )
        if not column.isna().all() and (column.dt.tz is not None) != self.has_zone_:
            raise ValueError(zone_message(column.name, self.has_zone_))
        features = _features(date_points(column), self.origin_, self.median_)
        return np.column_stack([features[part] for part in self.parts_])

    def feature_names(self, name: str) -> list[str]:
        """Such as ``paid days`` for a column ``paid``."""
        return [f"{name} {part}" for part in self.parts_]


def date_points(column: Any) -> NDArray[np.datetime64]:
    """A column of a DataFrame as points in time in UTC."""
    points = pd.to_datetime(column, utc=True, cache=False)  # the cache would cost more
    return points.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def date_message(name: str) -> str:
    """Error message for dates or times that cannot be read."""
    return (
        f"Column {name!r} contains dates or times that cannot be read as features. Write dates as "
        "YYYY-MM-DD and times of day as numbers, or leave the column out (`ignore`, on the command "
        f"line `--ignore {name}`)."
    )


def zone_message(name: str, had_zone: bool) -> str:
    """Error message for dates that have a time zone, or none, unlike those of the training data."""
    had, has = ("a", "no") if had_zone else ("no", "a")
    return (
        f"The dates of column {name!r} had {had} time zone in the training data, but now they have "
        f"{has} time zone. Write them in the same way."
    )


def _features(
    points: NDArray[np.datetime64], origin: str, median: float
) -> dict[str, NDArray[np.float64]]:
    """Days since the origin, weekday and hour; a missing date is the median."""
    first = np.datetime64(origin, "us")
    since = np.where(np.isnat(points), round(median * _DAY), (points - first).astype(np.int64))
    first_weekday = datetime.fromisoformat(origin).weekday()
    return {
        "days": since / _DAY,
        "weekday": ((since // _DAY + first_weekday) % 7).astype(np.float64),
        "hour": (since % _DAY // _HOUR).astype(np.float64),
        "missing": np.isnat(points).astype(np.float64),
    }


class CategoryEncoder(BaseEstimator):
    """Encode a column of text as one 0/1 column per level, or for the second of two levels."""

    kind = "onehot"

    def fit(self, column: Any) -> CategoryEncoder:
        """Learn the levels."""
        self.levels_ = sorted(count_levels(column))
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column; a level that was not seen in `fit` is 0, or 0.5 beside two levels."""
        levels, codes = levels_and_codes(column)
        known = {level: index for index, level in enumerate(self.levels_)}
        levels = [*known_spellings(levels, known), MISSING_LEVEL]  # the last one is for code -1
        found = np.array([known.get(level, -1) for level in levels], dtype=np.int64)[codes]
        if len(known) == 2:
            return np.where(found < 0, 0.5, found)[:, np.newaxis]
        return (found[:, np.newaxis] == np.arange(len(known))).astype(np.float64)

    def feature_names(self, name: str) -> list[str]:
        """Such as ``color=red`` for a level of a column ``color``."""
        return [f"{name}={level}" for level in self.levels_[len(self.levels_) == 2 :]]


def levels_and_codes(column: Any) -> tuple[list[str], NDArray]:
    """Levels as text, and the index of each row's level; -1 where the value is missing.

    Codes that are numbers are written without a decimal zero, which pandas adds where a value is
    missing.
    """
    values = column.astype("category").cat
    levels = [str(level) for level in values.categories]
    if is_numeric_dtype(values.categories) and not is_bool_dtype(values.categories):
        levels = [without_zero(level) for level in levels]
    return levels, values.codes.to_numpy()


def count_levels(column: Any) -> dict[str, int]:
    """Number of rows of each level that occurs."""
    levels, codes = levels_and_codes(column)
    # The first entry counts the missing values.
    counts = np.bincount(codes.astype(np.int64) + 1, minlength=len(levels) + 1)
    named = zip([MISSING_LEVEL, *levels], counts.tolist(), strict=True)
    return {level: count for level, count in named if count}


def known_spellings(levels: Sequence[str], known: Collection[str]) -> list[str]:
    """Truth values and codes as the known levels are written; other levels are not changed."""
    known = {*known}
    if known and known <= {*BOOLEANS.values(), MISSING_LEVEL}:
        spellings = BOOLEANS | _BINARY
        return [spellings.get(level.lower(), level) for level in levels]
    shorter = map(without_zero, levels)
    return [
        short if short in known and level not in known else level
        for level, short in zip(levels, shorter, strict=True)
    ]


def without_zero(level: str) -> str:
    """A whole number without its decimal zero: 7 for 7.0."""
    return level[:-2] if re.fullmatch(r"-?\d+\.0", level) else level
