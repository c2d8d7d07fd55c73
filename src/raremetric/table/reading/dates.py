"""Dates: from text and Arrow columns to points in time."""

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

from raremetric.encoding.columns import date_message, zone_message
from raremetric.table.reading.levels import MISSING_WORDS, distinct_values, tidy_levels
from raremetric.validation import TableError

_OFFSET = r"Z|[-+](?:0\d|1[0-4]):?[0-5]\d"  # from UTC, at most 14 hours
_TIME = (
    r"(?:(?:T| +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?:\.(?P<part>\d{1,9}))?)?"
    rf" ?(?P<zone>{_OFFSET})?)?"
)
_PARTS = {"Y": r"(?P<year>\d{4})", "M": r"(?P<month>\d{1,2})", "D": r"(?P<day>\d{1,2})"}
LAYOUTS = {
    layout: re.compile("".join(_PARTS.get(each, re.escape(each)) for each in layout) + _TIME)
    for layout in ("Y-M-D", "D.M.Y", "M/D/Y", "D/M/Y")
}
_CLEAR = ("Y-M-D", "D.M.Y")  # those that cannot be confused with another
_ZONE = re.compile(rf":\d{{2}}(\.\d+)? ?({_OFFSET})$")
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_LIKE_A_DATE = re.compile(
    rf"(\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.](\d{{4}}|\d{{2}})"
    rf"|\d{{1,2}}[-. ]+{_MONTH}[-., ]+\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})"
    r"([T ]+\d{1,2}:\d{2}.*)?|\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?( ?[ap]m)?",
    flags=re.IGNORECASE,
)


def parse_date(text: str, layout: str) -> np.datetime64 | None:
    """The point in time, in UTC if the text has a time zone; None if the text does not fit."""
    match = LAYOUTS[layout].fullmatch(text)
    if not match:
        return None
    names = ("year", "month", "day", "hour", "minute", "second")
    microseconds = (match["part"] or "").ljust(6, "0")[:6]
    try:
        fields = [int(match[name] or 0) for name in names]
        point = datetime(*fields, int(microseconds))  # type: ignore[arg-type, call-arg]
        zone = match["zone"]
        if zone and zone != "Z":
            point -= timedelta(hours=int(zone[:3]), minutes=int(zone[0] + zone[-2:]))
    except (ValueError, OverflowError):  # such as month 13, or year 0 in UTC
        return None
    return np.datetime64(point, "us")


def fitting_layouts(texts: Sequence[str]) -> list[str]:
    """All layouts in which all texts are dates."""
    return [
        layout for layout in LAYOUTS if all(parse_date(text, layout) is not None for text in texts)
    ]


def find_layout(name: str, texts: Sequence[str]) -> tuple[str, bool]:
    """The layout in which all texts are dates, empty if there is none; whether they have a zone."""
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
    return np.array([*points, "NaT"], dtype="datetime64[us]")[codes]


def as_points(points: NDArray[np.datetime64], in_utc: bool) -> Any:
    """Points in time as a DatetimeIndex, whose type says whether they had a time zone."""
    return pd.DatetimeIndex(points, tz="UTC" if in_utc else None)


def is_date_type(kind: Any) -> bool:
    """Whether an Arrow type has dates."""
    return types.is_date(kind) or types.is_timestamp(kind)


def convert_dates(column: Any) -> Any:
    """An Arrow column of dates or timestamps, in UTC if it has a time zone."""
    zone = column.type.tz if types.is_timestamp(column.type) else None
    values = column.cast(pa.timestamp("us", tz=zone), safe=False).to_numpy()
    return as_points(values.astype("datetime64[us]"), zone is not None)


def strict_dates(name: str, column: Any, layout: str, in_utc: bool, first_row: int) -> Any:
    """The dates of a column that had dates in the training data; an error for any other value.

    Every value is read by itself, so that it does not depend on other rows: in the layout of the
    training data, which is empty if these were not text, or in one that cannot be confused with
    another.
    """
    if is_date_type(column.type):
        points = convert_dates(column)
        if (points.tz is not None) != in_utc and not points.isna().all():
            raise TableError(zone_message(name, in_utc))
        return points
    levels, codes = tidy_levels(*distinct_values(column.cast("string")), MISSING_WORDS)
    layouts = [*_CLEAR] if layout in ("", *_CLEAR) else [layout, *_CLEAR]
    ways = [[parse_date(level, each) for each in layouts] for level in levels]
    points = [next((point for point in way if point is not None), None) for way in ways]
    wrong = np.array([point is None for point in points] + [False])[codes]
    if wrong.any():
        row = int(np.argmax(wrong))
        shown = " or ".join(map(_shown, layouts))
        raise TableError(
            f"Column {name!r} must hold dates written as {shown}, but data row {first_row + row} "
            f"holds {levels[codes[row]]!r}."
        )
    if any(has_zone(level) != in_utc for level in levels):
        raise TableError(zone_message(name, in_utc))
    return as_points(np.array([*points, "NaT"], dtype="datetime64[us]")[codes], in_utc)


def _shown(layout: str) -> str:
    """A layout as it is usually written, such as YYYY-MM-DD."""
    return layout.replace("Y", "YYYY").replace("M", "MM").replace("D", "DD")


def refuse_dates(name: str, levels: list[str]) -> None:
    """Raise an error if nearly all levels look like dates or times."""
    sample = levels[:1000]
    if sum(_LIKE_A_DATE.fullmatch(level) is not None for level in sample) > 0.9 * len(sample):
        raise TableError(date_message(name))
