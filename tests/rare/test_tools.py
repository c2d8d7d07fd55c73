"""What a data scientist calls: the tools of scikit-learn and others around RareClassifier."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline as make_resampling_pipeline
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from raremetric import IML, MetricKNNClassifier, RareClassifier, TableEncoder
from tests.rare.conftest import SOON, rare_problem
from tests.rare.test_frames import make_frame

pytestmark = pytest.mark.usefixtures("few_candidates")
FRAUD = make_scorer(f1_score, pos_label="fraud")


@pytest.fixture(scope="module")
def case():
    return make_frame()


def rare(**parameters):
    return RareClassifier(SOON, random_state=0, **parameters)


class TestInput:
    @pytest.mark.parametrize("labels", ["text", "bool", "category", "polars", "nullable"])
    def test_labels(self, case, labels):
        frame, y = case
        kinds = {
            "text": pd.Series(y),
            "bool": y == "fraud",
            "category": pd.Series(y, dtype="category"),
            "polars": pl.Series(y),
            "nullable": pd.Series(y == "fraud", dtype="Int64"),
        }
        model = rare().fit(frame, kinds[labels])
        called = model.predict(frame) == model.classes_[1]
        np.testing.assert_array_equal(called, rare().fit(frame, y).predict(frame) == "fraud")

    def test_column_transformers_with_dense_sparse_and_pandas_output(self, case):
        frame, y = case
        columns = ["city", "color"]
        found = []
        for sparse_output, output in ((False, "default"), (True, "default"), (False, "pandas")):
            encode = OneHotEncoder(sparse_output=sparse_output, handle_unknown="ignore")
            steps = [("text", encode, columns), ("numbers", "passthrough", ["size", "weight"])]
            together = ColumnTransformer(steps, sparse_threshold=1.0 if sparse_output else 0.0)
            model = make_pipeline(together.set_output(transform=output), rare()).fit(frame, y)
            found.append(model.predict_proba(frame))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        text = ColumnTransformer([("text", OneHotEncoder(), columns)])  # sparse, as by default
        plain = make_pipeline(text, MetricKNNClassifier(IML(tol=1e-3))).fit(frame, y)
        assert FRAUD(plain, frame, y) > 0.5


def test_copies_of_a_model(case):
    frame, y = case
    model = rare().fit(frame, y)
    p = model.predict_proba(frame)
    np.testing.assert_array_equal(clone(model).fit(frame, y).predict_proba(frame), p)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict_proba(frame), p)
    np.testing.assert_array_equal(FrozenEstimator(model).fit(frame, y).predict_proba(frame), p)
    with config_context(transform_output="pandas"):
        np.testing.assert_array_equal(rare(n_jobs=2).fit(frame, y).predict_proba(frame), p)


def test_search_and_validation(case):
    frame, y = case
    search = GridSearchCV(rare(), {"max_features": [2, None]}, scoring=FRAUD, cv=2).fit(frame, y)
    assert search.best_score_ > 0.5
    assert cross_val_score(rare(), frame, y, scoring=FRAUD, cv=2).min() > 0.5


def test_calibration_and_thresholds(case):
    frame, y = case
    model = FrozenEstimator(rare().fit(frame, y))
    for calibrated in (
        CalibratedClassifierCV(rare(), cv=2).fit(frame, y),
        CalibratedClassifierCV(model).fit(frame, y),
    ):
        np.testing.assert_allclose(calibrated.predict_proba(frame).sum(axis=1), 1)
    tuned = TunedThresholdClassifierCV(model, scoring=FRAUD, cv="prefit", refit=False)
    assert FRAUD(tuned.fit(frame, y), frame, y) >= FRAUD(model, frame, y)


def test_inspection(case):
    frame, y = case
    model = rare().fit(frame, y)
    options = {"scoring": FRAUD, "n_repeats": 1, "random_state": 0}
    assert permutation_importance(model, frame, y, **options).importances_mean.shape == (8,)
    for column in ("size", "color"):
        curve = partial_dependence(
            model,
            frame,
            [column],
            grid_resolution=4,
            method="brute",
            categorical_features=["color"],
        )
        assert np.isfinite(curve["average"]).all()


def test_kernel_explainer(case):
    shap = pytest.importorskip("shap")
    X, y = rare_problem()
    model = rare().fit(X, y)
    explainer = shap.KernelExplainer(lambda rows: model.predict_proba(rows)[:, 1], X[:10])
    values = explainer.shap_values(X[:1])
    p = model.predict_proba(X[:1])[0, 1]
    assert values.sum() + explainer.expected_value == pytest.approx(p)


def test_resampling_before_iml(case):
    frame, y = case
    model = make_resampling_pipeline(
        TableEncoder(), StandardScaler(), SMOTE(random_state=0), MetricKNNClassifier(IML(tol=1e-3))
    )
    assert FRAUD(model.fit(frame, y), frame, y) > 0.5


class TestRouting:
    """Weights and groups reach the classifier, and change it."""

    @pytest.fixture(autouse=True)
    def _routing(self):
        with config_context(enable_metadata_routing=True):
            yield

    @pytest.fixture
    def given(self, case):
        _, y = case
        weights = np.where(y == "fraud", 3.0, 1.0)
        return {"sample_weight": weights, "groups": np.arange(len(y)) // 3}

    def requested(self):
        return rare().set_fit_request(sample_weight=True, groups=True)

    def test_pipeline(self, case, given):
        frame, y = case
        direct = rare().fit(frame, y, **given).predict_proba(frame)
        piped = make_pipeline("passthrough", self.requested()).fit(frame, y, **given)
        np.testing.assert_array_equal(piped.predict_proba(frame), direct)
        assert (direct != rare().fit(frame, y).predict_proba(frame)).any()
        for name, values in given.items():
            alone = rare().fit(frame, y, **{name: values}).predict_proba(frame)
            assert (direct != alone).any()

    def test_search(self, case, given):
        frame, y = case
        scorer = make_scorer(f1_score, pos_label="fraud").set_score_request(sample_weight=True)
        search = GridSearchCV(
            self.requested(), {"max_features": [None]}, cv=GroupKFold(2), scoring=scorer
        ).fit(frame, y, **given)
        direct = rare(max_features=None).fit(frame, y, **given)
        np.testing.assert_array_equal(search.predict_proba(frame), direct.predict_proba(frame))

    def test_cross_validation(self, case, given):
        frame, y = case
        scorer = make_scorer(f1_score, pos_label="fraud").set_score_request(sample_weight=False)
        folds = StratifiedKFold(2)
        found = cross_val_score(self.requested(), frame, y, cv=folds, scoring=scorer, params=given)
        expected = []
        for train, test in folds.split(frame, y):
            own = {name: values[train] for name, values in given.items()}
            model = rare().fit(frame.iloc[train], y[train], **own)
            expected.append(FRAUD(model, frame.iloc[test], y[test]))
        assert found.tolist() == expected
