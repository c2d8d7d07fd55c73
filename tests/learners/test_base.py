import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.neighbors import NearestNeighbors

from raremetric import IML, Euclidean
from tests.conftest import make_problem


@pytest.fixture
def fitted(problem):
    return IML().fit(*problem)


@given(seed=st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_three_ways_to_compute_a_distance_agree(seed):
    X, y = make_problem(seed)
    iml = IML(max_iter=500, tol=1e-2).fit(X, y)
    a, b = X[0], X[1]
    M = iml.get_mahalanobis_matrix()
    by_matrix = np.sqrt((a - b) @ M @ (a - b))
    Z = iml.transform(X)
    assert np.linalg.norm(Z[0] - Z[1]) == pytest.approx(by_matrix, rel=1e-9)
    assert iml.pair_distance([[a, b]])[0] == pytest.approx(by_matrix, rel=1e-9)
    assert iml.pair_score([[a, b]])[0] == pytest.approx(-by_matrix, rel=1e-9)
    assert iml.get_metric()(a, b) == pytest.approx(by_matrix, rel=1e-9)
    assert iml.get_metric()(a, b, squared=True) == pytest.approx(by_matrix**2, rel=1e-9)
    np.testing.assert_array_equal(M, M.T)


def test_metric_function_works_in_scikit_learn_and_can_be_pickled(fitted, problem):
    X, _ = problem
    metric = pickle.loads(pickle.dumps(fitted.get_metric()))
    slow = NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute").fit(X)
    fast = NearestNeighbors(n_neighbors=4).fit(fitted.transform(X))
    np.testing.assert_array_equal(
        slow.kneighbors(return_distance=False), fast.kneighbors(return_distance=False)
    )


def test_metric_function_is_not_changed_by_another_fit(fitted, problem):
    X, y = problem
    metric = fitted.get_metric()
    before = metric(X[0], X[1])
    fitted.set_params(margin=100.0, max_iter=500).fit(X, y)
    assert metric(X[0], X[1]) == before


@pytest.mark.parametrize("shape", [(2, 3), (5, 3, 3), (5, 2, 4)])
def test_pairs_of_a_wrong_shape(fitted, shape):
    with pytest.raises(ValueError, match=r"expected \(n_pairs, 2, 3\)"):
        fitted.pair_distance(np.zeros(shape))


@pytest.mark.parametrize(
    "call",
    [
        lambda learner: learner.transform(np.zeros((2, 3))),
        lambda learner: learner.get_mahalanobis_matrix(),
        lambda learner: learner.pair_distance(np.zeros((1, 2, 3))),
        lambda learner: learner.pair_score(np.zeros((1, 2, 3))),
        lambda learner: learner.get_metric(),
    ],
)
def test_methods_raise_before_fit(call):
    with pytest.raises(NotFittedError):
        call(IML())


def test_euclidean_learns_the_identity(problem):
    X, y = problem
    plain = Euclidean().fit(X, y)
    np.testing.assert_array_equal(plain.transform(X), X)
    np.testing.assert_array_equal(plain.get_mahalanobis_matrix(), np.eye(3))
