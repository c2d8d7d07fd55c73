import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raremetric.validation import check_labels
from raremetric.voting import (
    READINGS,
    Reading,
    class_scores,
    distance_floor,
    nearest_of_each_class,
    readings,
)
from tests.conftest import make_problem


def brute_force(Z, y, query, c, k):
    """Rows of a class by distance, then by row number."""
    rows = np.flatnonzero(y == c)
    ranked = sorted((float(np.sqrt(np.sum((Z[r] - query) ** 2))), int(r)) for r in rows)[:k]
    return [d for d, _ in ranked], [r for _, r in ranked]


@pytest.mark.parametrize("block", [1, 50, 2**22])
@pytest.mark.parametrize("k", [1, 3, 7, 100])
def test_neighbors_are_those_of_brute_force(block, k, monkeypatch):
    monkeypatch.setattr(readings, "BLOCK", block)
    Z, y = make_problem(0, n_samples=40, n_classes=3)
    queries = make_problem(1, n_samples=12)[0]
    found = nearest_of_each_class(Z, check_labels(y, "A test"), queries, k)
    for c in range(3):
        assert found.indices[c].shape == (12, min(k, int(np.sum(y == c))))
        for i, query in enumerate(queries):
            distances, rows = brute_force(Z, y, query, c, k)
            np.testing.assert_allclose(found.distances[c][i], distances, rtol=1e-12)
            assert found.indices[c][i].tolist() == rows


@given(seed=st.integers(0, 10_000), k=st.integers(1, 8))
@settings(max_examples=60, deadline=None)
def test_equally_near_rows_come_in_their_order(seed, k):
    rng = np.random.RandomState(seed)
    Z = rng.randint(3, size=(30, 2)).astype(float)  # nine places for thirty rows
    y = np.arange(30) % 2
    queries = rng.randint(3, size=(6, 2)).astype(float)
    found = nearest_of_each_class(Z, check_labels(y, "A test"), queries, k)
    for c in range(2):
        for i, query in enumerate(queries):
            distances, rows = found.distances[c][i], found.indices[c][i]
            np.testing.assert_array_equal(distances, brute_force(Z, y, query, c, k)[0])
            pairs = list(zip(distances, rows, strict=True))
            assert pairs == sorted(pairs)
            assert len(set(rows)) == k
            assert (y[rows] == c).all()
            np.testing.assert_array_equal(np.linalg.norm(Z[rows] - query, axis=1), distances)


def test_far_from_the_origin_distances_keep_their_digits():
    Z, y = make_problem(0, n_samples=40)
    labels = check_labels(y, "A test")
    near = nearest_of_each_class(Z, labels, Z[:5], 3).distances
    far = nearest_of_each_class(Z + 1e6, labels, Z[:5] + 1e6, 3).distances
    for a, b in zip(near, far, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-8)


def test_floor_is_a_tenth_of_the_median_nearest_distance():
    Z, _ = make_problem(0, n_samples=41)
    distances = np.linalg.norm(Z[:, np.newaxis] - Z, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert distance_floor(Z) == pytest.approx(0.1 * np.median(distances.min(axis=1)))


def test_duplicates_do_not_lower_the_floor():
    Z, _ = make_problem(0, n_samples=30)
    assert distance_floor(np.repeat(Z, 2, axis=0)) == pytest.approx(distance_floor(Z))
    assert distance_floor(np.ones((5, 2))) == 1.0


def test_a_few_rows_speak_for_many():
    Z, _ = make_problem(0, n_samples=80)
    nearest = []
    for i in np.linspace(0, 79, 11).astype(int):
        distances = np.linalg.norm(Z - Z[i], axis=1)
        nearest.append(distances[distances > 0].min())
    assert distance_floor(Z, n_rows=11) == pytest.approx(0.1 * np.median(nearest))


def test_readings():
    logs = np.array([[0.0, 1.0, 5.0], [2.0, 3.0, 4.0]])
    assert Reading(2)(logs).tolist() == [1, 3]
    assert Reading(2, averaged=True)(logs).tolist() == [0.5, 2.5]
    assert Reading(9)(logs).tolist() == [5, 4]  # fewer than nine: the last
    assert Reading(9, averaged=True)(logs).tolist() == [2, 3]
    squares = Reading(2, averaged=True, squared=True)(logs)
    np.testing.assert_allclose(squares, np.exp(2.0 * logs[:, :2]).mean(axis=1))
    assert Reading(1, squared=True)(np.log([[3.0]])) == pytest.approx(9)
    names = [str(reading) for reading in READINGS]
    assert names[3:5] == ["nearest 16", "mean of 2"]
    assert names[-1] == "mean of 80, squared"


def test_scores_of_two_classes_by_hand():
    first, second = np.array([[1.0, 2.0, 4.0]]), np.array([[0.0, 8.0]])
    by_second = class_scores([first, second], 0.5, [Reading(2)])[0]
    np.testing.assert_allclose(by_second, [[np.log(8 / 2), np.log(2 / 8)]])
    floored = class_scores([first, second], 0.5, [Reading(1)])[0]
    np.testing.assert_allclose(floored, [[np.log(0.5 / 1), np.log(1 / 0.5)]])
    mean = class_scores([first, second], 0.5, [Reading(2, averaged=True)])[0]
    np.testing.assert_allclose(mean[0, 1], np.log(2) / 2 - np.log(0.5 * 8) / 2)


def test_scores_of_three_classes_compare_with_all_others_together():
    distances = [np.array([[1.0, 6.0]]), np.array([[2.0, 3.0]]), np.array([[4.0, 5.0]])]
    np.testing.assert_allclose(
        class_scores(distances, 1e-9, [Reading(2)])[0],
        [[np.log(3 / 6), np.log(4 / 3), np.log(2 / 5)]],
    )
