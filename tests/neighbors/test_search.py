import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import NearestNeighbors

from raremetric.neighbors import NeighborSearch, queries
from raremetric.validation import Labels
from tests.oracles.neighbors import search


def make_labels(codes, n_classes=3):
    codes = np.asarray(codes, dtype=np.int64)
    return Labels(np.arange(n_classes), codes, np.bincount(codes, minlength=n_classes))


@st.composite
def grids(draw):
    """Examples, labels and queries with whole coordinates: many duplicates and equal distances."""
    n_samples, n_queries = draw(st.integers(1, 30)), draw(st.integers(0, 4))
    n_dims = draw(st.integers(1, 3))
    rng = np.random.RandomState(draw(st.integers(0, 999)))
    points = rng.randint(-3, 4, size=(n_samples + n_queries, n_dims)).astype(float)
    codes = rng.randint(3, size=n_samples)
    return points[:n_samples], make_labels(codes), points[n_samples:] if n_queries else None


def estimated(Z, points, k):
    """The nearest examples, chosen by distances in single precision."""
    search = NeighborSearch(Z, make_labels(np.zeros(len(Z)), 1))
    return search.nearest_of_each_class(points, k, exact=False)[0]


def assert_found(found, expected):
    np.testing.assert_array_equal(found.indices, expected[1])
    np.testing.assert_array_equal(found.distances, expected[0])


@pytest.mark.kernels
@given(grids(), st.integers(1, 35), st.sampled_from([0.0, 1024.0]), st.sampled_from([0, -498, 498]))
@settings(max_examples=60, deadline=None)
def test_exactly_the_oracle_with_ties_at_any_scale(data, k, shift, exponent):
    Z, labels, points = data
    Z = np.ldexp(Z + shift, exponent)
    points = None if points is None else np.ldexp(points + shift, exponent)
    finder, available = NeighborSearch(Z, labels), len(Z) - (points is None)
    with np.errstate(over="ignore"):  # compiled or not, what overflows is measured exactly
        of_each_class = finder.nearest_of_each_class(points, k)
        of_all = finder.nearest(points, min(k, available)) if available else None
    for code, found in enumerate(of_each_class):
        members = np.flatnonzero(labels.codes == code)
        assert_found(found, search(Z, points, members, min(k, len(members))))
    if of_all:
        assert_found(of_all, search(Z, points, range(len(Z)), min(k, available)))


@pytest.mark.kernels
@pytest.mark.parametrize("estimate", [False, True])
@pytest.mark.parametrize(("far_example", "far_query"), [(1, 1), (1e6, 1), (1, 1e6)])
def test_outliers_and_constant_features(estimate, far_example, far_query):
    rng = np.random.RandomState(0)
    Z, points = rng.normal(size=(60, 4)), rng.normal(size=(5, 4))
    Z[7], points[2] = far_example * Z[7], far_query * points[2]
    Z[:, 3] = points[:, 3] = 0.1
    found = estimated(Z, points, 20) if estimate else NeighborSearch(Z).nearest(points, 20)
    distances, indices = search(Z, points, range(60), 20)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.distances, distances, rtol=1e-14)


@pytest.mark.kernels
def test_examples_on_a_sphere_around_a_far_query():
    """Single precision cannot order them: one step is 8 for squared distances of 1e8."""
    rng, radius = np.random.RandomState(0), 1e4
    directions = np.hstack([np.ones((60, 1)), rng.normal(size=(60, 3)) / radius])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    query = np.array([[radius, 0.0, 0.0, 0.0]])
    Z = query - (radius + 1e-5 * rng.rand(60, 1)) * directions
    found = NeighborSearch(Z).nearest(query, 3)
    np.testing.assert_array_equal(found.indices, search(Z, query, range(60), 3)[1])


@pytest.mark.kernels
def test_estimates_may_choose_another_neighbor_but_its_distance_is_exact():
    rng = np.random.RandomState(0)
    Z, points = rng.randint(4, size=(50, 2)).astype(float), rng.randint(4, size=(8, 2)) / 2
    found = estimated(Z, points, 9)
    np.testing.assert_allclose(found.distances, search(Z, points, range(50), 9)[0], rtol=1e-5)
    for point, distances, rows in zip(points, *found, strict=True):
        np.testing.assert_array_equal(distances, np.linalg.norm(point - Z[rows], axis=1))
        assert sorted(zip(distances, rows, strict=True)) == list(zip(distances, rows, strict=True))


@pytest.mark.kernels
@pytest.mark.parametrize("k", [2, 20])
def test_blocks_tiles_and_buffers_change_nothing(k, monkeypatch):
    for name, size in {"BLOCK": 3, "TILE": 16, "BUFFER": 16}.items():
        monkeypatch.setattr(queries, name, size)  # effective where kernels are not compiled
    Z = np.random.RandomState(0).randint(5, size=(250, 2)).astype(float)
    points = Z[:7] + 0.5
    assert_found(NeighborSearch(Z).nearest(points, k), search(Z, points, range(250), k))


@pytest.mark.parametrize("k", [1, 40, 1500])
def test_many_examples_as_in_scikit_learn(k):
    rng = np.random.RandomState(0)
    Z, points = rng.normal(size=(2 * queries.TILE + 77, 5)), rng.normal(size=(queries.BLOCK + 3, 5))
    oracle = NearestNeighbors(n_neighbors=k, algorithm="kd_tree").fit(Z)
    distances, indices = oracle.kneighbors(points)
    for found in (NeighborSearch(Z).nearest(points, k), estimated(Z, points, k)):
        np.testing.assert_array_equal(found.indices, indices)
        np.testing.assert_allclose(found.distances, distances, rtol=1e-12)


@pytest.mark.parametrize("itself", [True, False])
def test_neither_threads_nor_other_queries_change_a_bit(itself):
    rng = np.random.RandomState(0)  # so many rows that threads are used
    Z, labels = rng.normal(size=(9000, 7)), make_labels(rng.randint(3, size=9000))
    points = None if itself else rng.normal(size=(70, 7))
    alone = NeighborSearch(Z, labels).nearest_of_each_class(points, 12)
    threads = NeighborSearch(Z, labels, n_jobs=4).nearest_of_each_class(points, 12)
    for one, other in zip(alone, threads, strict=True):
        assert_found(other, one)
    if points is not None:
        search = NeighborSearch(Z, labels)
        for i, point in enumerate(points):
            row = search.nearest_of_each_class(point[np.newaxis], 12)
            for one, other in zip(alone, row, strict=True):
                assert_found(other, (one.distances[[i]], one.indices[[i]]))


@pytest.mark.parametrize("far", [1e30, 1e150, 1e300])
def test_queries_and_examples_too_far_away_for_single_precision(far):
    Z = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0], [1.0, 3.0]])
    found = NeighborSearch(Z).nearest(np.array([[far, 0.0], [0.0, 0.1]]), 4)
    np.testing.assert_array_equal(found.indices, [[0, 1, 2, 3], [2, 0, 1, 3]])
    found = NeighborSearch(np.vstack([Z, [[far, 0.0]]])).nearest(np.array([[0.0, 0.1]]), 5)
    np.testing.assert_array_equal(found.indices, [[2, 0, 1, 3, 4]])


def test_a_saved_search_holds_the_examples_and_nothing_derived():
    rng = np.random.RandomState(0)
    Z, labels = rng.normal(size=(30, 2)), make_labels(rng.randint(3, size=30))
    finder = NeighborSearch(Z, labels)
    found = finder.nearest_of_each_class(Z[:3] + 1, 2)
    assert finder.__getstate__().keys() == {"Z", "labels", "n_jobs"}
    loaded = pickle.loads(pickle.dumps(finder))
    for one, other in zip(found, loaded.nearest_of_each_class(Z[:3] + 1, 2), strict=True):
        assert_found(other, one)


@pytest.mark.parametrize("k", [0, 6])
def test_k_out_of_range(k):
    Z = np.zeros((5, 2))
    with pytest.raises(ValueError, match=f"k must be from 1 to the number of examples, 5; got {k}"):
        NeighborSearch(Z).nearest(Z, k)
    with pytest.raises(ValueError, match="number of other examples, 4; got"):
        NeighborSearch(Z).nearest(None, k or 5)


def test_what_does_not_fit_together_is_refused():
    Z = np.zeros((5, 2))
    with pytest.raises(ValueError, match=r"\(n_queries, 2\).*got \(1, 3\)"):
        NeighborSearch(Z).nearest(np.zeros((1, 3)), 1)
    with pytest.raises(ValueError, match="needs labels"):
        NeighborSearch(Z).nearest_of_each_class(None, 1)
    with pytest.raises(ValueError, match="at least 1; got 0"):
        NeighborSearch(Z, make_labels([0, 1, 2, 0, 1])).nearest_of_each_class(None, 0)
    with pytest.raises(ValueError, match="5 examples but 3 labels"):
        NeighborSearch(Z, make_labels([0, 1, 2])).nearest_of_each_class(None, 1)
