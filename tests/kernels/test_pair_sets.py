import numpy as np
import pytest

from raremetric.kernels import pair_sets as kernels
from tests.oracles.pair_sets import laplacian_product, rounded_hinges

pytestmark = pytest.mark.kernels


def test_pair_distances():
    Z = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    distances = kernels.pair_distances(Z, np.array([0, 1, 2]), np.array([1, 1, 0]))
    np.testing.assert_array_equal(distances, [25.0, 0.0, 1.0])


@pytest.mark.parametrize("width", [0.0, 0.5])
def test_similar_terms(width):
    distances = np.array([0.5, 1.0, 1.25, 3.0])
    weights = np.array([1.0, 2.0, 3.0, 0.5])
    slopes = np.empty(4)
    value = kernels.similar_terms(distances, weights, width, slopes)
    if width == 0:
        assert value == pytest.approx(3 * 0.25 + 0.5 * 2)
        np.testing.assert_allclose(slopes, [0, 0, 3, 0.5])
    else:
        assert value == pytest.approx(3 * 0.25**2 / (2 * 0.5) + 0.5 * (2 - 0.25))
        np.testing.assert_allclose(slopes, [0, 0, 3 * 0.5, 0.5])


@pytest.mark.parametrize("width", [1e-3, 0.1, 2.0])
@pytest.mark.parametrize("seed", range(4))
def test_nearest_terms_against_a_bisection(width, seed):
    rng = np.random.RandomState(seed)
    distances = np.sort(rng.uniform(0, 4, size=(5, 6)), axis=1)
    distances[0, 4:] = np.inf  # a list that ended early
    distances[1, 2:5] = distances[1, 2]  # neighbors at equal distance
    weights = rng.uniform(size=5)
    slopes = np.empty_like(distances)
    value = kernels.nearest_terms(distances, weights, 1.5, 3, width, slopes)
    expected = [rounded_hinges(2.5 - row, 3, width) for row in distances]
    assert value == pytest.approx(sum(w * v for w, (v, _) in zip(weights, expected, strict=True)))
    for row, weight, (_, alpha) in zip(slopes, weights, expected, strict=True):
        np.testing.assert_allclose(row, weight * alpha, atol=1e-9)


def test_exact_nearest_terms_take_the_largest_hinges():
    distances = np.array([[0.5, 1.0, 1.5, 9.0]])
    slopes = np.empty_like(distances)
    value = kernels.nearest_terms(distances, np.array([2.0]), 1.0, 2, 0.0, slopes)
    assert value == pytest.approx(2 * (1.5 + 1.0))
    np.testing.assert_array_equal(slopes, [[2.0, 2.0, 0.0, 0.0]])


def test_laplacian_product():
    rng = np.random.RandomState(0)
    rows, c = rng.normal(size=(5, 3)), rng.normal(size=(7, 2))
    first, second = rng.randint(5, size=7), rng.randint(5, size=(7, 2))
    out = np.zeros_like(rows)
    kernels.add_laplacian_product(c, first, second, -1.0, rows, out)
    expected = laplacian_product(-c.ravel(), np.repeat(first, 2), second.ravel(), rows)
    np.testing.assert_allclose(out, expected, atol=1e-12)
