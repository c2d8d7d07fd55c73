"""Contributions sum to the distance; changes are those of the distance; figures show both."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA, KernelPCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler

from raremetric import GMML, IML, Euclidean, MetricKNNClassifier
from raremetric.explain import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
    plot_neighbors,
)
from tests.conftest import make_problem


def learner_of(L):
    """A fitted learner with a given map."""
    n_features = L.shape[1]
    learner = Euclidean().fit(
        np.eye(max(n_features, 2))[:, :n_features], [0, 1] + [1] * max(0, n_features - 2)
    )
    learner.components_ = L
    return learner


@given(
    seed=st.integers(0, 10**6),
    n_features=st.integers(1, 12),
    n_components=st.integers(1, 12),
    n_pairs=st.integers(1, 5),
)
@settings(max_examples=100, deadline=None)
def test_contributions_sum_to_the_squared_distance(seed, n_features, n_components, n_pairs):
    rng = np.random.default_rng(seed)
    learner = learner_of(rng.normal(size=(n_components, n_features)))
    a, b = rng.normal(size=(2, n_pairs, n_features))
    expected = learner.pair_distance(np.stack([a, b], axis=1)) ** 2
    parts = distance_contributions(learner, a, b)
    assert parts.shape == (n_pairs, n_features)
    np.testing.assert_allclose(parts.sum(axis=1), expected, rtol=1e-10, atol=1e-10)


def test_a_split_by_hand_with_a_negative_part():
    learner = learner_of(np.array([[1.0, 1.0]]))  # d² = (δ₁ + δ₂)²
    parts = distance_contributions(learner, [3.0, 0.0], [0.0, 1.0])  # δ = (3, -1), Mδ = (2, 2)
    assert parts.tolist() == [6.0, -2.0]


@pytest.mark.parametrize(
    "scaler", [StandardScaler(), RobustScaler(), QuantileTransformer(n_quantiles=10)]
)
def test_through_a_pipeline(scaler):
    X, y = make_problem(1, n_samples=40, n_features=4)
    model = make_pipeline(scaler, GMML()).fit(X, y)
    z = model.transform(X)
    parts = distance_contributions(model, X[0], X[1:])
    np.testing.assert_allclose(parts.sum(axis=1), ((z[0] - z[1:]) ** 2).sum(axis=1))
    assert np.all(parts[:, 2][X[1:, 2] == X[0, 2]] == 0)


def test_of_a_classifier_and_of_a_table_with_names():
    X, y = make_problem(2)
    table = pd.DataFrame(X, columns=["p", "q", "r"])
    model = make_pipeline(StandardScaler(), MetricKNNClassifier(GMML())).fit(table, y)
    distances, rows = model[-1].kneighbors(model[:-1].transform(table.iloc[:1]))
    parts = distance_contributions(model, X[0], X[rows[0]])
    np.testing.assert_allclose(parts.sum(axis=1), distances[0] ** 2, atol=1e-12)
    three = make_problem(0, n_classes=3)
    several = MetricKNNClassifier(GMML(), multiclass="one_vs_rest").fit(*three)
    with pytest.raises(AttributeError, match="one metric for each class; use one of metrics_"):
        distance_contributions(several, X[0], X[1])
    frozen = make_pipeline(FrozenEstimator(model[0]), FrozenEstimator(model[1]))
    np.testing.assert_array_equal(distance_contributions(frozen, X[0], X[rows[0]]), parts)


def test_weights_are_shares_of_the_diagonal():
    learner = learner_of(np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]]))
    np.testing.assert_allclose(feature_weights(learner), np.array([1, 4, 9]) / 14)
    M = learner.get_mahalanobis_matrix()
    np.testing.assert_allclose(feature_weights(learner), np.diag(M) / np.trace(M))
    assert feature_weights(learner_of(np.zeros((2, 2)))).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("groups", [None, [[0, 2], [1], [0, 1, 2]]])
def test_changes_are_those_of_the_distance_after_a_kernel_map(groups):
    X, y = make_problem(3, n_samples=30)
    model = make_pipeline(StandardScaler(), KernelPCA(5, kernel="rbf"), GMML()).fit(X, y)
    z, expected = model.transform(X[:2]), []
    for columns in groups or [[0], [1], [2]]:
        swapped = X[1].copy()
        swapped[columns] = X[0, columns]
        new = model.transform(swapped[np.newaxis])[0]
        expected.append(((z[0] - new) ** 2).sum() - ((z[0] - z[1]) ** 2).sum())
    changes = counterfactual_changes(model, X[0], X[1], groups=groups)
    np.testing.assert_allclose(changes, expected, atol=1e-12)
    assert not has_exact_split(model)
    with pytest.raises(ValueError, match=r"after KernelPCA.*Use counterfactual_changes"):
        distance_contributions(model, X[0], X[1])


@pytest.mark.parametrize(
    ("a", "b", "sentence"),
    [
        (np.zeros(2), np.zeros(3), "a has 2 features, but the model was fitted on 3"),
        (np.zeros((2, 3)), np.zeros((4, 3)), "a has 2 points and b has 4"),
        (np.zeros(3), [0.0, np.nan, 0.0], "b contains NaN"),
    ],
)
def test_points_that_do_not_fit(a, b, sentence):
    with pytest.raises(ValueError, match=sentence):
        distance_contributions(learner_of(np.eye(3)), a, b)


def test_models_without_a_metric():
    X, y = make_problem(0)
    with pytest.raises(TypeError, match="Cannot explain a KNeighborsClassifier"):
        feature_weights(KNeighborsClassifier().fit(X, y))
    with pytest.raises(TypeError, match="Cannot explain a LogisticRegression"):
        feature_weights(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y))
    with pytest.raises(ValueError, match="no exact split by features after PCA"):
        feature_weights(make_pipeline(PCA(2), IML()).fit(X, y))


def test_a_picture_of_the_neighbors():
    X, y = make_problem(4, n_features=5)
    model = MetricKNNClassifier(GMML()).fit(X, y)
    rows = model.kneighbors(X[:1], n_neighbors=3)[1][0]
    figure = plot_neighbors(model, X[0], X[rows], labels=["a$", "b", "c"], n_features=2)
    panels = figure.axes
    assert [panel.get_title() for panel in panels] == ["a$", "b", "c"]
    parts = distance_contributions(model, X[0], X[rows])
    for panel, row in zip(panels, parts, strict=True):
        widths = [bar.get_width() for bar in panel.patches]
        assert len(widths) == 3  # two features and the rest
        np.testing.assert_allclose(sum(widths), row.sum())
    assert panels[0].get_yticklabels()[-1].get_text() == "3 others"
    with pytest.raises(ValueError, match="labels has 1 entries for 3 neighbors"):
        plot_neighbors(model, X[0], X[rows], labels=["a"])
    with pytest.raises(ValueError, match="feature_names has 2 entries for 5 features"):
        plot_neighbors(model, X[0], X[rows], feature_names=["a", "b"])


def test_a_picture_says_when_there_is_no_split():
    X, y = make_problem(5, n_samples=30, n_features=5)
    model = make_pipeline(KernelPCA(4, kernel="rbf"), GMML()).fit(X, y)
    figure = plot_neighbors(model, X[0], X[1:3], n_features=2)
    assert "no exact split" in figure.get_supxlabel()
    assert len(figure.axes[0].patches) == 2


def test_without_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    message = "Drawing needs matplotlib, but it is not installed: pip install"
    with pytest.raises(ImportError, match=message):
        plot_neighbors(learner_of(np.eye(2)), [0, 0], [[1, 1]])
