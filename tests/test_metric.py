import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from raremetric.metric import (
    components_from_matrix,
    matrix_from_components,
    project_psd,
    spd_geodesic,
    squared_lengths,
)


def random_spd(seed, size=4):
    A = np.random.RandomState(seed).normal(size=(size, size))
    return A @ A.T + 0.1 * np.eye(size)


def test_components_and_matrix_are_two_faces_of_one_metric():
    M = random_spd(0)
    L = components_from_matrix(M)
    np.testing.assert_allclose(matrix_from_components(L), M, rtol=1e-10)
    differences = np.random.RandomState(1).normal(size=(5, 4))
    expected = [delta @ M @ delta for delta in differences]
    np.testing.assert_allclose(squared_lengths(L, differences), expected)


@given(seed=st.integers(0, 1000))
@settings(max_examples=30, deadline=None)
def test_projection_is_the_nearest_psd_matrix(seed):
    rng = np.random.RandomState(seed)
    A = rng.normal(size=(4, 4))
    A = A + A.T
    P, L = project_psd(A)
    np.testing.assert_allclose(L.T @ L, P, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() >= -1e-12
    # The residual is orthogonal to P and has no positive part: the optimality conditions.
    assert np.sum((A - P) * P) == pytest.approx(0, abs=1e-9)
    assert np.linalg.eigvalsh(A - P).max() <= 1e-9


def test_projection_to_eigenvalues_up_to_a_largest():
    P, _ = project_psd(np.diag([5.0, -7.0, 3.0, 1.0]), largest=4.0)
    np.testing.assert_allclose(P, np.diag([4.0, 0, 3.0, 1.0]), atol=1e-12)


@pytest.mark.parametrize("t", [0.0, 0.3, 0.5, 1.0])
def test_geodesic_against_the_definition(t):
    A, B = random_spd(2), random_spd(3)
    root = linalg.sqrtm(A)
    inverse = linalg.inv(root)
    middle = linalg.fractional_matrix_power(inverse @ B @ inverse, t)
    np.testing.assert_allclose(spd_geodesic(A, B, t), root @ middle @ root, rtol=1e-8)
