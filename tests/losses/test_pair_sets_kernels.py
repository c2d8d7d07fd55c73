import numpy as np
import pytest

from raremetric.losses import pair_sets_kernels as kernels
from raremetric.losses.pair_sets import PairSetLoss
from tests.neighbors import from_python
from tests.oracles.pair_sets import laplacian_product, rounded_hinges

pytestmark = pytest.mark.kernels


@pytest.mark.parametrize("width", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_nearest_term_against_a_bisection(width, seed):
    rng = np.random.RandomState(seed)
    excess = np.sort(rng.uniform(-1.5, 2.5, size=(5, 6)), axis=1)[:, ::-1].copy()
    excess[0, 4:] = -np.inf  # a list that ended early
    excess[1, 2:5] = excess[1, 2]  # neighbors at equal distance
    slopes = np.empty_like(excess)
    for p, row in enumerate(excess):
        value = from_python(kernels.nearest_term)(row, 0.7, 3, width, slopes, p)
        expected, alpha = rounded_hinges(row, 3, width)
        assert value == pytest.approx(0.7 * expected)
        np.testing.assert_allclose(slopes[p], 0.7 * alpha, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("refresh", [0, 2])
def test_terms_and_laplacian(dtype, refresh):
    rng = np.random.RandomState(0)
    loss = make_loss(rng, dtype, refresh)
    value, gradient, attract, repel, others = kernels.evaluate_pair_sets(
        np.eye(3), loss, loss.others, 0.1
    )
    X = loss.X.astype(float)
    expected = sum(
        w * rounded_hinges([np.sum((X[i] - X[j]) ** 2) - 1], 1, 0.1)[0]
        for i, j, w in zip(
            loss.similar_anchors, loss.similar_others, loss.similar_weights, strict=True
        )
    )
    for i, weight, row in zip(loss.anchors, loss.anchor_weights, others, strict=True):
        distances = np.sum((X[i] - X[row]) ** 2, axis=1)
        every = np.sum((X[i] - X[loss.others[i]]) ** 2, axis=1)
        np.testing.assert_allclose(distances, np.sort(every)[: len(row)], rtol=1e-5)
        expected += weight * rounded_hinges(2 - distances, max(refresh, 1), 0.2)[0]
    assert value == pytest.approx(expected, rel=1e-5)
    dense = laplacian_product(attract, loss.similar_anchors, loss.similar_others, X)
    for i, row, c in zip(loss.anchors, others, repel, strict=True):
        dense -= laplacian_product(c, np.repeat(i, len(row)), row, X)
    np.testing.assert_allclose(gradient, 2 * dense.T @ X, rtol=1e-4, atol=1e-5)


def test_laplacian_product():
    rng = np.random.RandomState(0)
    rows, weights = rng.normal(size=(5, 3)), rng.normal(size=6)
    first, second = rng.randint(5, size=6), np.array([1, -1, 2, 0, 4, 3])
    there = second >= 0
    expected = laplacian_product(weights[there], first[there], second[there], rows)
    product = kernels.laplacian_product(rows, first, second, weights)
    np.testing.assert_allclose(product, expected)


def make_loss(rng, dtype, refresh):
    n, size = 8, 2 * refresh or 1
    return PairSetLoss(
        X=rng.normal(size=(n, 3)).astype(dtype),
        starts=np.array([0, 4, 8]),
        similar_anchors=rng.randint(4, size=6),
        similar_others=4 + rng.randint(4, size=6),
        similar_weights=rng.uniform(size=6),
        anchors=np.arange(n),
        anchor_weights=rng.uniform(size=n),
        margin=1.0,
        regularization=0.1,
        n_refreshed=refresh,
        n_nearest=refresh or 1,
        units=np.ones(3),
        scales=np.ones(3),
        others=np.array([rng.permutation(np.delete(np.arange(n), i))[:size] for i in range(n)]),
    )


@pytest.mark.parametrize("refresh", [0, 2])
def test_units_of_the_features_change_neither_the_loss_nor_its_gradients(refresh):
    rng = np.random.RandomState(0)
    loss, L = make_loss(rng, np.float64, refresh), rng.normal(size=(2, 3))
    units = np.array([4.0, 0.5, 16.0])
    other = loss._replace(X=loss.X / units, scales=1 / units)
    value, gradient = loss.value_and_gradient(L, 0.1, loss.others)
    found, found_gradient = other.value_and_gradient(L * units, 0.1, loss.others)
    assert found == pytest.approx(value)
    np.testing.assert_allclose(found_gradient, gradient / units)
    assert other.value(L * units, loss.others) == pytest.approx(loss.value(L, loss.others))
    _, gradient = loss.value_and_matrix_gradient(L, 0.1, loss.others)
    _, found_gradient = other.value_and_matrix_gradient(L * units, 0.1, loss.others)
    np.testing.assert_allclose(found_gradient, gradient / np.outer(units, units))


@pytest.mark.parametrize("size", [1, 3, 6])
def test_nearest_candidates(size):
    rng = np.random.RandomState(size)
    Z = rng.normal(size=(9, 2))
    Z[5] = Z[3]  # at the same distance: the first one is kept
    candidates = np.array([-1, 7, 3, 5, -1, 2, 8])
    near, who = np.empty(size), np.empty(size, dtype=np.int64)
    count = from_python(kernels.nearest_candidates)(Z, 0, candidates, near, who)
    there = candidates[candidates >= 0]
    distances = np.sum((Z[there] - Z[0]) ** 2, axis=1)
    expected = there[np.argsort(distances, kind="stable")][:size]
    assert count == min(size, 5)
    np.testing.assert_array_equal(who[:count], expected[:count])
    np.testing.assert_allclose(near[:count], np.sort(distances)[:count])
