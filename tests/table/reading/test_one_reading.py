"""A column means the same in CSV, Parquet, Arrow, pandas and polars, whichever is fitted on."""

import datetime
from contextlib import suppress
from decimal import Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raremetric.table import TableError, iter_table, read_table

LABELS = [*"uvuuvu"]
BERLIN = ZoneInfo("Europe/Berlin")


def days(*numbers):
    return [None if n is None else datetime.date(2024, 3, n) for n in numbers]


def times(*hours, zone=None):
    return [
        None if hour is None else datetime.datetime(2024, 3, 1 + hour // 24, hour % 24, tzinfo=zone)
        for hour in hours
    ]


def same_hours(*hours):
    """The same points in time as in UTC, written in Berlin."""
    return [None if t is None else t.astimezone(BERLIN) for t in times(*hours, zone=datetime.UTC)]


def decimals(*texts):
    return [None if text is None else Decimal(text) for text in texts]


FLAGS = [True, False, None, True, False, True]
COUNTS = [3, None, 2**53 + 1, -4, 0, 3]
MONEY = ["0.10", None, "1234567.89", "-8.41", "0.07", "0.10"]
WORDS = ["red", "blue", None, "red", "green", "blue"]

# The cells of a CSV file, and columns in memory that hold the same values.
CASES = {
    "booleans": (
        ["True", "FALSE", "", "true", "False", "TRUE"],
        [
            pa.array(FLAGS),
            pa.array(FLAGS).dictionary_encode(),
            pa.array(["true", "false", None, "true", "false", "true"]),
            pd.array(FLAGS, "boolean"),
            np.array(FLAGS, dtype=object),
            pd.Categorical(FLAGS),
            pl.Series(FLAGS),
        ],
    ),
    "integers with holes": (
        ["3", "", "9007199254740993", "-4", "0", "3"],
        [
            pa.array(COUNTS),
            pa.array(COUNTS).dictionary_encode(),
            pa.array(["3", None, "9007199254740993", "-4", " 0", "3"], pa.large_string()),
            pd.array(COUNTS, "Int64"),
            pd.array(COUNTS, pd.ArrowDtype(pa.int64())),
            pd.Categorical(pd.array(COUNTS, "Int64")),
            [np.nan if value is None else float(value) for value in COUNTS],
            pl.Series(COUNTS),
            pl.Series([np.nan if value is None else float(value) for value in COUNTS]),
            decimals(*(None if value is None else str(value) for value in COUNTS)),
        ],
    ),
    "decimals": (
        [text or "NA" for text in MONEY],
        [
            pa.array(decimals(*MONEY), pa.decimal128(20, 2)),
            pa.array(decimals(*MONEY), pa.decimal256(40, 2)),
            pa.array(decimals(*MONEY), pa.decimal128(20, 2)).dictionary_encode(),
            decimals(*MONEY),
            [np.nan if text is None else float(text) for text in MONEY],
            pd.array([None if text is None else float(text) for text in MONEY], "Float64"),
            pl.Series(decimals(*MONEY)),
            pl.Series(MONEY),
        ],
    ),
    "thousands": (
        ['"1,234.5"', "", '"12,345,678"', "7", '"-1,000"', "0.5"],
        [
            pa.array(["1,234.5", None, "12,345,678", "7", "-1,000", "0.5"]).dictionary_encode(),
            [1234.5, None, 12345678, 7, -1000, 0.5],
            pl.Series(["1,234.5", None, "12,345,678", "7", "-1,000", "0.5"]),
        ],
    ),
    "percentages": (
        ["12%", "12.5 %", "", "7%", "100%", "0%"],
        [
            ["12%", "12.5 %", None, "7%", "100%", "0%"],
            [12, 12.5, None, 7, 100, 0],
            pl.Series(["12%", "12.5 %", None, "7%", "100%", "0%"], dtype=pl.Categorical),
        ],
    ),
    "text": (
        ["red", " blue", "", "red ", "green", "blue"],
        [
            WORDS,
            pa.array(WORDS, pa.large_string()),
            pa.array(WORDS, pa.string_view()),
            pa.array(WORDS).dictionary_encode(),
            pa.chunked_array([WORDS[:3], WORDS[3:]]).dictionary_encode(),
            pd.Categorical(WORDS, ["red", "unused", "green", "blue"], ordered=True),
            pd.array(WORDS, "string"),
            pl.Series(WORDS),
            pl.Series(WORDS, dtype=pl.Categorical),
            pl.Series(WORDS, dtype=pl.Enum(["red", "green", "blue"])),
        ],
    ),
    "dates": (
        ["2024-03-04", "", "2024-03-01", "2024-03-31", "2024-03-04", "2024-03-05"],
        [
            days(4, None, 1, 31, 4, 5),
            pa.array(days(4, None, 1, 31, 4, 5), pa.date64()),
            pa.array(days(4, None, 1, 31, 4, 5)).dictionary_encode(),
            pa.array(days(4, None, 1, 31, 4, 5)).cast(pa.timestamp("s")),
            ["04.03.2024", None, "01.03.2024", "31.03.2024", "04.03.2024", "05.03.2024"],
            pd.to_datetime(pd.Series(days(4, None, 1, 31, 4, 5))),
            pl.Series(days(4, None, 1, 31, 4, 5)),
        ],
    ),
    "times": (
        [
            "2024-03-01 00:00",
            "",
            "2024-03-02T18:00:00",
            "2024-03-01 12:00:00.000",
            "2024-03-02 00:00",
            "2024-03-01 01:00",
        ],
        [
            times(0, None, 42, 12, 24, 1),
            *(
                pa.array(times(0, None, 42, 12, 24, 1)).cast(pa.timestamp(unit))
                for unit in ("s", "ms", "us", "ns")
            ),
            pl.Series(times(0, None, 42, 12, 24, 1)),
        ],
    ),
    "times with a zone": (
        [
            "2024-03-01 00:00Z",
            "",
            "2024-03-02T19:00:00+01:00",
            "2024-03-01 12:00:00.000Z",
            "2024-03-02 00:00+0000",
            "2024-02-29 20:00-05:00",
        ],
        [
            times(0, None, 42, 12, 24, 1, zone=datetime.UTC),
            pa.array(times(0, None, 42, 12, 24, 1), pa.timestamp("ns", "America/New_York")),
            pd.Series(pd.to_datetime(same_hours(0, None, 42, 12, 24, 1))),
            pl.Series(same_hours(0, None, 42, 12, 24, 1)),
        ],
    ),
}


def make_sources(cells, variants, folder):
    """A CSV file, a Parquet file and an Arrow table for each variant, and its frames."""
    path = folder / "rows.csv"
    rows = "".join(f"{cell},{label}\n" for cell, label in zip(cells, LABELS, strict=False))
    path.write_text("x,y\n" + rows)
    sources = [path]
    for number, values in enumerate(variants):
        if isinstance(values, pl.Series):
            frame = pl.DataFrame({"x": values, "y": LABELS[: len(values)]})
            table = frame.to_arrow()
        else:
            arrow = isinstance(values, pa.Array | pa.ChunkedArray)
            frame = None if arrow else pd.DataFrame({"x": values, "y": LABELS[: len(values)]})
            columns = {"x": values, "y": LABELS[: len(values)]}
            table = pa.table(columns) if arrow else pa.Table.from_pandas(frame)
        sources += [table, *([] if frame is None else [frame])]
        with suppress(pa.ArrowNotImplementedError):  # old versions do not write string_view
            pq.write_table(table, folder / f"{number}.parquet")
            sources.append(folder / f"{number}.parquet")
    return sources


# A model of numbers that were not text does not know what -1,000 or 12% mean.
NEED_A_FORM = ("thousands", "percentages")


@pytest.mark.parametrize("case", CASES)
def test_every_pair_of_formats(tmp_path, case):
    sources = make_sources(*CASES[case], tmp_path)
    tables = [read_table(source, target="y") for source in sources]
    encoder = tables[0].encoder
    expected = encoder.transform(tables[0].data)
    for source, table in zip(sources, tables, strict=True):
        assert table.encoder.kinds_ == encoder.kinds_
        names = table.encoder.get_feature_names_out().tolist()
        assert names == encoder.get_feature_names_out().tolist()
        np.testing.assert_array_equal(table.encoder.transform(table.data), expected)
        (piece,) = iter_table(source, encoder)  # fitted on CSV
        np.testing.assert_array_equal(encoder.transform(piece), expected)
        for other in (sources[0], sources[-1]):
            if table.encoder.written_ != encoder.written_ and case in NEED_A_FORM:
                with pytest.raises(TableError, match="numbers that are written as in the training"):
                    list(iter_table(other, table.encoder))
                continue
            (piece,) = iter_table(other, table.encoder)
            np.testing.assert_array_equal(table.encoder.transform(piece), expected)


def test_what_the_cases_mean(tmp_path):
    """Values computed by hand, so that all formats are not wrong together."""
    expected = {
        "booleans": [[0, 0, 1], [0, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0], [0, 0, 1]],
        "integers with holes": [[3], [3], [2.0**53], [-4], [0], [3]],
        "decimals": [[0.1], [0.1], [1234567.89], [-8.41], [0.07], [0.1]],
        "thousands": [[1234.5], [7], [12345678], [7], [-1000], [0.5]],
        "percentages": [[12], [12.5], [12], [7], [100], [0]],
        "dates": [[3, 0], [3, 0], [0, 4], [30, 6], [3, 0], [4, 1]],
        "times": [[0, 4, 0], [0.5, 4, 12], [1.75, 5, 18], [0.5, 4, 12], [1, 5, 0], [1 / 24, 4, 1]],
    }
    expected["times with a zone"] = expected["times"]
    for case, values in expected.items():
        table = read_table(make_sources(*CASES[case], tmp_path)[0], target="y")
        assert table.encoder.transform(table.data).tolist() == values


CODES = [7, None, 8, 10, 7, 8]


@pytest.mark.parametrize(
    "cells", [["7", "", "8", "10", "7", "8"], ["7.0", "", "8.0", "10.0", "7.0", "8.0"]]
)
def test_codes_with_holes_as_categories(tmp_path, cells):
    """pandas writes integers with holes as 7.0, also into CSV files."""
    variants = [
        pa.array(CODES),
        pa.array(CODES, pa.float32()),
        pd.array(CODES, "Int64"),
        [np.nan if code is None else float(code) for code in CODES],
        pl.Series(CODES),
        pl.Series([np.nan if code is None else float(code) for code in CODES]),
        pa.array(decimals(*(None if code is None else str(code) for code in CODES))),
    ]
    expected = [[0, 0, 1, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    sources = make_sources(cells, variants, tmp_path)
    for fitted_on in sources:
        encoder = read_table(fitted_on, target="y", categorical=["x"]).encoder
        assert encoder.get_feature_names_out().tolist() == ["x=(missing)", "x=10", "x=7", "x=8"]
        for source in (sources[0], fitted_on, sources[-1]):
            (piece,) = iter_table(source, encoder)
            assert encoder.transform(piece).tolist() == expected


EMPTY = [
    pa.nulls(3),
    pa.nulls(3, pa.string()),
    pa.array(["", "NA", " "]),
    pa.nulls(3, pa.float64()),
    pa.nulls(3, pa.bool_()),
    pa.nulls(3, pa.timestamp("ns")),
    [None, None, None],
    [np.nan, np.nan, np.nan],
    pd.Categorical([None, None, None]),
    pl.Series([np.nan, np.nan, np.nan]),
    pl.Series([None, None, None]),
]


def test_empty_columns(tmp_path):
    """They are dropped with a warning in training, and are missing values of a known column."""
    sources = make_sources(["", "NA", "?"], EMPTY, tmp_path)
    for source in sources:
        with (
            pytest.warns(UserWarning, match="without any value: 'x'"),
            pytest.raises(ValueError, match="no usable column"),
        ):
            read_table(source, target="y")
    for case, (cells, variants) in CASES.items():
        (tmp_path / case).mkdir()
        encoder = read_table(make_sources(cells, variants, tmp_path / case)[0], target="y").encoder
        (missing,) = iter_table(sources[0], encoder)
        expected = encoder.transform(missing)
        for source in sources[1:]:
            (piece,) = iter_table(source, encoder)
            np.testing.assert_array_equal(encoder.transform(piece), expected)
