import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from raremetric import ImportanceWeights
from raremetric.features.importances import mean_importances
from raremetric.validation import check_labels
from tests.conftest import make_problem


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_the_root_of_a_balanced_forests_importances(n_classes):
    X, y = make_problem(0, n_samples=60, n_classes=n_classes)
    kept = (y != 1) | (np.arange(60) % 2 == 0)
    X, y = X[kept], y[kept]
    X[:, 0] *= 0.1  # the scale does not matter to a forest
    forest = RandomForestClassifier(
        400, class_weight="balanced", min_samples_leaf=2, random_state=5
    ).fit(X, y)
    assert np.ptp(forest.feature_importances_) > 0.05
    weights = ImportanceWeights(n_estimators=400, random_state=5).fit(X, y).weights_
    expected = np.sqrt(forest.feature_importances_)
    np.testing.assert_allclose(weights, expected / np.sqrt(np.mean(expected**2)), rtol=0.1)


def test_powers_and_threads(problem):
    X, y = problem
    root, full = (ImportanceWeights(p, random_state=5).fit(X, y).weights_ for p in (0.5, 1.0))
    assert np.mean(root**2) == pytest.approx(1)
    np.testing.assert_allclose(root**2 / full, (root**2 / full)[0])
    same = ImportanceWeights(0.0, random_state=5).fit(X, y)
    np.testing.assert_allclose(same.transform(X), X)
    threads = ImportanceWeights(random_state=5, n_jobs=2).fit(X, y).weights_
    np.testing.assert_array_equal(threads, root)


@pytest.mark.parametrize("size", [7.0, 1e29])
def test_constant_features(size):
    X = np.column_stack([np.full(20, size), np.arange(20.0)])
    forest = ImportanceWeights(n_estimators=5, random_state=0)
    np.testing.assert_allclose(forest.fit(X, np.arange(20) > 9).weights_, [0, np.sqrt(2)])
    # Without any split all weights are one.
    np.testing.assert_array_equal(forest.fit(np.ones((6, 2)), [0, 1] * 3).weights_, [1, 1])


@pytest.mark.parametrize("seed", [210, 376])
def test_a_useless_split_has_no_negative_importance(seed):
    """Rounding gave these noisy tables one of -1e-17, whose root is not a number."""
    rng = np.random.RandomState(seed)
    n_samples = rng.choice([40, 80])
    X = (rng.rand(n_samples, 30) < 0.05).astype(float)
    labels = check_labels(rng.randint(2, size=n_samples), "y")
    importances = mean_importances(X, labels, np.arange(20))
    assert importances.min() >= 0
    assert 0.5 < importances.sum() < 1.000001  # a tree that cannot split has none


def test_examples_count_by_their_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), np.arange(200) % 2
    half = np.arange(200) < 100  # the first feature separates one half, the second the other
    X[np.arange(200), np.where(half, 0, 1)] += 4 * y
    first, second = (
        ImportanceWeights(random_state=0).fit(X, y, sample_weight=weights).weights_
        for weights in (np.where(half, 10.0, 1.0), np.where(half, 1.0, 10.0))
    )
    assert first[0] > 1.2 * first[1]
    assert second[1] > 1.2 * second[0]
