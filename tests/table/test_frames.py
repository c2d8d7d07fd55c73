"""Tables in memory instead of files, and files without rows."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from raremetric.table import TableError, compare_table, fit_table, read_table
from raremetric.table.predictions import write_predictions
from tests.table.conftest import make_table

arrow = pytest.importorskip("pyarrow")


class Stream:
    """A table of another library, such as polars, known by the Arrow interface alone."""

    def __init__(self, frame):
        self.table = arrow.Table.from_pandas(frame, preserve_index=False)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "kind",
    [lambda frame: frame, lambda f: arrow.Table.from_pandas(f, preserve_index=False), Stream],
)
def test_a_frame_is_the_same_as_its_file(models, path, kind):
    frame = make_table()
    model = fit_table(kind(frame), "state", method="plain", row_names="id")
    assert model.ids.tolist() == models["plain"].ids.tolist()
    expected = models["plain"].predict_table(path)
    pd.testing.assert_frame_equal(model.predict_table(kind(frame)), expected)
    pd.testing.assert_frame_equal(model.predict_table(path), expected)
    assert model.unused_columns(kind(frame.assign(more=1))) == ["more"]


def test_the_output_for_a_frame_keeps_its_index(model, path, tmp_path):
    write_predictions(model, path, tmp_path / "out.csv")
    found = model.predict_table(make_table().set_index(pd.Index(range(1000, 1120))), top=3)
    assert found.columns.tolist() == pd.read_csv(tmp_path / "out.csv").columns.tolist()
    assert found.index.tolist() == list(range(1000, 1120))
    assert (found["class"] == "ill").sum() == 3


@pytest.mark.parametrize(
    ("values", "kinds"),
    [
        ([1, "a"], "int and str"),
        ([1j, 2j], "complex"),
        ([10**30, 1], "int"),
        ([datetime.date(2024, 3, 1), "a"], "date and str"),
    ],
)
def test_columns_that_cannot_be_read(values, kinds):
    frame = make_table().assign(odd=values * 60)
    sentence = (
        rf"The table: Column 'odd' cannot be read: it holds values of type {kinds} \(.*Convert"
    )
    with pytest.raises(TableError, match=sentence):
        fit_table(frame, "state", method="plain", ignore=["id"])


@pytest.mark.parametrize("source", [{"a": [1]}, np.zeros((2, 2)), None, pl.LazyFrame({"a": [1]})])
def test_sources_that_are_no_tables(source):
    sentence = f"must be the path of a file, .* got {type(source).__name__}. (Convert|Call its)"
    with pytest.raises(TableError, match=sentence):
        read_table(source, "y")


def test_repeated_names():
    frame = pd.DataFrame([["a", "b", "u"], ["c", "d", "v"]], columns=["a", "a", "y"])
    with pytest.raises(TableError, match="The header repeats 'a'"):
        read_table(frame, "y")


DAY = datetime.date(2024, 3, 1)
NOON = pd.Timestamp("2024-03-02 12:00")


@pytest.mark.parametrize("values", [[DAY, NOON, None], [NOON, None, DAY]])
def test_dates_and_times_do_not_depend_on_their_order(values):
    """Arrow took the type of the first one: all others lost their time of day."""
    frame = pd.DataFrame({"day": pd.Series(values, dtype=object), "y": [*"uvu"]})
    expected = pd.to_datetime(pd.Series(values))
    assert read_table(frame, "y").data["day"].equals(expected.astype("datetime64[us]"))
    assert frame["day"].tolist() == values


@pytest.mark.parametrize("other", [NOON, DAY])
@pytest.mark.parametrize("step", [1, -1])
def test_objects_with_and_without_a_time_zone(other, step):
    values = pd.Series([NOON.tz_localize("UTC"), other][::step], dtype=object)
    frame = pd.DataFrame({"day": values, "y": [*"uv"]})
    sentence = f"'2024-03-02 12:00:00.00:00', and without one, such as '{other}'"
    with pytest.raises(TableError, match=sentence):
        read_table(frame, "y")


def test_a_text_is_one_name():
    frame = make_table().assign(size=lambda columns: columns["size"].round())
    listed, text = (
        fit_table(frame, "state", method="plain", ignore=ignore, categorical=categorical)
        for ignore, categorical in ((["id"], ["size"]), ("id", "size"))
    )
    assert text.encoder.feature_names_in_.tolist() == ["size", "weight", "color", "new"]
    assert text.X.shape == listed.X.shape
    assert text.encoder.kinds_[0] == "onehot"
    (found,) = compare_table(frame, "state", methods="plain", n_folds=2, ignore="id").summary()
    assert found["method"] == "plain"
    with pytest.raises(TableError, match="There is no column 'colour'"):
        fit_table(frame, "state", method="plain", ignore="colour")
    with pytest.raises(ValueError, match="methods must contain at least one name; got none"):
        compare_table(frame, "state", methods=())


@pytest.mark.parametrize("method", ["iml", "rare", "logistic"])
@pytest.mark.parametrize("top", [None, 3])
def test_a_file_without_rows(models, tmp_path, method, top):
    empty, out = tmp_path / "empty.csv", tmp_path / "out.csv"
    make_table().head(0).to_csv(empty, index=False)
    counts = write_predictions(models[method], empty, out, top=top)
    assert (counts.rows, counts.positive) == (0, 0)
    expected = models[method].predict_table(make_table())
    assert pd.read_csv(out).columns.tolist() == expected.columns.tolist()
    assert len(models[method].predict_table(make_table().head(0), top=top)) == 0
    make_table().head(0).drop(columns="size").to_csv(empty, index=False)
    with pytest.raises(TableError, match="'size'"):
        write_predictions(models[method], empty, out)


def test_names_can_be_left_out(path):
    model = fit_table(path, "state", method="plain", row_names="id", keep_names=False)
    assert model.ids.tolist() == list(range(1, 121))
    found = model.predict_table(path)
    assert found["id"].tolist() == [f"r{i}" for i in range(120)]  # of the new rows
    assert found["neighbor_1"].dtype == np.int64
