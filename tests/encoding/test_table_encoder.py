"""TableEncoder: numbers, levels, levels that were not seen, and errors."""

import json

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

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
    with pytest.raises(ValueError, match=r"2 of the 4 columns .* are missing: 'age', 'color'"):
        encoder.transform(table.drop(columns=["age", "color"]))


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (pd.to_timedelta([1, 2], "h"), "contains dates or times"),
        ([1.0, np.inf], "infinite value in row 2"),
        ([np.nan, np.nan], "is empty"),
    ],
)
def test_refused_columns(column, words):
    with pytest.raises(ValueError, match=f"Column 'x' .*{words}"):
        TableEncoder().fit(pd.DataFrame({"x": column}))


def test_bad_input_and_parameters(table):
    with pytest.raises(TypeError, match=r"takes a pandas DataFrame .* got ndarray"):
        TableEncoder().fit(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="names that are strings"):
        TableEncoder().fit(pd.DataFrame(np.zeros((2, 2))))
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
