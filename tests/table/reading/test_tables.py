"""read_table: files of all kinds, and the errors for files that cannot be used."""

import csv
import gzip
import re

import numpy as np
import pandas as pd
import pytest

from raremetric.table import TableError, iter_table, read_table
from tests.table.reading.conftest import encoded, read_new

PLAIN = "a,b,y\n1,2,u\n3,4,v\n5,6,u\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (PLAIN, "utf-8"),
        ("\ufeff" + PLAIN, "utf-8"),
        (PLAIN, "utf-16"),
        (PLAIN.replace("\n", "\r\n"), "utf-8"),
        (PLAIN.replace("\n", "\r"), "utf-8"),
        (PLAIN.rstrip("\n"), "utf-8"),
        (PLAIN.replace(",", ";"), "utf-8"),
        (PLAIN.replace(",", "\t"), "utf-8"),
        (PLAIN.replace(",", "|"), "utf-8"),
        (PLAIN.replace(",", " , "), "utf-8"),
        (PLAIN.replace("3", '"3"'), "utf-8"),
        (PLAIN.replace("\n", "\n\n"), "utf-8"),
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_one_table_in_many_spellings(write, content, encoding, packed):
    content = content.encode(encoding)
    path = write(gzip.compress(content), "file.csv.gz") if packed else write(content)
    table = read_table(path, target="y")
    assert table.feature_names == ["a", "b"]
    assert encoded(table) == [[1, 2], [3, 4], [5, 6]]
    assert table.target.tolist() == [0, 1, 0]
    assert table.positive == ("v",)
    assert table.target_names == ["u", "v"]
    assert table.target_name == "y"


def test_decimal_commas(write):
    table = read_table(write("a;b;y\n1,5;2;u\n-2,5;3;v\n3,25;?;u\n"), target="y")
    assert encoded(table) == [[1.5, 2], [-2.5, 3], [3.25, 2.5]]
    # Quoted, between commas.
    text = 'a,b,c,d,y\n"1,5",2,"1,234",0.5,u\n"-12,25 ",3,"2,345",1.5,v\n7,?,"12,000",2.5,u\n'
    table = read_table(write(text), target="y")
    # A decimal point somewhere: the comma of 1,234 separates thousands.
    assert encoded(table) == [[1.5, 2, 1234, 0.5], [-12.25, 3, 2345, 1.5], [7, 2.5, 12000, 2.5]]
    text = 'a,c,y\n"1,5","1,234",u\n"12,25","2,345",v\n7,"12,000",u\n'
    table = read_table(write(text), target="y")
    assert encoded(table) == [[1.5, 1.234], [12.25, 2.345], [7, 12]]
    assert read_new(write('a,c\n"2,5","1,000"\n'), table.encoder).tolist() == [[2.5, 1]]
    table = read_table(write('a,b,y\n"1,234",x,u\n"2,345,678",z,v\n3,z,u\n'), target="y")
    assert table.data["a"].tolist() == [1234, 2345678, 3]
    table = read_table(write('a,b,y\n"1,5",1,u\n"2,3,4",2,v\n"1,5",3,u\n'), target="y")
    assert table.data["a"].tolist() == ["1,5", "2,3,4", "1,5"]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_leading_zeros_are_noted(write, tmp_path, suffix):
    frame = pd.DataFrame(
        {"zip code": ["00123", "04109", "80331"], "a": [0, 10, 0.5], "y": [*"uvu"]}
    )
    path = tmp_path / f"zip{suffix}"
    frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    sentences = (
        "Column 'zip code' has leading zeros, such as '00123', and is read as numbers. If these "
        "are codes, treat them as categories (`categorical`, on the command line `--categorical "
        "'zip code'`), or leave the column out if they are identifiers."
    )
    with pytest.warns(UserWarning, match=f"^{re.escape(sentences)}$"):
        table = read_table(path, target="y")
    assert table.data["zip code"].tolist() == [123, 4109, 80331]
    table = read_table(path, target="y", categorical=["zip code"])
    assert table.data["zip code"].tolist() == ["00123", "04109", "80331"]
    two = read_table(write("age,y\n07,u\n00,v\n65,u\n"), target="y")  # without a note
    assert two.data["age"].tolist() == [7, 0, 65]


def test_no_header(write):
    path = write("1,2,u\n3,4,v\n5,6,u\n")
    table = read_table(path, target=-1)
    assert table.feature_names == ["column_1", "column_2"]
    assert len(table.target) == 3
    with pytest.raises(TableError, match="does not contain this name and was read as data"):
        read_table(path, target="y")
    assert read_table(write("1, 2, u\n3, 4, v\n", "file.dat"), target=-1).data.shape == (2, 2)
    # Text only: the first row is no header, because its values recur.
    assert len(read_table(write("p,q\nr,q\np,s\nr,s\n"), target=-1).target) == 4


def test_quoted_fields_and_other_encodings(write):
    table = read_table(write('a,b,y\n"1","x, ""q""\nz",u\n2,"k",v\n3,k,u\n'), target="y")
    assert table.data["b"].tolist() == ['x, "q"\nz', "k", "k"]
    content = "a,c,y\n1,é,u\n2,ü,v\n3,é,u\n"
    table = read_table(write(content, encoding="cp1252"), target="y")
    assert table.encoder.get_feature_names_out().tolist() == ["a", "c=ü"]
    late = ("a,y\n" + "1,u\n2,v\n" * 50_000).encode() + b"\xe9,u\n"
    with pytest.raises(TableError, match="Save it as UTF-8"):
        read_table(write(late), target="y")


def test_missing_values(write):
    path = write("a,c,y\n1,p,u\n,q,v\nNA,?,v\n5,p,u\n n/a ,p,u\n")
    assert encoded(read_table(path, target="y")) == [
        [1, 0, 1, 0],
        [3, 0, 0, 1],
        [3, 1, 0, 0],
        [5, 0, 1, 0],
        [3, 0, 1, 0],
    ]
    with pytest.warns(UserWarning, match="without any value: 'b', 'column_4'"):
        table = read_table(write("a,b,y,\n1,,u,\n2, ?,v,\n3,,u,\n"), target="y")
    assert table.feature_names == ["a"]


def test_the_target_has_no_other_use(write):
    path = write(PLAIN)
    with pytest.raises(TableError, match=r"Column 'y' is the target, so .* be left out"):
        read_table(path, target="y", ignore=["y"])
    with pytest.raises(TableError, match=r"Column 'y' is the target, so .* names of the rows"):
        read_table(path, target="y", row_names="y")


def test_codes_as_categories(write):
    path = write("code,a,y\n1,5,u\n2,6,v\nV3,7,u\n1,8,u\n2,9,u\n")
    table = read_table(path, target="y", categorical=["code"], ignore=["a"])
    assert table.encoder.get_feature_names_out().tolist() == ["code=1", "code=2", "code=V3"]
    for option in ("categorical", "ignore"):
        with pytest.raises(TableError, match=r"no column 'Code'. Did you mean 'code'\?"):
            read_table(path, target="y", **{option: ["Code"]})


REFUSED = {
    "wrong target": (PLAIN, "Y", r"no column 'Y' for the target. Did you mean 'y'\?.*'a', 'b'"),
    "no target": (PLAIN, None, "Which column contains the class"),
    "far target": (PLAIN, 7, "target=7 is out of range for 3 columns"),
    "one class": ("a,y\n1,u\n2,u\n", "y", "'y' holds only one class: 'u'"),
    "empty target": ("a,y\n1,\n2,\n", "y", "target column 'y' is empty"),
    "fractions": (
        "a,y\n1,0.5\n2,0.7\n",
        "y",
        "'y' looks continuous: it holds 2 different numbers in 2 rows, such as 0.5",
    ),
    "bad number": (
        "a,y\n" + "1,u\n2,v\n" * 20 + "x7,u\n",
        "y",
        "Column 'a' holds numbers, except in 1 of 41 rows: data row 41 holds 'x7'",
    ),
    "late bad number": ("a,y\n" + "1,u\n2,v\n" * 5000 + "x7,u\n", "y", "row 10001 holds 'x7'"),
    "bad decimal": ("a;y\n" + "1,5;u\n2,5;v\n" * 500 + "x7;u\n", "y", "row 1001 holds 'x7'"),
    "repeated header": ("a,a,y\n1,2,u\n1,3,v\n", "y", r"repeats 'a' \('a' in columns 1 and 2\)"),
    "ragged": ("a,b,y\n1,2,u\n1,2\n3,4,v\n", "y", "Data row 2 has 2 fields instead of 3"),
    "ambiguous date": ("d,y\n01/02/2020,u\n03/04/2020,v\n", "y", "Column 'd' contains dates.* day"),
    "month": ("d,y\n3 March 2020,u\n4 May 2020,v\n", "y", "Column 'd' contains dates"),
    "time": ("d,y\n10:30,u\n11:31,v\n", "y", "Column 'd' contains dates"),
    "nothing": ("", "y", "The file is empty"),
    "no rows": ("a,y\n", "y", "no rows of data"),
    "no end of the header": ("a;y", "y", "no rows of data"),
    "no features": ("y\nu\nv\n", "y", "no usable column besides the target"),
    "KEEL": ("@relation a\n@attribute y {u, v}\n@data\nu\nv\n", None, "Convert it to CSV or Parq"),
    "binary": (b"PK\x00\x01", "y", "binary data"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused(write, case):
    content, target, words = REFUSED[case]
    path = write(content)
    with pytest.raises(TableError, match=words) as caught:
        read_table(path, target=target)
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*gone.csv"):
        read_table(tmp_path / "gone.csv", target="y")
    with pytest.raises(IsADirectoryError, match=r"is a directory. Give the name of a file."):
        read_table(tmp_path, target="y")


def test_compressed_files_with_errors(write):
    content = "a,b,y\n" + "1,2,u\n3,4,v\n" * 150 + "1,2\n"
    packed = gzip.compress(content.encode())
    with pytest.raises(TableError, match=r"Data row 301 has 2 fields instead of 3"):
        read_table(write(packed, "file.csv.gz"), target="y")
    encoder = read_table(write(PLAIN), target="y").encoder
    for damaged in (content.encode(), packed[:-30]):
        path = write(damaged, "file.csv.gz")
        with pytest.raises(TableError, match=r"ends in .gz, but the file cannot be decompressed"):
            read_table(path, target="y")
        with pytest.raises(TableError, match=r"ends in .gz, but the file cannot be decompressed"):
            list(iter_table(path, encoder))


@pytest.mark.long
@pytest.mark.parametrize("width", [10, 120])
def test_many_columns(write, width):
    names = [f"{'g' * width}{i}" for i in range(12_000)]
    rows = "".join(",".join(["1.5"] * 12_000) + f",{label}\n" for label in "uvu")
    path = write(",".join([*names, "y"]) + "\n" + rows)
    table = read_table(path, target="y")
    assert table.feature_names == names
    assert table.target.tolist() == [0, 1, 0]
    assert (table.data.to_numpy() == 1.5).all()
    (piece,) = iter_table(path, table.encoder)
    assert piece.shape == (3, 12_000)


@pytest.mark.parametrize("size", [200_000, 300_000, 3_000_000])
def test_long_fields(write, size):
    long, header = "x" * size, "a,b,y\n"
    path = write(f'{header}{long},1,u\n"{long}",2,v\nshort,3,u\n')
    table = read_table(path, target="y")
    assert table.data["a"].tolist() == [long, long, "short"]
    assert table.data["b"].tolist() == [1, 2, 3]
    (piece,) = iter_table(path, table.encoder, block_bytes=1000)
    assert piece["b"].tolist() == [1, 2, 3]
    with pytest.raises(TableError, match="Data row 2 has 2 fields"):
        read_table(write(f"{header}{long},1,u\nshort,2\n{long},1,v\n"), target="y")
    assert csv.field_size_limit() == 131_072


def test_a_late_row_that_is_too_long(write):
    content = "a,y\n" + "1,u\n2,v\n" * 200_000 + '"' + "3,u\n" * 2_000_000
    with pytest.raises(TableError, match="Is a closing quotation mark missing"):
        read_table(write(content), target="y")


def test_parquet(tmp_path):
    frame = pd.DataFrame(
        {
            "i": [1, 2, 3],
            "f": [0.5, None, 1.5],
            "t": [True, False, True],
            "c": pd.Categorical(["p", "q", "p"]),
            "k": pd.Categorical([7, 8, 7]),
            "s": ["x", "y", None],
            "y": [False, True, False],
        }
    )
    path = tmp_path / "file.parquet"
    frame.to_parquet(path)
    table = read_table(path, target="y")
    assert table.target.tolist() == [0, 1, 0]
    names = ["i", "f", "t=True", "c=q", "k", "s=(missing)", "s=x", "s=y"]
    assert table.encoder.get_feature_names_out().tolist() == names
    assert encoded(table)[1] == [2, 1, 0, 1, 8, 0, 0, 1]
    assert read_new(path, table.encoder).tolist() == encoded(table)
    frame.assign(d=pd.Timedelta(1, "h")).to_parquet(path)
    with pytest.raises(TableError, match="Column 'd' contains dates"):
        read_table(path, target="y")
    frame.assign(z=[[1], [2], [3]]).to_parquet(path)
    with pytest.raises(TableError, match="Column 'z' holds values of type list"):
        read_table(path, target="y")
    assert read_table(path, target="y", ignore=["z"]).data.shape == (3, 6)
    path.write_text("no parquet")
    with pytest.raises(TableError, match="cannot be read as a Parquet file"):
        read_table(path, target="y")


def test_same_raw_columns_for_prediction(write):
    train = read_table(write("a,c,y\n1,p,u\n2,q,v\n4,p,u\n"), target="y")
    rows = "".join(f"q,{i},ignored\n" for i in range(1000))
    path = write("c,a,z\n" + rows + ",?,\n", "new.csv")
    pieces = list(iter_table(path, train.encoder, block_bytes=1000))
    assert len(pieces) > 3
    X = np.vstack([train.encoder.transform(piece) for piece in pieces])
    np.testing.assert_array_equal(X[:1000], np.c_[np.arange(1000), np.ones(1000)])
    assert X[1000].tolist() == [2, 0.5]


def test_prediction_refuses(write):
    encoder = read_table(write("a,c,y\n1,p,u\n2,q,v\n4,p,u\n"), target="y").encoder
    path = write("a,c\n" + "1,p\n" * 1000 + "x,p\n", "new.csv")
    with pytest.raises(TableError, match=r"row 1001 holds 'x'. If .* leave the field empty"):
        list(iter_table(path, encoder, block_bytes=1000))
    with pytest.raises(TableError, match=r"'a' must hold numbers, but data row 2 holds 'inf'"):
        list(iter_table(write("a,c\n1,p\ninf,q\n", "new.csv"), encoder))
    words = r"1 of the 2 columns .* are missing: 'c'. The table has: 'a', 'b'"
    with pytest.raises(TableError, match=words):
        list(iter_table(write("a,b\n1,2\n", "new.csv"), encoder))


def test_pieces_with_decimal_commas_and_row_names(write):
    content = "id;size;kind\n" + "\n".join(f"r{i};{i},5;{'ab'[i % 2]}" for i in range(200))
    path = write(content)
    table = read_table(path, "kind", row_names="id")
    assert table.row_names == [f"r{i}" for i in range(200)]
    assert table.classes == ["a", "b"]
    pieces = list(iter_table(path, table.encoder, block_bytes=500, row_names="id"))
    assert len(pieces) > 2
    assert [value for piece in pieces for value in piece["size"]] == [i + 0.5 for i in range(200)]
    assert [name for piece in pieces for name in piece.index] == table.row_names
    numbered = list(iter_table(path, table.encoder, block_bytes=500))
    assert [row for piece in numbered for row in piece.index] == list(range(1, 201))
