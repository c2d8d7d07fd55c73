import numpy as np
import pytest

from raremetric.kernels import neighbors as kernels
from tests.conftest import make_problem
from tests.oracles.neighbors import dissimilar_lists, nearest

pytestmark = pytest.mark.kernels


def grid_points(seed, n_samples=20):
    """Points on a coarse grid: many duplicates and equal distances."""
    return np.random.RandomState(seed).randint(3, size=(n_samples, 2)).astype(float)


@pytest.mark.parametrize("seed", range(3))
def test_nearest_rows_breaks_ties_by_index_and_skips_itself(seed):
    X = grid_points(seed)
    own = np.arange(len(X))
    indices, distances = kernels.nearest_rows(X, np.ascontiguousarray(X.T), 4, own)
    expected = [nearest(X, i, range(len(X)), 4) for i in range(len(X))]
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_array_equal(distances, np.sum((X[:, None] - X[indices]) ** 2, axis=2))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nearest_of_other_classes(n_classes):
    X, y = make_problem(1, n_classes=n_classes)
    order = np.argsort(y, kind="stable")
    X, y = X[order], y[order]
    starts = np.searchsorted(y, np.arange(n_classes + 1))
    indices, _ = kernels.nearest_of_other_classes(X, starts, 3)
    np.testing.assert_array_equal(indices, dissimilar_lists(X, y, 3))


def test_lists_longer_than_the_other_classes_end_in_nothing():
    X = np.arange(4.0)[:, np.newaxis]
    indices, distances = kernels.nearest_of_other_classes(X, np.array([0, 3, 4]), 2)
    np.testing.assert_array_equal(indices, [[3, -1], [3, -1], [3, -1], [2, 1]])
    np.testing.assert_array_equal(distances[0], [9.0, np.inf])
