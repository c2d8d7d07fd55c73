"""A new file is read as the training file was written, whatever else it contains."""

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from raremetric.table import TableError, iter_table, read_table
from raremetric.table.reading.numbers import Written, parse_as
from raremetric.table.roles import Roles, read_with_roles
from tests.table.reading.conftest import read_new

POINT, COMMA = Written(".", has_decimals=True), Written(",", has_decimals=True)
POINT_GROUPED, COMMA_GROUPED = POINT._replace(grouped=True), COMMA._replace(grouped=True)


@pytest.mark.parametrize(
    ("written", "accepted", "refused"),
    [
        (
            Written(),
            {"12": 12, "-3": -3, "1e3": 1000, "1.5": 1.5, "1,5": 1.5, "0.125": 0.125}
            | {"1,234.5": 1234.5, "1.234,5": 1234.5, "1.234.567": 1234567},
            ["1.234", "1,234", "12 %", "x"],
        ),
        (
            POINT,
            {"12": 12, "12.125": 12.125, "1,234.5": 1234.5, ".5": 0.5, "1,234,567": 1234567},
            ["1,5", "1,234", "1.234,5", "1.234.567", "12%"],
        ),
        (
            POINT._replace(grouped=True),
            {"1,234": 1234, "1.234": 1.234, "1,234.5": 1234.5},
            ["1,5", "1.234,5"],
        ),
        (
            COMMA,
            {"12": 12, "12,125": 12.125, "1.234,5": 1234.5, "1,5e2": 150},
            ["1.5", "1.234", "1,234.5"],
        ),
        (
            COMMA._replace(grouped=True),
            {"1.234": 1234, "1,234": 1.234, "95.000,00": 95000},
            ["1.5", "1,234.5"],
        ),
        (Written(".", grouped=True), {"1,234": 1234, "1.5": 1.5}, ["1.234", "1,5"]),
        (Written("."), {"12": 12, "1.5": 1.5}, ["1.234", "1,234", "1,5"]),
        (POINT._replace(percent=True), {"12.5 %": 12.5, "12%": 12}, ["12.5", "1,5 %"]),
    ],
)
def test_values_are_read_by_themselves(written, accepted, refused):
    assert {text: parse_as(text, written) for text in accepted} == accepted
    assert [parse_as(text, written) for text in refused] == [None] * len(refused)


@pytest.mark.parametrize(
    ("written", "example"),
    [
        (Written(), "1234"),
        (POINT, "1234.5"),
        (COMMA_GROUPED, "1.234,5"),
        (Written(".", grouped=True), "1,234"),
        (COMMA._replace(percent=True), "1234,5 %"),
    ],
)
def test_examples_are_read_in_this_way(written, example):
    assert written.example() == example
    assert parse_as(example, written) == pytest.approx(1234.5, abs=0.5)


SLASHES = "day,y\n" + "".join(f"{m:02}/{d:02}/2024,{'ab'[d == 20]}\n" for m, d in [(1, 5), (2, 20)])
GERMAN = "amt;k;y\n36.910;0,35;ok\n95.120;0,5;bad\n12.300;1;ok\n"
WHOLE = "a,y\n95000,u\n7,v\n"
PERCENT = "a,y\n12 %,u\n7 %,v\n"
NAIVE = "day,y\n2024-03-01 10:00,u\n2024-03-09 11:00,v\n"
ZONED = NAIVE.replace("00,", "00+01:00,")
DAYS = pd.DataFrame({"day": pd.to_datetime(["2024-01-05", "2024-02-20"]), "y": [*"uv"]})
SHARES = pd.DataFrame({"a": [0.12, 0.07], "y": [*"uv"]})
IN_UTC = pa.array([datetime.datetime(2024, 3, day) for day in (1, 9)], pa.timestamp("us", "UTC"))


@pytest.mark.parametrize(
    ("training", "new", "expected"),
    [
        (SLASHES, "day\n01/12/2024\n", [7, 4]),  # the 12th of January, alone, too
        (GERMAN, "amt;k\n95.000;1\n95.000,00;2\n", [95000, 1, 95000, 2]),
        # Points separate thousands in the training data, whatever another column shows now.
        (GERMAN, "amt;k\n95.000;1\n95.000,00;2\n1.500;3\n", [95000, 1, 95000, 2, 1500, 3]),
        (GERMAN, "amt;k\n95.000;1\n95.000,00;2\n1.500;3,0\n", [95000, 1, 95000, 2, 1500, 3]),
        ('a,y\n"2,90",u\n"3,5",v\n', 'a\n"2,900"\n', [2.9]),
        (WHOLE, "a\n12.5\n", [12.5]),
        ("a,y\n95.000,u\n7.000,v\n", "a\n95.000\n", [95]),
        (ZONED, "day\n2024-03-01 10:00+09:00\n", [1 / 24, 4, 1]),
        (ZONED, pa.table({"day": IN_UTC}), [0, 4, 0, 8, 5, 0]),
        ("a,y\nTrue,u\nFalse,v\n", "a\n0\n1\n1\n", [0, 1, 1]),
        ("a,y\nTrue,u\nFalse,v\n", "a\n0.0\n1.0\n1.0\n", [0, 1, 1]),
        ("a,y\nTrue,u\nFalse,v\n", "a\nfalse\nTRUE\n1\n", [0, 1, 1]),
    ],
)
def test_new_rows_are_read_as_the_training_data_were_written(write, training, new, expected):
    encoder = read_table(write(training), "y").encoder
    source = write(new, "new.csv") if isinstance(new, str) else new
    assert read_new(source, encoder).ravel().tolist() == expected


AS_WRITTEN = "numbers that are written as in the training data, such as"


@pytest.mark.parametrize(
    ("training", "new", "sentence"),
    [
        (
            SLASHES,
            "day\n01/12/2024\n13/11/2024\n",
            "as MM/DD/YYYY .*, but data row 2 holds '13/11",
        ),
        # A sorted file, whose first pieces could be MM/DD/YYYY.
        (
            SLASHES,
            "day\n" + "".join(f"{day:02}/12/2024\n" * 200 for day in range(1, 32)),
            "data row 2401 holds '13/12/2024'",
        ),
        (NAIVE, "day\n13/11/2024\n", r"must hold dates written as YYYY-MM-DD or DD\.MM\.YYYY"),
        (DAYS, "day\n13/11/2024\n", r"must hold dates written as YYYY-MM-DD or DD\.MM\.YYYY"),
        (GERMAN, "amt,k\n36910,0.35\n", rf"{AS_WRITTEN} 1234,5, but data row 1 holds '0\.35'"),
        ("a,y\n2.5,u\n3,v\n", 'a\n3\n"2,900"\n', rf"{AS_WRITTEN} 1234\.5, .* row 2 holds '2,900'"),
        (WHOLE, "a\n95.000\n", rf"{AS_WRITTEN} 1234, but data row 1 holds '95\.000'"),
        (
            PERCENT,
            "a\n0.12\n",
            rf"{AS_WRITTEN} 1234 %, but data row 1 holds '0\.12'. Write it in the same way, or "
            "give the table as Parquet or as a data frame with percentages as numbers, 90 for 90 %",
        ),
        (SHARES, "a\n12 %\n", "but data row 1 holds '12 %'"),
        (
            SHARES,
            pd.DataFrame({"a": [True, False]}),
            "'a' was numeric in the training data",
        ),
        # Converted to UTC, a time of a naive column could fall on another day.
        (NAIVE, "day\n2024-03-01 10:00+09:00\n", "had no time zone in the training data, but now"),
        (NAIVE, pa.table({"day": IN_UTC}), "had no time zone in the training data, but now"),
        (
            NAIVE,
            pd.DataFrame({"day": [pd.Timestamp("2024-03-01 10:00+09:00")]}),
            "had no time zone",
        ),
        (
            ZONED,
            "day\n2024-03-01 10:00\n",
            "had a time zone in the training data, but now",
        ),
    ],
)
def test_new_rows_that_are_written_in_another_way_are_refused(write, training, new, sentence):
    training = write(training) if isinstance(training, str) else training
    encoder = read_table(training, "y").encoder
    source = write(new, "new.csv") if isinstance(new, str) else new
    with pytest.raises(TableError, match=sentence):
        list(iter_table(source, encoder, block_bytes=1000))


@pytest.mark.parametrize(
    ("text", "expected", "noted"),
    [
        ("a;y\n1,000;u\n12,500;v\n950;u\n", [1000, 12500, 950], "'1,000', .* thousands separator"),
        ("a;y\n1.000;u\n12.500;v\n950;u\n", [1, 12.5, 950], "'1.000', .* for a decimal mark"),
        ('a,y\n"1,000",u\n"12,500",v\n', [1000, 12500], "'1,000', .* for a thousands separator"),
        ("a;y\n1,000;u\n1,000,000;v\n", [1000, 10**6], None),
        ("a;y\n1,000;u\n0,500;v\n", [1, 0.5], None),
        ("a;b;y\n1,000;2.5;u\n2,000;3;v\n", [1000, 2000], None),
        ("a;b;y\n1,000;2,5;u\n2,000;3;v\n", [1, 2], None),
        ("a;b;y\n1.000;2,5;u\n2.000;3;v\n", [1000, 2000], None),
        ("a;b;y\n1,000;7 250,5;u\n2,000;3;v\n", [1, 2], None),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "frame"])
def test_a_mark_that_three_digits_always_follow(write, text, expected, noted, kind):
    """What decides is noted, or another number of the table; `;` alone made 1,000 one."""
    header, *rows = text.splitlines()
    source = write("\n".join([f"z{text[1]}{header}", *(f"9{text[1]}{row}" for row in rows)]) + "\n")
    if kind == "frame":
        source = pd.read_csv(source, sep=None, engine="python", dtype=str)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        table = read_table(source, "y", ignore=["b"] if "b" in header else [])
        times = read_with_roles(source, "y", None, (), (), Roles(time="a"))[1].times
    assert table.data["a"].tolist() == times.tolist() == expected
    assert len(notes) == 3 * (noted is not None)  # the time is a feature, too
    assert all(re.search(f"^Column 'a' has numbers such as {noted}", str(n.message)) for n in notes)


@pytest.mark.parametrize("separator", [" ", "\u00a0", "\u202f", "'", "\u2019"])
@pytest.mark.parametrize("mark", [".", ","])
def test_spaces_and_apostrophes_separate_thousands(write, separator, mark):
    rows = f"1{separator}234{mark}5;u\n12{separator}345{separator}678;v\n7;u\n"
    table = read_table(write(f"a;y\n{rows}"), "y")
    assert table.data["a"].tolist() == [1234.5, 12345678, 7]
    assert table.encoder.written_ == {"a": Written(mark, has_decimals=True)}
    assert read_new(write(f"a\n2{separator}000\n"), table.encoder).tolist() == [[2000]]
    for wrong in (f"1{separator}23", f"12{separator}34{separator}567", f"0{separator}123"):
        with pytest.raises(TableError, match="must hold numbers, but data row 1 holds"):
            read_new(write(f"a;b\n{wrong};1\n"), table.encoder)


@pytest.mark.parametrize("cell", ["nan", "-nan", "NaN", "+nan", "-nan(ind)"])
@pytest.mark.parametrize("number", ["1234.5", "1,234.5"])
def test_what_is_not_a_number_in_c_is_missing(write, cell, number):
    """Arrow reads -nan as a number, but beside 1,234.5 the whole column became text."""
    table = read_table(write(f"a;y\n{number};u\n{cell};v\n7;u\n" + "8;u\n" * 300), "y")
    np.testing.assert_array_equal(table.data["a"][:3], [1234.5, np.nan, 7])
    for rows in (f"{number}\n{cell}\n", f"{cell}\n7\n"):
        (piece,) = iter_table(write("a;b\n" + rows.replace("\n", ";1\n")), table.encoder)
        assert piece["a"].isna().sum() == 1
    late = read_table(write("a;y\n" + f"{number};u\n7;v\n" * 300 + f"{cell};u\n"), "y")
    assert late.data["a"].isna().sum() == 1


@pytest.mark.parametrize("blank", ["\n", " \n", "\r\n\t\r\n", "\f\n\u00a0\n"])
def test_blank_lines_before_the_header(write, blank):
    """In a file of text, the header became a row, and all numbers of rows were shifted."""
    text = "color,shape,y\n" + "red,round,u\nblue,square,v\n" * 10
    plain = read_table(write(text, "train.csv"), "y")
    table = read_table(write(blank + text, "blank.csv"), "y")
    pd.testing.assert_frame_equal(table.data, plain.data)
    pieces = list(iter_table(write(blank + text), plain.encoder))
    assert [len(piece) for piece in pieces] == [20]
    assert pieces[0].index[0] == 1
    ragged = write(blank + text + "red\n")
    with pytest.raises(TableError, match="Data row 21 has 1 fields instead of 3"):
        read_table(ragged, "y")


def test_dates_with_and_without_a_zone_in_one_column(write):
    with pytest.raises(TableError, match="with a time zone, such as '2024-03-09 11:00Z', and with"):
        read_table(write("day,y\n2024-03-01,u\n2024-03-09 11:00Z,v\n"), "y")
