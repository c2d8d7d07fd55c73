import numpy as np
import pytest

from raremetric.learners.itml import ITML
from raremetric.pairs import draw_pairs, sample_rows
from raremetric.validation import check_labels
from tests.conftest import make_problem


def squared_distances(itml, X):
    return itml.pair_distance(X[itml.pair_indices_]) ** 2


def test_feasible_bounds_are_met():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(30, 4))
    y = np.repeat([0, 1], 15)
    X[:, 0] += 6 * y  # one feature separates the classes
    itml = ITML(np.inf, bounds=(6.0, 20.0), n_pairs=30, tol=1e-8, random_state=0).fit(X, y)
    squared = squared_distances(itml, X)
    assert np.all(squared[:15] <= 6 * (1 + 1e-5))
    assert np.all(squared[15:] >= 20 * (1 - 1e-5))
    assert np.all(itml.multipliers_ >= 0)
    np.testing.assert_array_equal(itml.pair_bounds_, np.repeat([6.0, 20.0], 15))
    assert itml.bounds_ == (6.0, 20.0)


@pytest.mark.parametrize(("n_pairs", "n_similar"), [(None, 180), (2, 1), (15, 8)])
def test_number_of_drawn_pairs(n_pairs, n_similar):
    X, y = make_problem(3, n_classes=3, n_samples=60)
    rows = ITML(n_pairs=n_pairs, gamma=0.1, random_state=0).fit(X, y).pair_indices_
    assert len(rows) == (n_pairs or 40 * 3**2)
    assert np.count_nonzero(y[rows[:, 0]] == y[rows[:, 1]]) == n_similar


def test_percentiles_and_histogram_by_hand():
    # Squared distances 1, 4, ..., 441: the 5th percentile of 21 values is the second one.
    differences = np.arange(1.0, 22.0)[:, np.newaxis]
    assert ITML()._resolve_bounds(differences) == pytest.approx((4, 400))
    itml = ITML(bounds="histogram", bound_scale=2.0)
    expected = 2 * (1 + 0.04 * 20), 2 * (1 + 0.94 * 20)
    assert itml._resolve_bounds(differences) == pytest.approx(expected)


def test_bounds_of_equal_points_are_positive():
    itml = ITML(random_state=0).fit(np.zeros((10, 2)), np.arange(10) % 2)
    assert itml.bounds_ == (1.0, 1.0)
    np.testing.assert_array_equal(itml.components_, np.eye(2))
    differences = np.array([[0.0, 3.0], *[[0.0, 0.0]] * 9])
    assert itml._resolve_bounds(differences)[0] == pytest.approx(9)


@pytest.mark.parametrize("same", [True, False])
def test_drawn_pairs(same):
    y = np.repeat([0, 1, 2], [10, 5, 1])
    y = np.random.RandomState(0).permutation(y)
    pairs = draw_pairs(check_labels(y, "test"), 40, same, np.random.RandomState(1))
    assert pairs.shape == (40, 2)
    assert len({tuple(pair) for pair in pairs.tolist()}) == 40
    assert np.all((y[pairs[:, 0]] == y[pairs[:, 1]]) == same)
    assert np.all(pairs[:, 0] != pairs[:, 1])


@pytest.mark.parametrize("same", [True, False])
def test_every_partner_is_drawn(same):
    y = np.array([1, 0, 1, 1, 0, 0])
    pairs = draw_pairs(check_labels(y, "test"), 500, same, np.random.RandomState(1))
    expected = {(i, j) for i in range(6) for j in range(6) if i != j and (y[i] == y[j]) == same}
    assert {tuple(pair) for pair in pairs.tolist()} == expected


def test_no_similar_pairs_at_all():
    itml = ITML(random_state=0).fit(np.eye(3) * 3, [0, 1, 2])
    assert itml.pair_indices_.shape == (6, 2)


def test_sampled_rows():
    first, second = sample_rows(20_030, np.random.RandomState(0))
    assert len(first) == len(second) == 1002
    assert len(sample_rows(7, np.random.RandomState(0))[0]) == 500
