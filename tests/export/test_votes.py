"""Exported votes of neighbors decide as in Python."""

import itertools

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import GMML, BalancedDiscriminant, Euclidean, KernelLandmarks, MetricKNNClassifier
from raremetric.export import to_onnx
from raremetric.export.maps import nearest
from raremetric.neighbors import NeighborSearch
from raremetric.voting import READINGS
from tests.conftest import make_problem
from tests.export.conftest import assert_same, run, run_tensor

VOTES = ("majority", "score")


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("n_neighbors", [1, 3, 4, "auto"])
@pytest.mark.parametrize("labels", [np.array([0, 1]), np.array(["common", "rare"])])
def test_two_classes(vote, n_neighbors, labels):
    X, y = make_problem(7, n_samples=120, n_features=5)
    model = make_pipeline(
        StandardScaler(), MetricKNNClassifier(GMML(), n_neighbors, vote=vote, random_state=0)
    )
    model.fit(X[:80], labels[y[:80]])
    label, _ = assert_same(model, X[80:])
    assert len(set(label.tolist())) == 2


@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("n_neighbors", [2, 7])
def test_three_classes(vote, n_neighbors):
    X, y = make_problem(3, n_samples=120, n_classes=3)
    model = MetricKNNClassifier(GMML(), n_neighbors, vote=vote, random_state=0).fit(X[:60], y[:60])
    label, _ = assert_same(model, X[60:])
    assert len(set(label.tolist())) == 3


@pytest.mark.parametrize("vote", VOTES)
def test_weights(vote):
    X, y = make_problem(5, n_samples=120, n_classes=3)
    weights = np.arange(60) % 7 + 0.25 * (np.arange(60) % 3)  # some are zero
    model = MetricKNNClassifier(BalancedDiscriminant(), 5, vote=vote, random_state=0)
    assert_same(model.fit(X[:60], y[:60], sample_weight=weights), X[60:])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("reading", READINGS, ids=str)
def test_every_reading(reading, n_classes):
    X, y = make_problem(2, n_samples=150, n_classes=n_classes)
    rare = np.flatnonzero(y == 0)[12:]  # most readings ask for more neighbors than class 0 has
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    model = MetricKNNClassifier(Euclidean(), vote="score", random_state=0).fit(X[::2], y[::2])
    model._vote = model._vote._replace(reading=reading)
    assert_same(model, np.vstack([X, 50 * X[:5]]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("vote", VOTES)
@pytest.mark.parametrize("n_neighbors", [1, 4, 6])
def test_ties_on_a_grid(n_classes, vote, n_neighbors):
    """Up to 30 examples are equally near, and are of several classes."""
    grid = np.array(list(itertools.product(range(4), repeat=2)), dtype=float)
    X = np.tile(grid, (30, 1))
    y = np.random.default_rng(0).integers(n_classes, size=len(X))
    model = MetricKNNClassifier(Euclidean(), n_neighbors, vote=vote, random_state=0)
    assert_same(model.fit(X, y), np.vstack([grid, grid + 0.5, grid + np.array([0.0, 0.5])]))


@pytest.mark.parametrize("options", [{"vote": "adjusted"}, {"multiclass": "one_vs_rest"}])
def test_votes_that_cannot_be_exported(options):
    X, y = make_problem(3, n_samples=60, n_classes=3)
    with pytest.raises(ValueError, match=r"Adjusted votes, one metric per class, .* cannot be"):
        to_onnx(MetricKNNClassifier(GMML(), random_state=0, **options).fit(X, y))


def test_a_pipeline_as_learner_and_a_frozen_one():
    X, y = make_problem(1, n_samples=80)
    learner = make_pipeline(StandardScaler(), KernelLandmarks(), BalancedDiscriminant())
    assert_same(MetricKNNClassifier(learner, vote="score", random_state=0).fit(X, y), X)
    frozen = FrozenEstimator(learner.fit(X, y))
    weights = np.arange(80) % 3 > 0  # ones and zeros: rows are left out, the others vote equally
    assert_same(MetricKNNClassifier(frozen).fit(X, y, sample_weight=weights), X)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("offset", "scale"), [(0, 1), (1e8, 1), (1e3, 1e-9), (0, 1e29)])
def test_distances_without_cancellation(exact, offset, scale):
    """Far from the origin, ‖q‖² + ‖z‖² − 2qᵀz alone would have no correct digit."""
    rng = np.random.default_rng(0)
    Z, queries = (offset + scale * rng.normal(size=(n, 3)) for n in (50, 20))
    queries[:5] = Z[:5]
    queries[5] = 1e4 * queries[5]
    found = run_tensor(lambda X: nearest(X, Z, 7, exact=exact)[0], queries)
    expected = NeighborSearch(Z).nearest(queries, 7).distances
    np.testing.assert_allclose(found, expected, rtol=1e-15 if exact else 1e-8)


def test_rows_whose_squares_overflow():
    """They are equally far from all classes, as other rows in the same direction almost are."""
    X, y = make_problem(1, n_samples=40)
    model = MetricKNNClassifier(Euclidean(), vote="score", random_state=0).fit(X, y)
    model._vote = model._vote._replace(reading=READINGS[0])
    _, p = run(model, np.vstack([1e200 * X[:5], 1e29 * X[:5]]))
    np.testing.assert_allclose(p[:5], model.predict_proba(1e29 * X[:5]), rtol=1e-12)
    np.testing.assert_allclose(p[5:], p[:5], rtol=1e-12)
