"""Generated and damaged files: a table with the same values, or one sentence."""

import csv
import gzip
import io
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from raremetric.table import read_table
from raremetric.table.reading.levels import is_missing
from raremetric.table.reading.tables import iter_table
from tests.fuzz.cases import n_cases
from tests.fuzz.mutations import check_sentence, damaged, limited_time
from tests.table.conftest import make_table

pytestmark = pytest.mark.long

FRAME = make_table(n=12)
CSV = FRAME.to_csv(index=False).encode()


def parquet(compression):
    stream = io.BytesIO()
    FRAME.to_parquet(stream, compression=compression)
    return stream.getvalue()


ORIGINALS = {
    "mine.csv": CSV,
    "german.csv": FRAME.to_csv(index=False, sep=";", decimal=",").encode("cp1252"),
    "utf16.csv": FRAME.to_csv(index=False).encode("utf-16"),
    "mine.csv.gz": gzip.compress(CSV, mtime=0),
    "mine.parquet": parquet(None),
    "snappy.parquet": parquet("snappy"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


def try_to_read(path):
    """Read a file as fit does, and then as predict does."""
    with limited_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            table = read_table(path, -1)
            rows = sum(len(piece) for piece in iter_table(path, table.encoder))
        except ValueError as error:  # also a TableError
            check_sentence(error)
            return None
    assert len(table.data) == len(table.target) == rows
    assert set(np.unique(table.target)) == {0, 1}
    return table


@pytest.mark.parametrize("name", ORIGINALS)
@n_cases(300)
@given(data=st.data())
def test_damaged_files(folder, name, data):
    path = folder / name
    path.write_bytes(data.draw(damaged(ORIGINALS[name])))
    try_to_read(path)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
@n_cases(300)
@given(content=st.binary(max_size=300))
def test_files_of_any_bytes(folder, name, content):
    (folder / name).write_bytes(content)
    try_to_read(folder / name)


@n_cases(300)
@given(
    content=st.text(
        st.sampled_from("aé1.,;|\t\n\r \"'%@{}?=-+eE/:0€\u2028") | st.characters(codec="utf-8"),
        max_size=200,
    )
)
def test_files_of_any_text(folder, content):
    (folder / "a.csv").write_bytes(content.encode())
    try_to_read(folder / "a.csv")


# Text that is quoted in a file is the same in the table. Nearly all that is drawn is used.
printable = st.sampled_from("abé1.,;|\"'%@{}?=-+eE/:0€[]<>&\\` ") | st.characters(
    codec="utf-8", exclude_categories=("C", "Z")
)
words = (
    st.text(printable, min_size=1, max_size=12)
    .map(str.strip)
    .filter(lambda text: text != "" and not is_missing(text))
)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=64)


@st.composite
def tables(draw):
    """Names of columns, numbers, names of rows and labels."""
    n_rows, n_columns = draw(st.integers(2, 8)), draw(st.integers(1, 4))
    names = draw(st.lists(words, min_size=n_columns + 2, max_size=n_columns + 2, unique=True))
    values = draw(st.lists(numbers, min_size=n_rows * n_columns, max_size=n_rows * n_columns))
    ids = draw(st.lists(words, min_size=n_rows, max_size=n_rows))
    labels = ["p", "q", *draw(st.lists(st.sampled_from("pq"), min_size=8, max_size=8))][:n_rows]
    return names, np.reshape(values, (n_rows, n_columns)), ids, labels


@n_cases(300)
@given(tables(), st.sampled_from([",", ";", "\t", "|", "parquet"]))
def test_values_and_names_of_rows_come_back(folder, table, form):
    names, values, ids, labels = table
    path = folder / ("round.parquet" if form == "parquet" else "round.csv")
    if form == "parquet":
        frame = pd.DataFrame(values, columns=names[1:-1])
        frame.assign(**{names[0]: ids, names[-1]: labels})[names].to_parquet(path)
    else:
        with path.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream, delimiter=form, quoting=csv.QUOTE_ALL)
            writer.writerow(names)
            for number, row in enumerate(values.tolist()):
                writer.writerow([ids[number], *map(repr, row), labels[number]])
    with limited_time():
        found = read_table(path, names[-1], "p", row_names=names[0])
    assert found.row_names == ids
    assert found.feature_names == names[1:-1]
    assert found.target.tolist() == [int(label == "p") for label in labels]
    np.testing.assert_array_equal(found.data.to_numpy(dtype=float), values)


@st.composite
def columns_of_text(draw):
    """Four to twelve texts, some of which recur: text that never recurs is refused."""
    different = draw(st.lists(words, min_size=1, max_size=8))
    others = draw(st.lists(st.sampled_from(different), min_size=3, max_size=4))
    return draw(st.permutations([*different, *others]))


@n_cases(300)
@given(columns_of_text(), st.sampled_from([",", ";"]))
def test_text_comes_back(folder, texts, delimiter):
    assume(not {each.lower() for each in texts} <= {"true", "false"})  # has one spelling
    path = folder / "text.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, delimiter=delimiter, quoting=csv.QUOTE_ALL)
        writer.writerows([("a", "b", "y"), *((i, each, i % 2) for i, each in enumerate(texts))])
    with limited_time(), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            found = read_table(path, "y", "1")
        except ValueError as error:
            check_sentence(error)
            return
    if found.data["b"].dtype == "category":
        assert found.data["b"].astype(str).tolist() == texts
