"""What text in a file means: numbers, truth values and dates."""

import re

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from raremetric.table import TableError, iter_table, read_table
from tests.table.reading.conftest import encoded, read_new


def test_truth_values_and_other_text(write):
    rows = "True,true,yes,u\nFalse,maybe,no,v\n"
    encoder = read_table(write("b,t,c,y\n" + rows), target="y").encoder
    assert [each.levels_ for each in encoder.encoders_.values()] == [
        ["False", "True"],
        ["maybe", "true"],
        ["no", "yes"],
    ]
    assert read_new(write("b,t,c\nTRUE,true,yes\n"), encoder).tolist() == [[1, 1, 1]]


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
def test_percentages_and_thousands(write, content, expected):
    path = write(content)
    table = read_table(path, target="y")
    assert table.encoder.kinds_ == ["number"]
    assert encoded(table) == read_new(path, table.encoder).tolist() == expected


@pytest.mark.parametrize(
    "values", [("12%", "13"), ("1,23", "1,234.5"), ("12%", "many"), ("1_0", "10")]
)
def test_mixed_formats_stay_text(write, values):
    table = read_table(write(f'n,y\n"{values[0]}",u\n"{values[1]}",v\n'), target="y")
    assert table.encoder.encoders_["n"].levels_ == sorted(values)


@pytest.mark.parametrize("row", [0, 10, 19])
def test_one_percent_sign_is_a_mistake(write, row):
    texts = [f"{i}{'%' * (i == row)},{'uv'[i % 2]}\n" for i in range(20)]
    with pytest.raises(TableError, match=f"numbers, except in 1 .* row {row + 1} holds '{row}%'"):
        read_table(write("n,y\n" + "".join(texts)), "y")


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
def test_offsets_that_do_not_exist(write, wrong):
    path = write("d,y\n2024-03-01 12:00+14:00,u\n2024-03-02 12:00-1200,v\n")
    encoder = read_table(path, "y").encoder
    path = write(f"d,y\n{wrong},u\n{wrong},v\n")
    with pytest.raises(TableError, match=f"data row 1 holds {re.escape(repr(wrong))}"):
        list(iter_table(path, encoder))
    with pytest.raises(TableError, match="'d' contains dates or times that cannot be read"):
        read_table(path, "y")


@pytest.mark.parametrize(
    "dates",
    [
        ["04.03.2024", "", "01.03.2024", "10.03.2024"],
        ["03/04/2024", "", "03/01/2024", "03/10/2024", "03/13/2024"],
        ["04/03/2024", "", "01/03/2024", "10/03/2024", "13/03/2024"],
    ],
)
def test_layouts_of_dates(write, dates):
    path = write("d,y\n" + "".join(f"{d},{'uv'[i == 1]}\n" for i, d in enumerate(dates)))
    encoder = read_table(path, target="y").encoder
    # One row does not show which number is the month: the layout of the training data counts.
    (piece,) = iter_table(write(f"d,x\n{dates[3]},1\n"), encoder)
    assert encoder.transform(piece).tolist() == [[9, 6]]
    assert piece["d"].tolist() == [pd.Timestamp("2024-03-10")]
    # Another layout that is unambiguous.
    assert read_new(write("d,x\n,1\n2024-03-10,1\n"), encoder)[1].tolist() == [9, 6]
    with pytest.raises(TableError, match=r"'d' must hold dates .*, but data row 2 holds 'soon'"):
        list(iter_table(write("d,x\n2024-03-04,1\nsoon,2\n"), encoder))


def test_repeated_names_in_parquet(tmp_path):
    table = pa.table([[1, 2], ["a", "b"], [3, 4]], names=["x", "y", "x"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"The header repeats 'x' \('x' in columns 1 and 3\)"):
        read_table(tmp_path / "t.parquet", "y")
