import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.pipeline import make_pipeline

from raremetric import BalancedDiscriminant, ImportanceWeights, KernelLandmarks
from raremetric.features.importances import mean_importances
from raremetric.features.landmarks import even_quotas
from raremetric.validation import check_labels
from tests.conftest import make_problem

THEIRS = {"laplacian": (laplacian_kernel, "cityblock"), "rbf": (rbf_kernel, "sqeuclidean")}


@pytest.mark.parametrize("kernel", THEIRS)
@pytest.mark.parametrize("width", [0.5, 2.0])
def test_inner_products_are_the_kernel(kernel, width):
    X, _ = make_problem(0, n_samples=40)
    function, distance = THEIRS[kernel]
    w = width * np.median(pdist(X, distance))
    features = KernelLandmarks(kernel, width, n_components=40).fit(X)
    Z = features.transform(X)
    assert features.width_ == pytest.approx(w)
    np.testing.assert_allclose(Z @ Z.T, function(X, gamma=1 / w), atol=1e-6)
    new = make_problem(1, n_samples=10)[0]  # exact against a landmark, for any row
    np.testing.assert_allclose(
        features.transform(new) @ Z.T, function(new, X, gamma=1 / w), atol=1e-6
    )


def test_fewer_components_are_the_best_approximation_of_their_rank():
    X, _ = make_problem(0, n_samples=40)
    features = KernelLandmarks(n_components=5).fit(X)
    Z = features.transform(X)
    assert Z.shape == (40, 5)
    K = laplacian_kernel(X, gamma=1 / features.width_)
    lost = np.linalg.eigvalsh(K)[:-5]
    assert np.linalg.norm(Z @ Z.T - K) == pytest.approx(np.linalg.norm(lost))


def test_each_class_gives_as_many_landmarks_as_it_can():
    X, _ = make_problem(0, n_samples=60)
    y = np.repeat([0, 1, 2], [40, 16, 4])
    features = KernelLandmarks(n_landmarks=24, random_state=0).fit(X, y)
    rows = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in features.landmarks_]
    assert np.bincount(y[rows]).tolist() == [10, 10, 4]
    assert rows == sorted(set(rows))
    without = KernelLandmarks(n_landmarks=24, random_state=0).fit(X)
    assert without.landmarks_.shape == (24, 3)


@given(counts=st.lists(st.integers(1, 30), min_size=1, max_size=6), total=st.integers(1, 200))
@settings(max_examples=100, deadline=None)
def test_quotas_are_even(counts, total):
    quotas = even_quotas(np.array(counts), total)
    assert sum(quotas) == min(total, sum(counts))
    assert all(0 <= quota <= count for quota, count in zip(quotas, counts, strict=True))
    largest = max(quotas)  # who got less than others, beyond rounding, gave all it had
    assert all(q == c for q, c in zip(quotas, counts, strict=True) if q < largest - 1)


def test_the_same_seed_gives_the_same_landmarks():
    X, y = make_problem(0, n_samples=60)

    def landmarks(seed):
        return KernelLandmarks(n_landmarks=9, random_state=seed).fit(X, y).landmarks_

    np.testing.assert_array_equal(landmarks(3), landmarks(3))
    assert not np.array_equal(landmarks(3), landmarks(4))


def test_rows_on_one_spot():
    Z = KernelLandmarks().fit(np.ones((5, 2))).transform([[1.0, 1.0], [2.0, 1.0]])
    assert Z.shape == (2, 1)
    assert abs(Z[0, 0]) == pytest.approx(1)
    assert abs(Z[1, 0]) == pytest.approx(np.exp(-1))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "linear"}, r"kernel must be one of 'laplacian', 'rbf'; got 'linear'"),
        ({"width": 0.0}, r"width == 0.0, must be > 0"),
        ({"n_landmarks": 0}, r"n_landmarks == 0, must be >= 1"),
        ({"n_components": 0}, r"n_components == 0, must be >= 1"),
    ],
)
def test_parameters_of_the_kernel_map(parameters, message, problem):
    with pytest.raises(ValueError, match=message):
        KernelLandmarks(**parameters).fit(*problem)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_are_a_power_of_a_balanced_forests_importances(n_classes):
    X, y = make_problem(0, n_samples=60, n_classes=n_classes)
    kept = (y != 1) | (np.arange(60) % 2 == 0)
    X, y = X[kept], y[kept]
    X[:, 0] *= 0.1  # the scale means nothing to a forest
    forest = RandomForestClassifier(
        1000, class_weight="balanced", min_samples_leaf=2, random_state=5
    ).fit(X, y)
    assert np.ptp(forest.feature_importances_) > 0.05
    for power in (0.5, 1.0):
        settings = {"n_estimators": 1000, "random_state": 5}
        weights = ImportanceWeights(power, **settings).fit(X, y).weights_
        expected = forest.feature_importances_**power
        np.testing.assert_allclose(weights, expected / np.sqrt(np.mean(expected**2)), rtol=0.1)
        assert np.mean(weights**2) == pytest.approx(1)
        threads = ImportanceWeights(power, n_jobs=2, **settings).fit(X, y).weights_
        np.testing.assert_array_equal(threads, weights)
    same = ImportanceWeights(0.0, random_state=5).fit(X, y)
    np.testing.assert_allclose(same.transform(X), X)


def test_a_constant_feature_has_no_weight_and_a_forest_without_splits_no_opinion():
    X, y = make_problem(0, n_samples=40)
    X[:, 1] = 7.0
    weights = ImportanceWeights(random_state=0).fit(X, y).weights_
    assert weights[1] == 0
    np.testing.assert_array_equal(
        ImportanceWeights(random_state=0).fit(np.ones((6, 2)), [0, 1] * 3).weights_, [1, 1]
    )


def test_names_go_through_both():
    X, y = make_problem(0, n_samples=40)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    steps = make_pipeline(
        ImportanceWeights(random_state=0), KernelLandmarks(n_components=2), BalancedDiscriminant()
    ).set_output(transform="pandas")
    assert list(steps.fit_transform(table, y).columns) == [
        "balanceddiscriminant0",
        "balanceddiscriminant1",
    ]
    assert steps[0].get_feature_names_out().tolist() == ["a", "b", "c"]
    assert list(steps[1].get_feature_names_out()) == ["kernellandmarks0", "kernellandmarks1"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"power": -1.0}, r"power == -1.0, must be >= 0"),
        ({"n_estimators": 0}, r"n_estimators == 0, must be >= 1"),
    ],
)
def test_parameters_of_the_weights(parameters, message, problem):
    with pytest.raises(ValueError, match=message):
        ImportanceWeights(**parameters).fit(*problem)


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
