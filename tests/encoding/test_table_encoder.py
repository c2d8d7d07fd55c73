"""TableEncoder: numbers, levels, levels that were not seen, and errors."""

import json
import re

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from raremetric import TableEncoder


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "age": [30.0, np.nan, 50.0, 40.0],
            "smokes": [True, False, True, True],
            "color": ["red", "blue", "green", None],
            "sex": pd.Categorical(["f", "m", "f", "f"]),
        }
    )


def test_encoded_columns(table):
    encoder = TableEncoder().fit(table)
    colors = [f"color={color}" for color in ("(missing)", "blue", "green", "red")]
    names = ["age", "smokes=True", *colors, "sex=m"]
    assert encoder.get_feature_names_out().tolist() == names
    expected = [
        [30, 1, 0, 0, 0, 1, 0],
        [40, 0, 0, 1, 0, 0, 1],  # the median of 30, 40, 50
        [50, 1, 0, 0, 1, 0, 0],
        [40, 1, 1, 0, 0, 0, 0],
    ]
    np.testing.assert_array_equal(encoder.transform(table), expected)
    assert encoder.n_features_in_ == 4
    assert encoder.kinds_ == ["number", "onehot", "onehot", "onehot"]
    assert encoder.column_groups() == [[0], [1], [2, 3, 4, 5], [6]]
    frame = TableEncoder().set_output(transform="pandas").fit_transform(table)
    assert frame["sex=m"].tolist() == [0, 1, 0, 0]


def test_new_rows(table):
    encoder = TableEncoder().fit(table)
    new = pd.DataFrame(
        {"sex": ["x", None], "extra": [1, 2], "smokes": [0, 1], "color": ["pink", "red"]}
    ).assign(age=["33", np.nan])
    # Any order, an additional column, numbers as text; unseen levels: all 0, or 0.5 for two levels.
    expected = [[33, 0, 0, 0, 0, 0, 0.5], [40, 1, 0, 0, 0, 1, 0.5]]
    np.testing.assert_array_equal(encoder.transform(new), expected)


def test_missing_columns_are_named(table):
    encoder = TableEncoder().fit(table)
    with pytest.raises(
        ValueError, match=r"2 of the 4 columns .* are missing: 'age', 'color'\. The"
    ):
        encoder.transform(table.drop(columns=["age", "color"]))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.to_timedelta([1, 2], "h"), "contains dates or times"),
        ([1.0, np.inf], "infinite value in row 2"),
    ],
)
def test_refused_columns(column, words):
    with pytest.raises(ValueError, match=f"Column 'x' .*{words}"):
        TableEncoder().fit(pd.DataFrame({"x": column}))


def test_bad_input_and_parameters(table):
    for bad in (pl.LazyFrame({"a": [1]}), "text", None):
        with pytest.raises(TypeError, match=f"a data frame of pandas, .* got {type(bad).__name__}"):
            TableEncoder().fit(bad)
    with pytest.raises(ValueError, match="names of the columns must be different"):
        TableEncoder().fit(pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"]))
    for wrong, shown in ((["age", "b"], "'b'"), ([0, 4], "4"), ([True, False], "True"), ({}, "{}")):
        with pytest.raises(
            ValueError, match=f"categorical_features must be .*; got {re.escape(shown)}"
        ):
            TableEncoder(categorical_features=wrong).fit(table)
    with pytest.raises(ValueError, match=r"Column 'x' was numeric .* row 2 holds 'old'"):
        TableEncoder().fit(pd.DataFrame({"x": [1, 2]})).transform(pd.DataFrame({"x": ["1", "old"]}))
    with pytest.raises(ValueError, match="max_levels"):
        TableEncoder(max_levels=0).fit(table)


def test_in_a_pipeline_and_saved(table, tmp_path):
    X, y = pd.concat([table] * 10, ignore_index=True), np.tile([0, 1, 0, 1], 10)
    pipeline = make_pipeline(clone(TableEncoder()), LogisticRegression())
    assert cross_val_score(pipeline, X, y, cv=2).mean() == 1
    joblib.dump(pipeline.fit(X, y), tmp_path / "model")
    loaded = joblib.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict(table), pipeline.predict(table))


def test_fitted_attributes_are_plain(table):
    """They can be saved in a format that allows only plain types."""
    encoder = TableEncoder().fit(table)
    states = [encoder, *encoder.encoders_.values()]
    state = {key: value for each in states for key, value in vars(each).items()}
    assert state.pop("encoders_") is encoder.encoders_
    for value in state.values():
        json.dumps(value.tolist() if isinstance(value, np.ndarray) else value)


def test_holes_have_a_column_if_they_are_not_rare():
    """A column of few holes would put these rows far from all others."""
    for n_rows, n_holes, n_features in ((30, 9, 1), (30, 10, 2), (2000, 19, 1), (2000, 20, 2)):
        column = np.arange(n_rows, dtype=float)[:, np.newaxis]
        column[:n_holes] = np.nan
        assert TableEncoder().fit_transform(column).shape == (n_rows, n_features)
    values = np.arange(200.0)
    values[:10] = np.nan
    encoder = TableEncoder().fit(pd.DataFrame({"x": values}))
    found = encoder.transform(pd.DataFrame({"x": [np.nan, 7.0]}))
    np.testing.assert_array_equal(found, [[np.nanmedian(values), 1], [7, 0]])
    days = pd.DataFrame({"paid": pd.to_datetime(["2024-03-01", None, "2024-03-05"])})
    dates = TableEncoder().fit(pd.concat([days] * 10))
    names = ["paid days", "paid weekday", "paid missing"]
    assert dates.get_feature_names_out().tolist() == names
    np.testing.assert_array_equal(dates.transform(days), [[0, 4, 0], [2, 6, 1], [4, 1, 0]])


def test_tables_of_other_libraries_are_those_of_pandas(table):
    """Arrow and polars write what is missing in another way, and pandas some of it as objects."""
    frame = table.assign(
        n=pd.array([1, None, 3, 4], dtype="Int64"),
        seen=pd.array([True, None, False, True], dtype="boolean"),
        day=pd.to_datetime(["2024-03-01", None, "2024-03-05", "2024-03-07"]),
    )
    expected = TableEncoder().fit(frame)
    others = [
        pa.Table.from_pandas(frame),
        pl.from_pandas(frame),
        frame.astype({"n": object, "age": object, "day": object, "seen": object}),
        frame.assign(day=pd.Series(frame["day"].dt.date, dtype=object)),
    ]
    for other in others:
        encoder = TableEncoder().fit(other)
        assert encoder.kinds_ == expected.kinds_
        assert encoder.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
        np.testing.assert_array_equal(encoder.transform(other), expected.transform(frame))
        np.testing.assert_array_equal(expected.transform(other), expected.transform(frame))


def test_columns_of_arrays_are_found_by_position(table):
    values = np.array([[1.5, "a"], [None, "b"], [2.5, "a"]], dtype=object)
    encoder = TableEncoder().fit(values)
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1=b"]
    assert not hasattr(encoder, "feature_names_in_")
    np.testing.assert_array_equal(encoder.transform(values), [[1.5, 0], [2, 1], [2.5, 0]])
    numbered = pd.DataFrame(values, columns=[7, 3])
    np.testing.assert_array_equal(encoder.transform(numbered), encoder.transform(values))
    with pytest.raises(ValueError, match=r"X has 1 features, but TableEncoder is expecting 2"):
        encoder.transform(values[:, :1])
    with pytest.warns(UserWarning, match=r"X does not have valid feature names, but TableEncoder"):
        found = TableEncoder().fit(table).transform(table.to_numpy(dtype=object))
    np.testing.assert_array_equal(found, TableEncoder().fit_transform(table))


@pytest.mark.parametrize("chosen", [["code"], "code", [1], [False, True]])
def test_numbers_that_are_codes(chosen):
    frame = pd.DataFrame({"size": [1.0, 2, 3, 4], "code": [7.0, np.nan, 11, 7]})
    encoder = TableEncoder(categorical_features=chosen).fit(frame)
    names = ["size", "code=(missing)", "code=11", "code=7"]
    assert encoder.get_feature_names_out().tolist() == names
    whole = encoder.transform(frame.fillna({"code": 7}).astype(int))  # without a decimal zero
    np.testing.assert_array_equal(whole[:, 1:], [[0, 0, 1], [0, 0, 1], [0, 1, 0], [0, 0, 1]])


def test_a_column_without_any_value_is_left_out(table):
    frame = table.assign(empty=np.nan, none=None)
    with pytest.warns(UserWarning, match=r"Column '.*' has no value, and is left out") as found:
        encoder = TableEncoder().fit(frame)
    assert len(found) == 2
    np.testing.assert_array_equal(
        encoder.transform(frame.assign(empty=1.0)), TableEncoder().fit_transform(table)
    )
    assert encoder.column_groups()[4:] == [[], []]


@parametrize_with_checks([TableEncoder()])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_columns_of_another_kind_than_in_fit_are_refused():
    with pytest.raises(ValueError, match="'a' was numeric when the encoder was fitted"):
        TableEncoder().fit(pd.DataFrame({"a": [0.1]})).transform(pd.DataFrame({"a": [True]}))
    days = pd.to_datetime(["2024-03-01 10:00", "2024-03-09 11:00"])
    encoder = TableEncoder().fit(pd.DataFrame({"day": days}))
    with pytest.raises(ValueError, match="had no time zone in the training data"):
        encoder.transform(pd.DataFrame({"day": days.tz_localize("UTC")}))
    with pytest.raises(ValueError, match=r"Column 'day' held dates .* now its type is"):
        encoder.transform(pd.DataFrame({"day": ["03/01/2024", "03/09/2024"]}))


def test_missing_columns_are_counted_and_compared_without_case():
    names = [f"x{i}" for i in range(12)]
    encoder = TableEncoder().fit(pd.DataFrame(np.eye(12), columns=names))
    upper = pd.DataFrame(np.eye(12), columns=[name.upper() for name in names])
    words = r"'x9' and 2 others\. 12 of them differ only in case\. The table has: .* and 2 others\."
    with pytest.raises(ValueError, match=words):
        encoder.transform(upper)
