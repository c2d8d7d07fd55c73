import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import sqrtm

from raremetric import BalancedDiscriminant
from tests.conftest import make_problem


def shrunk_covariance(X, y, shrinkage):
    S = np.mean([np.cov(X[y == c], rowvar=False, bias=True) for c in np.unique(y)], axis=0)
    return (1 - shrinkage) * S + shrinkage * np.trace(S) / len(S) * np.eye(len(S))


@given(
    seed=st.integers(0, 1000),
    shrinkage=st.floats(0.01, 1.0),
    stretch=st.floats(1.0, 10.0),
)
@settings(max_examples=30, deadline=None)
def test_two_classes_have_the_distance_of_the_formula(seed, shrinkage, stretch):
    X, y = make_problem(seed, n_samples=40)
    metric = BalancedDiscriminant(shrinkage, stretch).fit(X, y)
    S = shrunk_covariance(X, y, shrinkage)
    W = np.linalg.inv(np.real(sqrtm(S)))
    u = W @ (X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    u /= np.linalg.norm(u)
    delta = X[0] - X[1]
    squared = np.sum((W @ delta) ** 2) + (stretch**2 - 1) * (u @ W @ delta) ** 2
    assert metric.pair_distance(X[np.newaxis, :2])[0] == pytest.approx(np.sqrt(squared), rel=1e-6)
    np.testing.assert_allclose(metric.covariance_, S, atol=1e-12)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_more_classes_are_stretched_along_all_their_means(n_classes):
    X, y = make_problem(1, n_samples=80, n_features=6, n_classes=n_classes)
    W = np.linalg.inv(np.real(sqrtm(shrunk_covariance(X, y, 0.1))))
    means = np.stack([X[y == c].mean(axis=0) for c in range(n_classes)]) @ W
    U, _ = np.linalg.qr((means[1:] - means[0]).T)  # (6, n_classes - 1)
    P = U @ U.T
    M = W @ (np.eye(6) - P + 4.0**2 * P) @ W
    metric = BalancedDiscriminant(0.1, 4.0).fit(X, y)
    np.testing.assert_allclose(metric.get_mahalanobis_matrix(), M, rtol=1e-6, atol=1e-9)


@given(seed=st.integers(0, 1000), times=st.integers(2, 5), label=st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_repeating_the_rows_of_a_class_does_not_change_the_metric(seed, times, label):
    X, y = make_problem(seed, n_samples=30, n_classes=3)
    rows = np.concatenate([np.arange(30), *[np.flatnonzero(y == label)] * (times - 1)])
    once = BalancedDiscriminant().fit(X, y).components_
    often = BalancedDiscriminant().fit(X[rows], y[rows]).components_
    np.testing.assert_allclose(once, often, atol=1e-8)


def test_full_shrinkage_gives_a_stretched_euclidean_distance(problem):
    X, y = problem
    M = BalancedDiscriminant(1.0, 1.0).fit(X, y).get_mahalanobis_matrix()
    np.testing.assert_allclose(M, M[0, 0] * np.eye(3), atol=1e-12)
    L = BalancedDiscriminant(1.0, 5.0).fit(X, y).components_
    delta = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    assert np.linalg.norm(L @ delta) / np.linalg.norm(delta) == pytest.approx(5 * np.sqrt(M[0, 0]))


def test_constant_columns_and_equal_rows(problem):
    X, y = problem
    wide = np.column_stack([X, np.full(len(X), 3.0)])
    L = BalancedDiscriminant().fit(wide, y).components_
    assert np.isfinite(L).all()
    np.testing.assert_allclose(L[3, :3], 0, atol=1e-9)
    np.testing.assert_array_equal(
        BalancedDiscriminant().fit(np.ones((6, 2)), [0, 1] * 3).components_, np.eye(2)
    )


def test_a_class_with_one_example_has_no_covariance():
    X, y = make_problem(0, n_samples=20)
    X, y = np.vstack([X[y == 0], X[:1]]), np.append(np.zeros(int(np.sum(y == 0)), int), 1)
    metric = BalancedDiscriminant(0.1, 1.0).fit(X, y)
    S = np.cov(X[:-1], rowvar=False, bias=True) / 2
    expected = 0.9 * S + 0.1 * np.trace(S) / 3 * np.eye(3)
    np.testing.assert_allclose(metric.covariance_, expected, atol=1e-12)


def test_weights_are_repetitions():
    X, y = make_problem(2, n_samples=40, n_classes=3)
    weights = np.arange(40) % 4
    repeated = np.repeat(np.arange(40), weights)
    weighted = BalancedDiscriminant().fit(X, y, sample_weight=weights)
    listed = BalancedDiscriminant().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(weighted.components_, listed.components_, atol=1e-9)
