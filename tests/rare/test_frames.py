"""RareClassifier on what people have: data frames, holes, text, sparse matrices."""

import logging

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.preprocessing import OneHotEncoder

from raremetric import IML, BoostedLeaves, KernelLandmarks, RareClassifier, TableEncoder
from raremetric.explain import column_contributions
from tests.rare.conftest import SOON, rare_problem

pytestmark = pytest.mark.usefixtures("few_candidates")


def make_frame(n_samples=120, seed=0):
    """All types of columns, with holes, and labels that are text."""
    X, y = rare_problem(seed, n_samples, n_samples // 4)
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(X, columns=["size", "weight", "age"])
    frame.loc[::9, "age"] = np.nan
    frame["city"] = rng.choice(["Rome", "Oslo", None], n_samples)
    frame["color"] = pd.Categorical(np.where(y == 1, "red", rng.choice(["red", "blue"], n_samples)))
    frame["paid"] = pd.Timestamp("2024-03-01") + pd.to_timedelta(
        rng.integers(0, 99, n_samples), "D"
    )
    frame["new"] = rng.random(n_samples) < 0.5
    frame["visits"] = pd.array(rng.integers(0, 9, n_samples), dtype="Int64")
    frame.loc[::7, "visits"] = pd.NA
    return frame, np.where(y == 1, "fraud", "fine")


def fit(X, y, **parameters):
    return RareClassifier(SOON, random_state=0, **parameters).fit(X, y)


@pytest.fixture(scope="module")
def case():
    return make_frame()


def test_a_frame_of_any_library_is_encoded_as_by_table_encoder(case):
    frame, y = case
    encoder = TableEncoder().fit(frame)
    expected = fit(encoder.transform(frame), y)
    p = expected.predict_proba(encoder.transform(frame))
    for table in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        model = fit(table, y)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert model.n_features_in_ == frame.shape[1]
        assert isinstance(model.encoder_, TableEncoder)
        np.testing.assert_array_equal(model.predict_proba(table), p)
        np.testing.assert_array_equal(model.predict_proba(frame), p)
        assert (
            model.kneighbors(table, 1)[1].tolist()
            == expected.kneighbors(encoder.transform(frame), 1)[1].tolist()
        )


def test_columns_are_found_by_name(case):
    frame, y = case
    model = fit(frame, y)
    other = frame[frame.columns[::-1]].assign(more="x")
    np.testing.assert_array_equal(model.predict_proba(other), model.predict_proba(frame))
    with pytest.raises(ValueError, match=r"1 of the 8 columns .* are missing: 'age'\."):
        model.predict(frame.drop(columns="age"))
    with pytest.warns(UserWarning, match="X does not have valid feature names, but RareClassifier"):
        p = model.predict_proba(frame.to_numpy(dtype=object))
    np.testing.assert_array_equal(p, model.predict_proba(frame))
    new = frame.assign(city="Paris", age=np.nan, paid=pd.NaT)
    assert np.isfinite(model.predict_proba(new)).all()


def test_arrays_with_holes_and_text():
    X, y = rare_problem()
    X[::5, 1] = np.nan
    model, named = fit(X, y), fit(pd.DataFrame(X, columns=[*"abc"]), y)
    assert not hasattr(model, "feature_names_in_")
    assert model.encoder_.get_feature_names_out().tolist() == ["x0", "x1", "x1 missing", "x2"]
    np.testing.assert_array_equal(
        model.predict_proba(X), named.predict_proba(pd.DataFrame(X, columns=[*"abc"]))
    )
    objects = X.astype(object)
    objects[::5, 1] = None
    np.testing.assert_array_equal(fit(objects, y).predict_proba(objects), model.predict_proba(X))
    with pytest.raises(ValueError, match="X has 2 features, but RareClassifier is expecting 3"):
        model.predict(X[:, :2])


def test_numbers_without_holes_are_taken_as_they_are():
    X, y = rare_problem()
    model = fit(X, y)
    assert model.encoder_ is None
    for same in (X.tolist(), X.astype(object), pd.DataFrame(X), sparse.csr_array(X)):
        np.testing.assert_array_equal(fit(same, y).predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match=r"contains NaN.*TableEncoder"):
        model.predict(np.where(X > 1, np.nan, X))


def test_the_encoder_can_be_chosen_or_switched_off(case):
    frame, y = case
    with pytest.warns(UserWarning, match="more than 1, and is encoded by parts of its text"):
        few = fit(frame, y, encoder=TableEncoder(max_levels=1))
    assert few.encoder_.kinds_[3] == "ngrams"
    given = ColumnTransformer([("city", OneHotEncoder(), ["city"])], remainder="drop")
    model = fit(frame, y, encoder=given)
    assert model.n_features_in_ == 8
    assert model.metric_.n_features_in_ == 3
    assert not hasattr(given, "transformers_")
    model.predict(frame[frame.columns[::-1]])
    numbers = frame[["size", "weight"]]
    off = fit(numbers, y, encoder=None)
    assert off.encoder_ is None
    np.testing.assert_array_equal(
        off.predict_proba(numbers), fit(numbers.to_numpy(), y).predict_proba(numbers.to_numpy())
    )
    with pytest.raises(ValueError, match=r"\(as in column 'age'\).* put raremetric.TableEncoder"):
        fit(frame, y, encoder=None)
    with pytest.raises(ValueError, match=r"encoder must be 'auto', None or .*; got 'onehot'"):
        fit(frame, y, encoder="onehot")
    with pytest.raises(ValueError, match="encoder=None switches it off"):
        fit(frame, y, encoder=None, categorical_features=["age"])


def test_codes_of_categories():
    X, y = rare_problem()
    X[:, 0] = np.arange(len(X)) % 3
    model = fit(X, y, categorical_features=[0])
    assert model.encoder_.get_feature_names_out()[:3].tolist() == ["x0=0", "x0=1", "x0=2"]
    assert np.isfinite(model.predict_proba(X)).all()


def test_more_than_two_classes(case):
    frame, _ = case
    y = np.array(["a", "b", "c"])[np.arange(len(frame)) % 3]
    model = fit(frame, y)
    p = model.predict_proba(frame)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(frame)), p)
    rows = model.encoder_.transform(frame)
    assert model.estimators_[0].predict_proba(rows).shape == (len(frame), 2)
    assert model.explain(frame[:1], label="b")


def test_logarithms_of_probabilities(fitted):
    model, X, _ = fitted
    log_p = model.predict_log_proba(X)
    # A probability close to 1 is rounded; its logarithm is not.
    np.testing.assert_allclose(np.exp(log_p), model.predict_proba(X), rtol=1e-9, atol=1e-15)
    far = np.full((1, 3), 1e9)
    assert np.isfinite(model.predict_log_proba(far)).all()


def test_tags_are_true():
    tags, strict = (RareClassifier(encoder=e).__sklearn_tags__().input_tags for e in ("auto", None))
    assert (tags.allow_nan, tags.string, tags.categorical, tags.sparse) == (True,) * 4
    assert (strict.allow_nan, strict.string, strict.categorical) == (False,) * 3


def test_progress_is_logged(caplog):
    X, y = rare_problem()
    with caplog.at_level(logging.INFO, logger="raremetric"):
        fit(X, y, verbose=1)
    lines = [record.getMessage() for record in caplog.records]
    assert 2 < len(lines) <= 11
    assert lines[-1].startswith("[RareClassifier]")


class TestStrictEstimators:
    """They take numbers, and say what to do with anything else."""

    @pytest.mark.parametrize("estimator", [IML(), KernelLandmarks()])
    def test_the_error_names_the_encoder(self, case, estimator):
        frame, y = case
        for X, column in ((frame, "age"), (frame[["size", "city"]], "city")):
            message = rf"^(could not|Input X contains).*\(as in column '{column}'\).*TableEncoder"
            with pytest.raises(ValueError, match=message):
                estimator.fit(X, y)
        with pytest.raises(TypeError, match=r"in column 'paid'.*TableEncoder"):
            estimator.fit(frame[["size", "paid"]], y)
        X = frame[["size", "weight"]].to_numpy()
        with pytest.raises(ValueError, match=r"^Input X contains infinity[^\n]*$") as error:
            estimator.fit(np.where(X > 1, np.inf, X), y)
        assert "TableEncoder" not in str(error.value)

    @pytest.mark.parametrize(
        "estimator", [IML(), KernelLandmarks(), BoostedLeaves(5, random_state=0)]
    )
    def test_sparse_rows_are_those_of_the_array(self, estimator):
        X, y = make_classification(60, random_state=0)
        X[np.abs(X) < 0.5] = 0
        dense = estimator.fit(X, y).transform(X)
        for kind in (sparse.csr_matrix, sparse.coo_array):
            np.testing.assert_array_equal(estimator.fit(kind(X), y).transform(kind(X)), dense)


def test_a_sparse_matrix_that_would_not_fit_into_memory():
    wide = sparse.random_array((2000, 100_000), density=1e-5, format="csr", random_state=0)
    message = r"shape \(2000, 100000\), which would take 1.5 GB .* at most 1 GB .*TruncatedSVD"
    with pytest.raises(ValueError, match=message):
        RareClassifier().fit(wide, np.arange(2000) % 2)


def test_explanations_are_about_the_columns_of_the_frame(case):
    frame, y = case
    model = fit(frame, y)
    found = column_contributions(model, frame[:2], frame, random_state=0)
    assert found.values.shape == (2, frame.shape[1])
    np.testing.assert_allclose(found.scores, model.decision_function(frame[:2]))
    np.testing.assert_allclose(found.values.sum(axis=1), found.scores - found.baseline)
    encoder = model.encoder_
    rows, groups = encoder.transform(frame), encoder.column_groups()
    same = column_contributions(model.without_encoder(), rows[:2], rows, groups, random_state=0)
    np.testing.assert_array_equal(found.values, same.values)
