import numpy as np
import pytest

from raremetric.neighbors import ClassSearch
from raremetric.pairs import (
    Pairs,
    merge_mutual,
    neighbor_pairs,
    pair_weights,
    select_pairs,
)
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.neighbors import dissimilar_lists, similar_lists


@pytest.fixture
def three_classes():
    X, y = make_problem(4, n_classes=3)
    return X, check_labels(y, "test")


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("share", [1.0, 0.3])
@pytest.mark.parametrize("n_values", [3, 1000])  # many equal rows, or hardly any
def test_neighbors_of_anchors_are_found_among_all_rows(n_values, share, n_jobs):
    """With many equal rows, an anchor may not be among its own nearest."""
    rng = np.random.RandomState(0)
    X, y = rng.randint(n_values, size=(150, 2)).astype(float), rng.randint(3, size=150)
    order = np.argsort(y, kind="stable")  # equal rows of other classes come class by class
    anchors = None if share == 1 else np.flatnonzero(rng.uniform(size=150) < share)
    search = ClassSearch(X, check_labels(y, "test"), n_jobs, anchors)
    chosen = slice(None) if anchors is None else np.isin(order, anchors)
    np.testing.assert_array_equal(search.rows, order[chosen])
    np.testing.assert_array_equal(search.within(5), np.array(similar_lists(X, y, 5))[search.rows])
    across = order[dissimilar_lists(X[order], y[order], 5)]
    np.testing.assert_array_equal(search.across(5), across[chosen])


def test_lists_end_where_there_are_no_more_rows():
    X, labels = np.arange(4.0)[:, np.newaxis], check_labels(np.array([0, 1, 1, 1]), "test")
    search = ClassSearch(X, labels)
    np.testing.assert_array_equal(search.within(9), [[-1, -1], [2, 3], [1, 3], [2, 1]])
    across = [[1, 2, 3], [0, -1, -1], [0, -1, -1], [0, -1, -1]]
    np.testing.assert_array_equal(search.across(9), across)
    alone = ClassSearch(X[:2], check_labels(np.array([0, 1]), "test"))
    np.testing.assert_array_equal(alone.within(3), [[-1], [-1]])


def test_random_pairs_are_reproducible_and_of_two_different_rows(three_classes):
    X, labels = three_classes
    similar, dissimilar = select_pairs("random", X, labels, 10, 0)
    again, _ = select_pairs("random", X, labels, 10, 0)
    np.testing.assert_array_equal(similar.others, again.others)
    assert len(similar.anchors) + len(dissimilar.anchors) == 2 * 24 * 10
    assert np.all(similar.anchors != similar.others)
    assert np.all(labels.codes[dissimilar.anchors] != labels.codes[dissimilar.others])
    assert set(np.concatenate([similar.others, dissimilar.others])) == set(range(24))


def test_all_pairs_are_all_pairs():
    labels = check_labels(np.array([0, 0, 1]), "test")
    similar, dissimilar = select_pairs("all", np.zeros((3, 1)), labels, 1)
    assert sorted(zip(*similar, strict=True)) == [(0, 1), (1, 0)]
    assert sorted(zip(*dissimilar, strict=True)) == [(0, 2), (1, 2), (2, 0), (2, 1)]


def test_each_balanced_set_weighs_the_same(three_classes):
    X, labels = three_classes
    weights = np.random.RandomState(0).uniform(size=len(X))
    for pairs in neighbor_pairs(X, labels, 3):
        w = pair_weights(pairs, labels, weights, "balanced")
        np.testing.assert_allclose(np.bincount(labels.codes[pairs.anchors], w), 1 / 6)
        w = pair_weights(pairs, labels, np.ones(len(X)), "uniform")
        np.testing.assert_array_equal(w, 1)
        # Within a set, pairs weigh as their anchors do.
        w = pair_weights(pairs, labels, weights, "balanced")
        first = labels.codes[pairs.anchors] == 0
        ratio = w[first] / weights[pairs.anchors[first]]
        np.testing.assert_allclose(ratio, ratio[0])


def test_inverse_weights_are_the_share_of_the_other_classes():
    labels = check_labels(np.array([0, 1, 1, 2, 2, 2]), "test")
    pairs = Pairs(np.array([0, 1, 1, 3]), np.array([1, 2, 0, 4]))
    w = pair_weights(pairs, labels, np.ones(6), "inverse")
    np.testing.assert_allclose(w, [5 / 6, 4 / 6, 4 / 6, 3 / 6])
    heavy = pair_weights(pairs, labels, np.array([1.0, 3, 1, 1, 1, 1]), "inverse")
    np.testing.assert_allclose(heavy, w)  # within a set of one anchor nothing can shift


def test_a_set_whose_examples_weigh_nothing_adds_nothing():
    labels = check_labels(np.array([0, 0, 1, 1]), "test")
    pairs = Pairs(np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2]))
    w = pair_weights(pairs, labels, np.array([0.0, 0, 1, 3]), "balanced")
    np.testing.assert_allclose(w, [0, 0, 0.0625, 0.1875])


def test_mutual_pairs_are_merged():
    pairs = Pairs(np.array([0, 1, 4, 2, 3]), np.array([1, 0, 2, 4, 0]))
    merged, weights = merge_mutual(pairs, np.array([1.0, 2.0, 4.0, 8.0, 16.0]), 5)
    assert list(zip(*merged, weights, strict=True)) == [(0, 1, 3.0), (0, 3, 16.0), (2, 4, 12.0)]
