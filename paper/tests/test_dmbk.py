"""DMBK: divergences against integration, the gradient by differences, and what is maximized."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import check_grad
from scipy.stats import norm
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import ConvergenceWarning

from paper.rivals import DMBK
from paper.rivals.dmbk import Gaussians, Projected, class_gaussians, value_and_gradient
from tests.conftest import make_problem


@pytest.fixture
def rng():
    return np.random.RandomState(0)


def random_gaussians(rng, n_classes, n_features):
    roots = rng.normal(size=(n_classes, n_features, 2 * n_features))
    covariances = roots @ roots.transpose(0, 2, 1) / (2 * n_features)
    return Gaussians(rng.normal(size=(n_classes, n_features)), covariances)


def matrix_of(learner):
    return learner.components_.T @ learner.components_


def divergences(L, classes):
    return Projected.of(L, classes).divergences


@pytest.mark.parametrize(("shift", "ratio"), [(0.0, 0.5), (1.0, 1.0), (2.5, 3.0), (-0.7, 1.6)])
def test_divergences_are_the_integrals_in_one_dimension(shift, ratio):
    first, second = norm(0.3, 0.8), norm(0.3 + shift, 0.8 * ratio)
    classes = Gaussians(
        np.array([[first.mean()], [second.mean()]]), np.array([[[first.var()]], [[second.var()]]])
    )

    def integral(p, q):
        return quad(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)), -20, 20)[0]

    expected = [[0, integral(first, second)], [integral(second, first), 0]]
    np.testing.assert_allclose(divergences(np.eye(1), classes), expected, atol=1e-7)


def test_divergences_after_a_projection_are_those_of_the_projected_examples(rng):
    """Projecting to one dimension and integrating is the same as the closed form with L."""
    classes, L = random_gaussians(rng, 3, 4), rng.normal(size=(1, 4))
    one_dimensional = Gaussians(classes.means @ L.T, L @ classes.covariances @ L.T)
    np.testing.assert_allclose(divergences(L, classes), divergences(np.eye(1), one_dimensional))


@pytest.mark.parametrize("balance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize(("n_classes", "n_components"), [(2, 1), (2, 3), (4, 2)])
def test_gradient_by_differences(rng, n_classes, n_components, balance):
    classes, L = random_gaussians(rng, n_classes, 5), rng.normal(size=(n_components, 5))

    def at(point):
        return value_and_gradient(point.reshape(n_components, 5), classes, balance)

    error = check_grad(lambda p: at(p)[0], lambda p: at(p)[1].ravel(), L.ravel())
    assert error < 1e-5 * max(1.0, np.abs(at(L.ravel())[1]).max())


def test_value_is_the_mean_of_logarithms(rng):
    classes, L = random_gaussians(rng, 3, 4), rng.normal(size=(2, 4))
    found = divergences(L, classes)
    pairs = [found[i, j] for i in range(3) for j in range(3) if i != j]
    normalized = np.array(pairs) / np.sum(pairs)
    value, _ = value_and_gradient(L, classes, 1.0)
    assert np.exp(value) == pytest.approx(np.prod(normalized) ** (1 / 6))
    value, _ = value_and_gradient(L, classes, 0.0)
    assert np.exp(value) == pytest.approx(np.prod(pairs) ** (1 / 6))


def test_attributes_belong_to_the_components():
    X, y = make_problem(0, 90, 5, 3)
    dmbk = DMBK(n_components=2, balance=0.3).fit(X, y)
    classes = class_gaussians(X, y, "auto")
    np.testing.assert_allclose(dmbk.divergences_, divergences(dmbk.components_, classes))
    value, gradient = value_and_gradient(dmbk.components_, classes, 0.3)
    assert dmbk.objective_ == pytest.approx(value)
    assert np.abs(gradient).max() < 0.01
    S = dmbk.components_ @ classes.covariances.mean(axis=0) @ dmbk.components_.T
    np.testing.assert_allclose(S, np.eye(2), atol=1e-10)


def test_no_direction_is_better_in_the_plane():
    """One component of two features: the best of all angles is found, up to the tolerance."""
    X, y = make_problem(0, 120, 2, 2)
    X[y == y[0]] *= [1.0, 2.0]
    classes = class_gaussians(X, y, "auto")
    angles = np.linspace(0, np.pi, 2001)
    every = [np.array([[np.cos(a), np.sin(a)]]) for a in angles]
    best = max(value_and_gradient(L, classes, 0.5)[0] for L in every)
    assert DMBK(n_components=1).fit(X, y).objective_ == pytest.approx(best, abs=1e-4)


def test_the_near_pair_of_classes_is_not_neglected(rng):
    """Two classes that are near each other in x1, a third one far away in x0.

    One dimension is left: by the sum of divergences it is x0, where the near pair is one class;
    the geometric mean keeps all three apart.
    """
    X = rng.normal(size=(900, 2))
    y = np.repeat([0, 1, 2], 300)
    X[y == 1, 1] += 4
    X[y == 2, 0] += 12
    L = DMBK(n_components=1, balance=0.5).fit(X, y).components_[0]
    z = X @ L / np.linalg.norm(L)
    gaps = [abs(z[y == a].mean() - z[y == b].mean()) for a, b in [(0, 1), (0, 2), (1, 2)]]
    assert min(gaps) > 2


def test_full_rank_is_the_whitening_by_the_mean_covariance():
    X, y = make_problem(0, 80, 4, 2)
    dmbk = DMBK(n_components=None, shrinkage=0.2).fit(X, y)
    classes = class_gaussians(X, y, 0.2)
    expected = np.linalg.inv(classes.covariances.mean(axis=0))
    np.testing.assert_allclose(matrix_of(dmbk), expected)
    assert dmbk.n_iter_ == 1


def test_shrinkage_is_that_of_scikit_learn():
    X, y = make_problem(0, 40, 12, 2)
    classes = class_gaussians(X, y, "auto")
    for c, label in enumerate(np.unique(y)):
        expected = LedoitWolf().fit(X[y == label])
        np.testing.assert_allclose(classes.means[c], expected.location_)
        np.testing.assert_allclose(classes.covariances[c], expected.covariance_)


def test_classes_that_are_equal_do_not_prevent_the_others_from_being_separated(rng):
    X = rng.normal(size=(60, 3))
    rows = np.vstack([X, X, X + np.array([0, 5, 0])])
    y = np.repeat([0, 1, 2], 60)
    dmbk = DMBK(n_components=1).fit(rows, y)
    assert dmbk.divergences_[0, 1] < 1e-12
    L = dmbk.components_[0]
    assert abs(L[1]) > 0.9 * np.linalg.norm(L)
    equal = DMBK(n_components=1, balance=0.0).fit(np.full((11, 2), -0.29139398), np.arange(11) % 2)
    assert np.isfinite(equal.components_).all()


def test_a_class_with_one_example_has_the_covariance_of_the_others(rng):
    X, y = rng.normal(size=(31, 3)), np.repeat([0, 1], [30, 1])
    classes = class_gaussians(X, y, 0.1)
    np.testing.assert_array_equal(classes.covariances[1], classes.covariances[0])
    assert np.isfinite(DMBK(n_components=1).fit(X, y).components_).all()


@pytest.mark.parametrize(
    ("given", "n_features", "expected"),
    [(0.5, 5, 3), (0.1, 4, 1), (1.0, 4, 4), (None, 4, 4), (2, 4, 2), (1, 4, 1)],
)
def test_number_of_components(given, n_features, expected):
    X, y = make_problem(0, 40, n_features, 2)
    assert DMBK(n_components=given).fit(X, y).components_.shape == (expected, n_features)


def test_stopping_early_is_told():
    X, y = make_problem(0, 60, 8, 3)
    with pytest.warns(ConvergenceWarning, match="DMBK stopped after max_iter=1 iterations"):
        DMBK(n_components=2, max_iter=1, tol=1e-9).fit(X, y)


def test_rows_features_and_names_of_classes_do_not_matter(rng):
    X, y = make_problem(0, 80, 5, 3)
    M = matrix_of(DMBK(n_components=2, tol=1e-9, max_iter=500).fit(X, y))
    rows, columns = rng.permutation(80), rng.permutation(5)
    names = np.array(["z", "a", "m"])[np.unique(y, return_inverse=True)[1]]
    other = DMBK(n_components=2, tol=1e-9, max_iter=500).fit(X[rows][:, columns], names[rows])
    np.testing.assert_allclose(
        matrix_of(other), M[np.ix_(columns, columns)], atol=1e-4 * np.abs(M).max()
    )
