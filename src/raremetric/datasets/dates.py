"""Dates: from text and Arrow columns to datetime64, and from there to features and back."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.datasets.dialect import TableError, date_message, is_date
from raremetric.datasets.levels import distinct_values, tidy_levels
from raremetric.extras import import_optional

_TIME = (
    r"(?:(?:T| +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d{1,9}))?)?"
    r" ?(?P<zone>Z|[-+]\d{2}:?\d{2})?)?"
)
LAYOUTS = {
    "Y-M-D": re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})" + _TIME),
    "D.M.Y": re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})" + _TIME),
    "M/D/Y": re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})" + _TIME),
    "D/M/Y": re.compile(r"(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})" + _TIME),
}
_HOUR = 3_600_000_000  # in microseconds
_DAY = 24 * _HOUR


def parse_date(text: str, layout: str) -> np.datetime64 | None:
    """The point in time, in UTC if the text has a time zone; None if the text does not fit."""
    match = LAYOUTS[layout].fullmatch(text)
    if not match:
        return None
    names = ("year", "month", "day", "hour", "minute", "second")
    fields = [int(match[name] or 0) for name in names]
    microseconds = int((match["part"] or "0").ljust(6, "0")[:6])
    try:
        point = datetime(*fields, microseconds)  # type: ignore[arg-type, call-arg]
    except ValueError:  # such as month 13
        return None
    zone = match["zone"]
    if zone and zone != "Z":
        shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
        point += shift if zone[0] == "-" else -shift
    return np.datetime64(point, "us")


def fitting_layouts(texts: Collection[str]) -> list[str]:
    """All layouts in which all texts are dates."""
    return [
        layout for layout in LAYOUTS if all(parse_date(text, layout) is not None for text in texts)
    ]


def find_layout(name: str, texts: Sequence[str], known: str = "") -> str | None:
    """The layout in which all texts are dates; None if there is none.

    Parameters
    ----------
    name : str
        The column, for the error message.
    texts : sequence of str
        Distinct values.
    known : str, default=""
        The layout of the training data, which is preferred.
    """
    found = fitting_layouts(texts)
    if len(found) > 1 and known not in found:
        raise TableError(
            f"Column {name!r} contains dates or times such as {texts[0]!r}, of which day and month "
            "cannot be distinguished. Write them as YYYY-MM-DD, or leave the column out (`ignore`, "
            f"on the command line `--ignore {name}`)."
        )
    return known if known in found else (found[0] if found else None)


def parse_dates(texts: Iterable[str], codes: NDArray, layout: str) -> NDArray[np.datetime64]:
    """The date of each row; code -1 means that it is missing."""
    points = [parse_date(text, layout) for text in texts]
    return np.array([*points, np.datetime64("NaT", "us")], dtype="datetime64[us]")[codes]


def convert_dates(column: Any) -> NDArray[np.datetime64]:
    """An Arrow column of dates or timestamps, in UTC if it has a time zone."""
    arrow = import_optional("pyarrow")
    zone = column.type.tz if arrow.types.is_timestamp(column.type) else None
    values = column.cast(arrow.timestamp("us", tz=zone), safe=False).to_numpy()
    return values.astype("datetime64[us]")


def strict_dates(name: str, column: Any, layout: str, first_row: int) -> NDArray:
    """The dates of a column that had dates in the training data; an error if a value is none."""
    types = import_optional("pyarrow.types")
    if types.is_date(column.type) or types.is_timestamp(column.type):
        return convert_dates(column)
    levels, codes = tidy_levels(*distinct_values(column.cast("string")))
    if not levels:
        return np.full(len(column), np.datetime64("NaT", "us"))
    found = find_layout(name, levels, layout)
    if found:
        return parse_dates(levels, codes, found)
    known = layout or "Y-M-D"
    wrong = [
        i
        for i, level in enumerate(levels)
        if np.isnat(parse_dates([level], np.zeros(1, int), known))[0]
    ]
    row = int(np.argmax(np.isin(codes, wrong)))
    raise TableError(
        f"Column {name!r} must hold dates, but data row {first_row + row} holds "
        f"{levels[codes[row]]!r}."
    )


def refuse_dates(name: str, levels: list[str]) -> None:
    """Raise an error if nearly all levels look like dates or times."""
    sample = levels[:1000]
    if sum(map(is_date, sample)) > 0.9 * len(sample):
        raise TableError(date_message(name))


# Features


def is_date_column(column: Any) -> bool:
    """Whether a column of a DataFrame holds dates."""
    return import_optional("pandas").api.types.is_datetime64_any_dtype(column)


def date_points(column: Any) -> NDArray[np.datetime64]:
    """A column of a DataFrame as points in time in UTC."""
    pandas = import_optional("pandas")
    try:
        points = pandas.to_datetime(column, utc=True)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"Column {column.name!r} held dates when the encoder was fitted, but now it does not: "
            f"{error}."
        ) from error
    return points.dt.tz_localize(None).to_numpy(dtype="datetime64[us]")


def fit_dates(points: NDArray[np.datetime64]) -> tuple[str, list[str], float]:
    """The first day, the features that vary, and the median in days since the first day."""
    present = points[~np.isnat(points)]
    origin = str(present.min().astype("datetime64[D]"))
    features = date_features(present, origin, 0.0)
    parts = [part for part, values in features.items() if part == "days" or np.ptp(values) > 0]
    return origin, parts, float(np.median(features["days"]))


def date_features(
    points: NDArray[np.datetime64], origin: str, median: float
) -> dict[str, NDArray[np.float64]]:
    """Days since the origin, weekday (0 for Monday) and hour; a missing date is the median."""
    first = np.datetime64(origin, "us")
    since = np.where(np.isnat(points), round(median * _DAY), (points - first).astype(np.int64))
    first_weekday = datetime.fromisoformat(origin).weekday()
    return {
        "days": since / _DAY,
        "weekday": ((since // _DAY + first_weekday) % 7).astype(np.float64),
        "hour": (since % _DAY // _HOUR).astype(np.float64),
    }


def decode_date(days: float, origin: str) -> str:
    """The ISO date, with the time of day unless it is midnight."""
    first = datetime.fromisoformat(origin).replace(tzinfo=UTC)
    point = first + timedelta(seconds=round(days * 86400))
    return point.strftime(
        "%Y-%m-%d" if point.hour == point.minute == point.second == 0 else "%Y-%m-%d %H:%M:%S"
    )
