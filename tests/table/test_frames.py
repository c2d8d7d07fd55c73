"""Tables in memory instead of files, and files without rows."""

import numpy as np
import pandas as pd
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


def test_the_columns_are_those_of_the_csv_file(model, path, tmp_path):
    out = tmp_path / "out.csv"
    write_predictions(model, path, out)
    frame = make_table().set_index(pd.Index(range(1000, 1120)))
    found = model.predict_table(frame, top=3)
    assert found.columns.tolist() == pd.read_csv(out).columns.tolist()
    assert found.index.tolist() == list(range(1000, 1120))
    assert (found["class"] == "ill").sum() == 3


def test_columns_with_several_types(path):
    frame = make_table().assign(mixed=[1, "a"] * 60)
    with pytest.raises(TableError, match="The table: a column holds values of several types"):
        fit_table(frame, "state", method="plain", ignore=["id"])


def test_a_text_is_one_name():
    frame = make_table().assign(size=lambda columns: columns["size"].round())
    listed, text = (
        fit_table(frame, "state", method="plain", ignore=ignore, categorical=categorical)
        for ignore, categorical in ((["id"], ["size"]), ("id", "size"))
    )
    assert text.encoder.feature_names_in_.tolist() == ["size", "weight", "color", "new"]
    assert text.X.shape == listed.X.shape
    assert text.encoder.kinds_[0] == "onehot"
    with pytest.raises(TableError, match="There is no column 'colour'"):
        fit_table(frame, "state", method="plain", ignore="colour")
    assert read_table(frame, "state", verbatim="id").verbatim["id"][0] == "r0"


def test_a_text_is_one_method_and_one_resampling():
    settings = {"methods": "plain", "resamplings": "smote", "n_folds": 2, "ignore": "id"}
    found = compare_table(make_table(), "state", **settings)
    assert [(each["method"], each["resampling"]) for each in found.summary()] == [
        ("plain", "smote")
    ]
    with pytest.raises(ValueError, match="methods must contain at least one name; got none"):
        compare_table(make_table(), "state", methods=())


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
