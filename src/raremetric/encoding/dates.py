"""Dates as features: days since the first one, the weekday and the hour."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from pandas.api.types import is_datetime64_any_dtype as is_date_column
from sklearn.base import BaseEstimator

__all__ = ["DateEncoder", "date_message", "date_points", "is_date_column", "zone_message"]

_HOUR = 3_600_000_000  # in microseconds
_DAY = 24 * _HOUR


class DateEncoder(BaseEstimator):
    """Encode a date as the days since the first day, the weekday (0 for Monday) and the hour.

    A weekday or hour that is always the same in `fit` is left out. A missing date becomes the
    median.

    Attributes
    ----------
    origin_ : str
        The first day.
    parts_ : list of str
        The encoded features.
    median_ : float
        The median, in days since the first day.
    has_zone_ : bool
        Whether the dates had a time zone; then they are in UTC.
    """

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
        return self

    def transform(self, column: Any) -> NDArray[np.float64]:
        """Encode a column of dates, with a time zone if they had one in `fit`."""
        self._check(column)
        features = _features(date_points(column), self.origin_, self.median_)
        return np.column_stack([features[part] for part in self.parts_])

    def feature_names(self, name: str) -> list[str]:
        """Such as ``paid days`` for a column ``paid``."""
        return [f"{name} {part}" for part in self.parts_]

    def _check(self, column: Any) -> None:
        """Raise an error unless a column holds dates like those of `fit`."""
        if column.isna().all():
            return
        if not is_date_column(column):
            raise ValueError(
                f"Column {column.name!r} held dates when the encoder was fitted, but now its type "
                f"is {column.dtype}. Convert it to dates, with pandas.to_datetime and the format "
                "in which it is written."
            )
        if (column.dt.tz is not None) != self.has_zone_:
            raise ValueError(zone_message(column.name, self.has_zone_))


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
    }
