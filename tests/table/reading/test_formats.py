"""CSV, Parquet and DataFrames give the same numbers for the same rows."""

import re
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raremetric.table import TableError, iter_table, read_table


@pytest.fixture
def same(tmp_path):
    """Check that a CSV text and an Arrow table are encoded alike, whichever is fitted on."""

    def check(content, columns):
        text, parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
        text.write_text(content)
        table = pa.table(columns)
        pq.write_table(table, parquet)
        sources = [text, parquet, table, table.to_pandas(), pl.from_arrow(table)]
        results = []
        for fitted_on in sources:
            encoder = read_table(fitted_on, target="y").encoder
            for source in sources:
                (piece,) = iter_table(source, encoder)
                results.append((encoder.get_feature_names_out().tolist(), encoder.transform(piece)))
        for names, values in results[1:]:
            assert names == results[0][0]
            np.testing.assert_array_equal(values, results[0][1])
        return results[0][0], results[0][1].tolist()

    return check


def test_booleans(same):
    names, values = same(
        "b,c,y\nTrue,TRUE,u\nFalse,,v\nTRUE,false,u\nfalse,true,u\n",
        {
            "b": [True, False, True, False],
            "c": [True, None, False, True],
            "y": ["u", "v", "u", "u"],
        },
    )
    assert names == ["b=True", "c=(missing)", "c=False", "c=True"]
    assert values == [[1, 0, 0, 1], [0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1]]


def test_boolean_piece_with_one_spelling(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("b,t,y\nTrue,true,u\nFalse,maybe,v\n")
    encoder = read_table(path, target="y").encoder
    assert encoder.encoders_["b"].levels_ == ["False", "True"]
    assert encoder.encoders_["t"].levels_ == ["maybe", "true"]
    path.write_text("b,t\nTRUE,true\n")
    (piece,) = iter_table(path, encoder)
    assert encoder.transform(piece).tolist() == [[1, 1]]


def test_yes_and_no_stay_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("b,y\nyes,u\nno,v\n")
    assert read_table(path, target="y").encoder.encoders_["b"].levels_ == ["no", "yes"]


def test_whole_numbers_with_holes(same):
    _, values = same(
        "i,y\n1,u\n,v\n4,u\n", {"i": pa.array([1, None, 4], pa.int64()), "y": ["u", "v", "u"]}
    )
    assert values == [[1], [2.5], [4]]


def test_nullable_pandas_types():
    frame = pd.DataFrame(
        {
            "i": pd.array([1, None, 4], "Int64"),
            "b": pd.array([True, None, False], "boolean"),
            "y": ["u", "v", "u"],
        }
    )
    table = read_table(frame, target="y")
    expected = [[1, 0, 0, 1], [2.5, 1, 0, 0], [4, 0, 1, 0]]
    assert table.encoder.transform(table.data).tolist() == expected
    assert table.encoder.transform(frame).tolist() == expected


def test_decimals_are_exact(same):
    numbers = ["0.10", "1234567.89", "8.41", "0.07"]
    _, values = same(
        "d,y\n"
        + "".join(f"{number},{label}\n" for number, label in zip(numbers, "uvuu", strict=True)),
        {"d": pa.array(map(Decimal, numbers), pa.decimal128(20, 2)), "y": [*"uvuu"]},
    )
    assert values == [[float(number)] for number in numbers]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("n,y\n12%,u\n12.5 %,v\n,u\n", [[12], [12.5], [12.25]]),
        ('n,y\n"1,234.56",u\n"1,234",v\n7,u\n', [[1234.56], [1234], [7]]),
        ("n;y\n1,234.56;u\n1,234;v\n7;u\n", [[1234.56], [1234], [7]]),
        ("n;y\n1.234,56;u\n1.234;v\n7,5;u\n", [[1234.56], [1234], [7.5]]),
        ("n;y\n1.234.567,5;u\n-1.234;v\n;u\n", [[1234567.5], [-1234], [616666.75]]),
        ("n;y\n12,5 %;u\n1.200 %;v\n7%;u\n", [[12.5], [1200], [7]]),
    ],
)
def test_percentages_and_thousands(tmp_path, content, expected):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    table = read_table(path, target="y")
    assert table.encoder.kinds_ == ["number"]
    assert table.encoder.transform(table.data).tolist() == expected
    (piece,) = iter_table(path, table.encoder)
    assert table.encoder.transform(piece).tolist() == expected


def test_formatted_text_in_parquet(same):
    _, values = same(
        'p,n,y\n12%,"1,200",u\n7.5%,80,v\n',
        {"p": ["12%", "7.5%"], "n": ["1,200", "80"], "y": ["u", "v"]},
    )
    assert values == [[12, 1200], [7.5, 80]]


@pytest.mark.parametrize("values", [("12%", "13"), ("1,23", "1,234.5"), ("12%", "many")])
def test_mixed_formats_stay_text(tmp_path, values):
    path = tmp_path / "rows.csv"
    path.write_text(f'n,y\n"{values[0]}",u\n"{values[1]}",v\n')
    assert read_table(path, target="y").encoder.encoders_["n"].levels_ == sorted(values)


DAYS = ["2024-03-04", None, "2024-03-01", "2024-03-10"]  # a Monday, a Friday, a Sunday


@pytest.mark.parametrize("row", [0, 10, 19])
def test_one_percent_sign_is_a_mistake(tmp_path, row):
    texts = [f"{i}" for i in range(20)]
    texts[row] += "%"
    path = tmp_path / "rows.csv"
    path.write_text("n,y\n" + "".join(f"{text},{'uv'[i % 2]}\n" for i, text in enumerate(texts)))
    with pytest.raises(TableError, match=f"numbers, except in 1 .* row {row + 1} holds '{row}%'"):
        read_table(path, "y")


def test_underscores_are_no_digits(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("code,y\n1_0,u\n10,v\n2_5,u\n")
    assert read_table(path, "y").data["code"].tolist() == ["1_0", "10", "2_5"]


@pytest.mark.parametrize(
    "wrong",
    [
        "0001-01-01 00:00+05:00",
        "9999-12-31 23:59-05:00",
        "2024-03-01 12:00+99:99",
        "2024-03-01 12:00+15:00",
        "2024-03-01 12:00+01:60",
    ],
)
def test_offsets_that_do_not_exist(tmp_path, wrong):
    path = tmp_path / "rows.csv"
    path.write_text("d,y\n2024-03-01 12:00+14:00,u\n2024-03-02 12:00-1200,v\n")
    encoder = read_table(path, "y").encoder
    path.write_text(f"d,y\n{wrong},u\n{wrong},v\n")
    with pytest.raises(TableError, match=f"data row 1 holds {re.escape(repr(wrong))}"):
        list(iter_table(path, encoder))
    with pytest.raises(TableError, match="'d' contains dates or times that cannot be read"):
        read_table(path, "y")


def test_dates(same):
    names, values = same(
        "d,y\n2024-03-04,u\n,v\n2024-03-01,u\n2024-03-10,u\n",
        {"d": pa.array(DAYS).cast(pa.date32()), "y": [*"uvuu"]},
    )
    assert names == ["d days", "d weekday"]
    assert values == [[3, 0], [3, 0], [0, 4], [9, 6]]


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_times_of_day(same, zone):
    points = ["2024-03-01 12:30", "2024-03-01 00:00:00", "2024-03-02 18:45:15"]
    mark = {None: "", "UTC": "Z", "Europe/Berlin": "+00:00"}[zone]
    stamps = pd.to_datetime(points, format="ISO8601").tz_localize("UTC").tz_convert(zone)
    names, values = same(
        "d,y\n" + "".join(f"{p}{mark},{label}\n" for p, label in zip(points, "uvu", strict=True)),
        {"d": pa.array(stamps), "y": [*"uvu"]},
    )
    assert names == ["d days", "d weekday", "d hour"]
    assert values == [[12.5 / 24, 4, 12], [0, 4, 0], [(86400 + 67515) / 86400, 5, 18]]


@pytest.mark.parametrize(
    "dates",
    [
        ["04.03.2024", "", "01.03.2024", "10.03.2024"],
        ["03/04/2024", "", "03/01/2024", "03/10/2024", "03/13/2024"],
        ["04/03/2024", "", "01/03/2024", "10/03/2024", "13/03/2024"],
    ],
)
def test_other_layouts_of_dates(tmp_path, dates):
    path = tmp_path / "rows.csv"
    path.write_text("d,y\n" + "".join(f"{d},{'uv'[i == 1]}\n" for i, d in enumerate(dates)))
    encoder = read_table(path, target="y").encoder
    # One row does not show which number is the month: the layout of the training data counts.
    path.write_text(f"d,x\n{dates[3]},1\n")
    (piece,) = iter_table(path, encoder)
    assert encoder.transform(piece).tolist() == [[9, 6]]
    assert encoder.decode(encoder.transform(piece)[0]) == {"d": "2024-03-10"}
    path.write_text("d,x\n,1\n2024-03-10,1\n")  # another layout that is unambiguous
    (piece,) = iter_table(path, encoder)
    assert encoder.transform(piece)[1].tolist() == [9, 6]


def test_dates_groups_and_constant_parts():
    frame = pd.DataFrame(
        {"d": pd.to_datetime(["2024-03-01", "2024-03-08"]), "e": [1, 2], "y": ["u", "v"]}
    )
    encoder = read_table(frame, target="y").encoder
    assert encoder.kinds_ == ["date", "number"]
    assert encoder.get_feature_names_out().tolist() == ["d days", "e"]
    assert encoder.column_groups() == [[0], [1]]
    assert encoder.decode(np.array([7.5, 1])) == {"d": "2024-03-08 12:00:00", "e": 1}


def test_a_new_value_that_is_no_date(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("d,y\n2024-03-04,u\n2024-03-05,v\n")
    encoder = read_table(path, target="y").encoder
    path.write_text("d,y\n2024-03-04,u\nsoon,v\n")
    with pytest.raises(TableError, match=r"'d' must hold dates .*, but data row 2 holds 'soon'"):
        list(iter_table(path, encoder))


def test_repeated_names_in_parquet(tmp_path):
    table = pa.table([[1, 2], ["a", "b"], [3, 4]], names=["x", "y", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"The header repeats 'x' \('x' in columns 1 and 3\)"):
        read_table(tmp_path / "t.parquet", "y")


@pytest.mark.parametrize("suffix", [".arff", ".dat"])
def test_a_header_without_a_data_line(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_text("@relation t\n@attribute a numeric\n@attribute y {b, c}\n1,b\n2,c\n")
    with pytest.raises(TableError, match=r"t\.\w+: It has @attribute lines, but no @data line"):
        read_table(path, "y")
