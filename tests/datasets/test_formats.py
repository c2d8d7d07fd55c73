"""CSV, Parquet and DataFrames give the same numbers for the same rows."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raremetric.datasets import iter_table, read_table


@pytest.fixture
def same(tmp_path):
    """Check that a CSV text and an Arrow table are encoded alike, whichever is fitted on."""

    def check(content, columns):
        text, parquet = tmp_path / "rows.csv", tmp_path / "rows.parquet"
        text.write_text(content)
        table = pa.table(columns)
        pq.write_table(table, parquet)
        sources = [text, parquet, table, table.to_pandas()]
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
    assert encoder.levels_ == [["False", "True"], ["maybe", "true"]]
    path.write_text("b,t\nTRUE,true\n")
    (piece,) = iter_table(path, encoder)
    assert encoder.transform(piece).tolist() == [[1, 1]]


def test_yes_and_no_stay_text(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("b,y\nyes,u\nno,v\n")
    assert read_table(path, target="y").encoder.levels_ == [["no", "yes"]]


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


@pytest.mark.parametrize("values", [("12%", "13"), ("1,23", "1,234"), ("12%", "many")])
def test_mixed_formats_stay_text(tmp_path, values):
    path = tmp_path / "rows.csv"
    path.write_text(f'n,y\n"{values[0]}",u\n"{values[1]}",v\n')
    assert read_table(path, target="y").encoder.levels_ == [sorted(values)]
