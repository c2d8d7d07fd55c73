"""Exported models say the same in onnxruntime."""

import sys

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from raremetric import GMML, IML, LMNN, Euclidean, MetricKNNClassifier
from raremetric.export import to_onnx
from tests.conftest import make_problem

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("skl2onnx")


def run(model, X):
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    return session.run(None, {"X": X})


def names(model):
    session = onnxruntime.InferenceSession(to_onnx(model), providers=["CPUExecutionProvider"])
    return [output.name for output in session.get_outputs()]


@pytest.fixture
def data():
    X, y = make_problem(7, n_samples=120, n_features=5)
    return X[:80] * [1, 10, 100, 0.1, 1], y[:80], X[80:] * [1, 10, 100, 0.1, 1]


@pytest.mark.parametrize("learner", [Euclidean(), GMML(), LMNN(), IML(n_components=2)])
@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler()])
def test_a_scaler_and_a_metric(data, learner, scaler):
    X, y, X_test = data
    model = make_pipeline(scaler, learner).fit(X, y)
    (projected,) = run(model, X_test)
    assert names(model) == ["variable"]
    np.testing.assert_allclose(projected, model.transform(X_test), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("n_neighbors", [1, 3, 4])
@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array(["common", "rare"])])
def test_scaler_metric_and_neighbors(data, n_neighbors, labels):
    X, y, X_test = data
    model = make_pipeline(StandardScaler(), MetricKNNClassifier(GMML(), n_neighbors))
    model.fit(X, labels[y])
    found, shares = run(model, X_test)
    assert names(model) == ["label", "probabilities"]
    np.testing.assert_allclose(shares, model.predict_proba(X_test), atol=1e-5)
    assert found.tolist() == model.predict(X_test).tolist()
    assert len(set(found.tolist())) == 2


def test_three_classes_and_no_scaler():
    X, y = make_problem(3, n_samples=90, n_classes=3)
    model = MetricKNNClassifier(Euclidean()).fit(X[:60], y[:60])
    found, shares = run(model, X[60:])
    np.testing.assert_allclose(shares, model.predict_proba(X[60:]), atol=1e-5)
    assert found.tolist() == model.predict(X[60:]).tolist()


def test_what_cannot_be_exported():
    X, y = make_problem(0, n_classes=3)
    model = MetricKNNClassifier(GMML(), multiclass="one_vs_rest").fit(X, y)
    with pytest.raises(ValueError, match="one metric for each class cannot be exported"):
        to_onnx(model)


def test_only_the_majority_is_exported():
    X, y = make_problem(1, n_samples=40)
    model = MetricKNNClassifier(GMML(), vote="score", random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="this classifier has vote='score'"):
        to_onnx(model)


def test_only_unweighted_votes_are_exported():
    X, y = make_problem(1, n_samples=40)
    model = MetricKNNClassifier(Euclidean()).fit(X, y, sample_weight=np.arange(1.0, 41.0))
    with pytest.raises(ValueError, match="sample weights cannot be exported"):
        to_onnx(model)


def test_a_frozen_metric():
    X, y = make_problem(1, n_samples=40)
    frozen = FrozenEstimator(GMML().fit(X, y))
    weights = np.arange(40) % 3 > 0  # ones and zeros: rows are left out, the others vote equally
    model = MetricKNNClassifier(frozen).fit(X, y, sample_weight=weights)
    found, _ = run(model, X)
    assert found.tolist() == model.predict(X).tolist()


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "skl2onnx", None)
    with pytest.raises(
        ImportError, match=r'ONNX export needs skl2onnx.*pip install "raremetric\[onnx\]"'
    ):
        to_onnx(Euclidean().fit(*make_problem(0)))
