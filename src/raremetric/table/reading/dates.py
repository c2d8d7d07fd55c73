"""Dates: from text and Arrow columns to datetime64."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import types

from raremetric.encoding.dates import date_message, zone_message
from raremetric.files import TableError
from raremetric.table.reading.dialect import is_date
from raremetric.table.reading.levels import distinct_values, tidy_levels

_OFFSET = r"Z|[-+](?:0\d|1[0-4]):?[0-5]\d"  # from UTC, at most 14 hours
_TIME = (
    r"(?:(?:T| +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d{1,9}))?)?"
    rf" ?(?P<zone>{_OFFSET})?)?"
)
LAYOUTS = {
    "Y-M-D": re.compile(r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2})" + _TIME),
    "D.M.Y": re.compile(r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})" + _TIME),
    "M/D/Y": re.compile(r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})" + _TIME),
    "D/M/Y": re.compile(r"(?P<day>\d{1,2})/(?P<month>\d{1,2})/(?P<year>\d{4})" + _TIME),
}
_ZONE = re.compile(rf":\d{{2}}(\.\d+)? ?({_OFFSET})$")
_CLEAR = ("Y-M-D", "D.M.Y")  # those that cannot be confused with another
_SHOWN = {
    "Y-M-D": "YYYY-MM-DD",
    "D.M.Y": "DD.MM.YYYY",
    "M/D/Y": "MM/DD/YYYY",
    "D/M/Y": "DD/MM/YYYY",
}


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
        zone = match["zone"]
        if zone and zone != "Z":
            shift = timedelta(hours=int(zone[1:3]), minutes=int(zone[-2:]))
            point += shift if zone[0] == "-" else -shift
    except (ValueError, OverflowError):  # such as month 13, or year 0 in UTC
        return None
    return np.datetime64(point, "us")


def fitting_layouts(texts: Sequence[str]) -> list[str]:
    """All layouts in which all texts are dates."""
    return [
        layout for layout in LAYOUTS if all(parse_date(text, layout) is not None for text in texts)
    ]


def find_layout(name: str, texts: Sequence[str]) -> tuple[str, bool]:
    """The layout in which all texts are dates, and whether they have a time zone.

    The layout is empty if there is none.

    Parameters
    ----------
    name : str
        The column, for the error message.
    texts : sequence of str
        Distinct values.
    """
    found = fitting_layouts(texts)
    if not found:
        return "", False
    in_utc = have_zone(name, texts)
    if len(found) > 1:
        raise TableError(
            f"Column {name!r} contains dates or times such as {texts[0]!r}, of which day and month "
            "cannot be distinguished. Write them as YYYY-MM-DD, or leave the column out (`ignore`, "
            f"on the command line `--ignore {name}`)."
        )
    return found[0], in_utc


def have_zone(name: str, dates: Sequence[Any]) -> bool:
    """Whether dates have a time zone; an error if only some of them have one."""
    zones = [has_zone(each) for each in dates]
    if len({*zones}) > 1:
        raise TableError(
            f"Column {name!r} contains dates with a time zone, such as "
            f"{str(dates[zones.index(True)])!r}, and without one, such as "
            f"{str(dates[zones.index(False)])!r}. Write all of them in the same way."
        )
    return zones[0]


def has_zone(each: Any) -> bool:
    """Whether a date has a time zone, at the end of a text or as an object."""
    if isinstance(each, str):
        return _ZONE.search(each) is not None
    return getattr(each, "tzinfo", None) is not None


def with_times(column: Any) -> Any:
    """A pandas column of objects, in which dates are midnight if others have a time of day.

    Arrow would take the type of the first one.
    """
    if pd.api.types.infer_dtype(column) not in ("date", "datetime"):
        return column
    present = column.dropna()
    if have_zone(column.name, present.tolist()) or len({*map(type, present)}) == 1:
        return column
    points = [
        datetime.combine(each, time()) if type(each) is date else each for each in column.tolist()
    ]
    return pd.Series(points, column.index, dtype=object)


def parse_dates(texts: Iterable[str], codes: NDArray, layout: str) -> NDArray[np.datetime64]:
    """The date of each row; code -1 means that it is missing."""
    points = [parse_date(text, layout) for text in texts]
    return np.array([*points, np.datetime64("NaT", "us")], dtype="datetime64[us]")[codes]


def as_points(points: NDArray[np.datetime64], in_utc: bool) -> Any:
    """Points in time as a DatetimeIndex, whose type says whether they had a time zone."""
    index = pd.DatetimeIndex(points)
    return index.tz_localize("UTC") if in_utc else index


def convert_dates(column: Any) -> Any:
    """An Arrow column of dates or timestamps, in UTC if it has a time zone."""
    zone = column.type.tz if pa.types.is_timestamp(column.type) else None
    values = column.cast(pa.timestamp("us", tz=zone), safe=False).to_numpy()
    return as_points(values.astype("datetime64[us]"), zone is not None)


def strict_dates(name: str, column: Any, layout: str, in_utc: bool, first_row: int) -> Any:
    """The dates of a column that had dates in the training data; an error for any other value.

    Every value is read by itself, so that it does not depend on other rows: in the layout of the
    training data, or in one that cannot be confused with another.

    Parameters
    ----------
    name : str
    column : pyarrow.ChunkedArray
    layout : str
        The layout of the training data; empty if these were not text.
    in_utc : bool
        Whether the training data had a time zone.
    first_row : int
        Number of the first row in the file.
    """
    if types.is_date(column.type) or types.is_timestamp(column.type):
        points = convert_dates(column)
        if (points.tz is not None) != in_utc and not points.isna().all():
            raise TableError(zone_message(name, in_utc))
        return points
    levels, codes = tidy_levels(*distinct_values(column.cast("string")))
    readable = [layout] if layout and layout not in _CLEAR else []
    points = [_parse_first(level, [*readable, *_CLEAR]) for level in levels]
    wrong = np.array([point is None for point in points] + [False])[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = " or ".join(_SHOWN[each] for each in [*readable, *_CLEAR])
        raise TableError(
            f"Column {name!r} must hold dates written as {shown}, but data row {first_row + row} "
            f"holds {levels[codes[row]]!r}."
        )
    if any(has_zone(level) != in_utc for level in levels):
        raise TableError(zone_message(name, in_utc))
    return as_points(np.array([*points, "NaT"], dtype="datetime64[us]")[codes], in_utc)


def _parse_first(text: str, layouts: Sequence[str]) -> np.datetime64 | None:
    points = (parse_date(text, layout) for layout in layouts)
    return next((point for point in points if point is not None), None)


def refuse_dates(name: str, levels: list[str]) -> None:
    """Raise an error if nearly all levels look like dates or times."""
    sample = levels[:1000]
    if sum(map(is_date, sample)) > 0.9 * len(sample):
        raise TableError(date_message(name))
