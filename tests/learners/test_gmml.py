import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import linalg

from raremetric.learners.gmml import GMML
from raremetric.learners.iml import IML
from tests.conftest import make_problem


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), pairs=st.sampled_from(["random", "neighbors"]))
def test_midpoint_solves_the_riccati_equation(seed, pairs):
    gmml = GMML(pairs=pairs, random_state=seed).fit(*make_problem(seed))
    M, S, D = gmml.get_mahalanobis_matrix(), gmml.similar_scatter_, gmml.dissimilar_scatter_
    np.testing.assert_allclose(M @ S @ M, D, rtol=0, atol=1e-8 * np.abs(D).max())


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), t=st.floats(0, 1))
def test_on_the_geodesic(seed, t):
    """The eigenvalues of SM are those of SD to the power t: M divides the geodesic at t."""
    gmml = GMML(t, random_state=seed).fit(*make_problem(seed))
    M, S, D = gmml.get_mahalanobis_matrix(), gmml.similar_scatter_, gmml.dissimilar_scatter_
    whole = linalg.eigvalsh(D, linalg.inv(S))
    np.testing.assert_allclose(linalg.eigvalsh(M, linalg.inv(S)), whole**t, rtol=1e-8)
    # The same from the other end, with 1 − t.
    np.testing.assert_allclose(linalg.eigvalsh(D, M), whole ** (1 - t), rtol=1e-8)
    length = np.sum(np.log(whole) ** 2)
    assert gmml.objective_ == pytest.approx(t * (1 - t) * length)


def test_ends_of_the_geodesic(problem):
    start, end = GMML(0, random_state=0).fit(*problem), GMML(1, random_state=0).fit(*problem)
    S, D = start.similar_scatter_, end.dissimilar_scatter_
    np.testing.assert_allclose(start.get_mahalanobis_matrix(), linalg.inv(S), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(end.get_mahalanobis_matrix(), D, rtol=1e-9, atol=1e-12)
    assert start.objective_ == end.objective_ == 0


def test_balanced_sets_are_those_of_iml():
    X, y = make_problem(2, n_samples=30)
    gmml = GMML(pairs="neighbors", set_weights="balanced").fit(X, y)
    iml = IML(dissimilar="fixed", max_iter=2000).fit(X, y)
    means = []
    for label in (0, 1):
        rows = gmml.pair_sets_[label].similar
        np.testing.assert_array_equal(rows, iml.pair_sets_[label].similar)
        np.testing.assert_array_equal(
            gmml.pair_sets_[label].dissimilar, iml.pair_sets_[label].dissimilar
        )
        differences = X[rows[:, 0]] - X[rows[:, 1]]
        means.append(differences.T @ differences / len(rows))
    # Each class's mean scatter has the same weight; the total weight is the number of pairs.
    expected = np.eye(3) + 3 * 30 * (means[0] + means[1]) / 2
    np.testing.assert_allclose(gmml.similar_scatter_, expected)


def test_uniform_scatter_is_a_sum():
    X = np.array([[0.0, 0], [1, 0], [5, 0], [5, 2]])
    gmml = GMML(pairs="neighbors", n_neighbors=1).fit(X, [0, 0, 1, 1])
    np.testing.assert_allclose(gmml.similar_scatter_, np.diag([1 + 2 * 1, 1 + 2 * 4]))
    # Nearest of the other class: (0, 2), (1, 2), (2, 1), (3, 1).
    expected = np.array([[1 + 25 + 16 + 16 + 16, 8], [8, 1 + 4]])
    np.testing.assert_allclose(gmml.dissimilar_scatter_, expected)


def test_number_of_random_pairs():
    X, y = make_problem(3, n_classes=3)
    counts = [
        sum(
            len(s.similar) + len(s.dissimilar)
            for s in GMML(n_pairs=n).fit(X, y).pair_sets_.values()
        )
        for n in (None, 17)
    ]
    assert counts == [40 * 3 * 2, 17]
