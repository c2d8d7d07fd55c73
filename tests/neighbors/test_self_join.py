import numpy as np
import pytest

from raremetric.neighbors import ClassSearch
from raremetric.neighbors import self_join as kernels
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.neighbors import dissimilar_lists, similar_lists

pytestmark = pytest.mark.kernels


def grouped(X, y):
    """Rows grouped by class, and where each class starts."""
    order = np.argsort(y, kind="stable")
    return X[order], y[order], np.searchsorted(y[order], np.arange(y.max() + 2))


def search(Z, starts, k, within, part=0, n_parts=1):
    rows = (Z - Z.mean(axis=0)).astype(np.float32)
    return kernels.class_neighbors(Z, rows, starts, k, within, True, part, n_parts)


def grid_points(seed, n_samples=40):
    """Points on a coarse grid: many duplicates and equal distances."""
    rng = np.random.RandomState(seed)
    return rng.randint(3, size=(n_samples, 2)).astype(float), np.repeat([0, 1], n_samples // 2)


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_ties_go_to_the_lowest_index_and_no_row_is_its_own_neighbor(seed, within):
    Z, y, starts = grouped(*grid_points(seed))
    indices, distances = search(Z, starts, 4, within)
    oracle = similar_lists if within else dissimilar_lists
    np.testing.assert_array_equal(indices, oracle(Z, y, 4))
    np.testing.assert_array_equal(distances, np.sum((Z[:, None] - Z[indices]) ** 2, axis=2))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_any_scale_far_from_the_origin(n_classes, scale):
    X, y = make_problem(1, n_samples=60, n_features=5, n_classes=n_classes)
    Z, y, starts = grouped(scale * (X + 1000), y)
    np.testing.assert_array_equal(search(Z, starts, 3, False)[0], dissimilar_lists(Z, y, 3))
    np.testing.assert_array_equal(search(Z, starts, 3, True)[0], similar_lists(Z, y, 3))


@pytest.mark.parametrize("exponent", [-498, 498])
def test_searches_of_a_fit_where_squares_overflow_in_single_precision(exponent):
    X, y = make_problem(1, n_samples=40, n_features=3)
    labels = check_labels(y, "A test")
    plain, scaled = ClassSearch(X, labels), ClassSearch(np.ldexp(X, exponent), labels)
    np.testing.assert_array_equal(scaled.within(3), plain.within(3))
    np.testing.assert_array_equal(scaled.across(3), plain.across(3))


@pytest.mark.parametrize("within", [True, False])
def test_estimates_alone_find_the_same_neighbors_where_none_are_equally_near(within):
    Z, _, starts = grouped(*make_problem(3, n_samples=90, n_features=4))
    rows, unread = (Z - Z.mean(axis=0)).astype(np.float32), np.empty((0, 0))
    indices, distances = kernels.class_neighbors(unread, rows, starts, 5, within, False, 0, 1)
    expected, exact = search(Z, starts, 5, within)
    np.testing.assert_array_equal(indices, expected)
    np.testing.assert_allclose(distances, exact, atol=1e-4)


@pytest.mark.parametrize("tile", [1024, 16])
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("k", [3, 20])
def test_tiles_and_parts_change_nothing_but_the_cost(tile, within, k, monkeypatch):
    monkeypatch.setattr(kernels, "TILE", tile)  # seen where kernels are not compiled
    X, y = make_problem(2, n_samples=120, n_classes=3)
    Z, y, starts = grouped(X, y)
    oracle = similar_lists if within else dissimilar_lists
    merged = search(Z, starts, k, within, 0, 3)
    for part in (1, 2):
        merged = kernels.merge_lists(*merged, *search(Z, starts, k, within, part, 3))
    np.testing.assert_array_equal(merged[0], oracle(Z, y, k))
    np.testing.assert_array_equal(merged[0], search(Z, starts, k, within)[0])


def test_lists_longer_than_the_other_classes_end_in_nothing():
    Z, starts = np.arange(4.0)[:, np.newaxis], np.array([0, 3, 4])
    indices, distances = search(Z, starts, 2, False)
    np.testing.assert_array_equal(indices, [[3, -1], [3, -1], [3, -1], [2, 1]])
    np.testing.assert_array_equal(distances[0], [9.0, np.inf])
