"""Transformers and metrics map rows to the same numbers in onnxruntime."""

import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import (
    GMML,
    IML,
    IMLCV,
    ITML,
    LMNN,
    BoostedLeaves,
    Euclidean,
    ImportanceWeights,
    KernelLandmarks,
)
from raremetric.export.maps import map_rows, normal_quantile
from raremetric.features.ranks import DifferingFeatures, NormalScores
from raremetric.rare.candidates import default_metrics
from raremetric.rare.fitting import fit_metrics
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.export.conftest import run, run_tensor

UNITS = [1, 10, 100, 0.1, 1]


@pytest.fixture(scope="module")
def data():
    X, y = make_problem(7, n_samples=120, n_features=5)
    X[:, 4] = np.round(X[:, 4])  # many equal values
    X[100:110] *= 100  # outside the range of the training rows
    X[110] = 1e6
    return X[:80] * UNITS, y[:80], X[80:] * UNITS


@pytest.mark.parametrize("learner", [Euclidean(), GMML(), ITML(), LMNN(), IML(n_components=2)])
def test_a_scaler_and_a_metric(data, learner):
    X, y, X_test = data
    model = make_pipeline(StandardScaler(), learner).fit(X, y)
    (projected,) = run(model, X_test)
    np.testing.assert_allclose(projected, model.transform(X_test), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "step",
    [
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        ImportanceWeights(random_state=0),
        DifferingFeatures(3),
        KernelLandmarks(),
        KernelLandmarks("rbf", n_landmarks=20, random_state=0),
        BoostedLeaves(20, random_state=0),
        NormalScores(n_quantiles=80),
        make_pipeline(NormalScores(n_quantiles=5), "passthrough", StandardScaler()),
        IMLCV(n_candidates=2, random_state=0),
    ],
    ids=lambda step: str(step).replace("\n", ""),
)
def test_steps(data, step):
    X, y, X_test = data
    step = step.fit(X / UNITS, y)
    found = run_tensor(lambda rows: map_rows(rows, step), X_test / UNITS)
    np.testing.assert_allclose(found, step.transform(X_test / UNITS), rtol=1e-10, atol=1e-10)


@pytest.fixture(scope="module")
def fitted(data):
    X, y, _ = data
    labels = check_labels(y, "the test")
    return [metric.pipeline for metric in fit_metrics(default_metrics(), X, labels, seed=0)]


@pytest.mark.parametrize("number", range(len(default_metrics())))
def test_every_metric_of_rare_classifier(data, fitted, number):
    X_test, pipeline = data[2], fitted[number]
    (projected,) = run(pipeline, X_test)
    expected = pipeline.transform(X_test)
    np.testing.assert_allclose(projected, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("learner", [Euclidean(), GMML()])
@pytest.mark.parametrize("step", [StandardScaler(), ImportanceWeights()])
def test_one_feature_in_double_precision(step, learner):
    X, y = make_problem(0, n_features=1)
    X = 3.7 * X + 11
    model = make_pipeline(step, learner).fit(X, y)
    np.testing.assert_allclose(run(model, X)[0], model.transform(X), rtol=1e-13)


def test_quantiles_of_the_normal_distribution():
    tail = np.geomspace(1e-7, 0.4, 200)
    p = np.concatenate([tail, np.linspace(0.1, 0.9, 401), 1 - tail])[:, np.newaxis]
    found = run_tensor(normal_quantile, p)
    np.testing.assert_allclose(found, ndtri(p), rtol=1e-13, atol=1e-15)
