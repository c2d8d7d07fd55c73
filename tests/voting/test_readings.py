import numpy as np
import pytest

from raremetric.voting import READINGS, Reading, class_scores, distance_floor
from tests.conftest import make_problem


def test_floor_is_a_tenth_of_the_median_nearest_distance():
    Z, _ = make_problem(0, n_samples=41)
    distances = np.linalg.norm(Z[:, np.newaxis] - Z, axis=2)
    np.fill_diagonal(distances, np.inf)
    assert distance_floor(Z) == pytest.approx(0.1 * np.median(distances.min(axis=1)))


def test_duplicates_do_not_lower_the_floor():
    Z, _ = make_problem(0, n_samples=30)
    assert distance_floor(np.repeat(Z, 2, axis=0)) == pytest.approx(distance_floor(Z))
    assert distance_floor(np.ones((5, 2))) == 1.0


def test_the_floor_of_many_rows_is_estimated_from_a_few():
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
    assert Reading(9)(logs).tolist() == [5, 4]  # fewer than nine: the farthest
    assert Reading(9, averaged=True)(logs).tolist() == [2, 3]
    squares = Reading(2, averaged=True, power=2)(logs)
    np.testing.assert_allclose(squares, np.exp(2.0 * logs[:, :2]).mean(axis=1))
    assert Reading(1, power=2)(np.log([[3.0]])) == pytest.approx(9)
    assert str(Reading(20, power=2)) == "nearest 20, squared"
    names = [str(reading) for reading in READINGS]
    assert names[3:5] == ["nearest 16", "mean of 2"]
    assert names[-1] == "mean of 80, squared"


def test_scores_of_two_classes_by_hand():
    first, second = np.array([[1.0, 2.0, 4.0]]), np.array([[0.0, 8.0]])
    by_second = class_scores([first, second], 0.5, [Reading(2)])[0]
    np.testing.assert_allclose(by_second, [[np.log(8 / 2), np.log(2 / 8)]])
    floored = class_scores([first, second], 0.5, [Reading(1)])[0]
    np.testing.assert_allclose(floored, [[np.log(0.5 / 1), np.log(1 / 0.5)]])
    squared = class_scores([first, second], 0.5, [Reading(2, averaged=True, power=2)])[0]
    np.testing.assert_allclose(squared[0, 1], (1 + 4) / 2 - (0.25 + 64) / 2)
    mean = class_scores([first, second], 0.5, [Reading(2, averaged=True)])[0]
    np.testing.assert_allclose(mean[0, 1], np.log(2) / 2 - np.log(0.5 * 8) / 2)


def test_scores_of_three_classes_compare_with_all_others_together():
    distances = [np.array([[1.0, 6.0]]), np.array([[2.0, 3.0]]), np.array([[4.0, 5.0]])]
    np.testing.assert_allclose(
        class_scores(distances, 1e-9, [Reading(2)])[0],
        [[np.log(3 / 6), np.log(4 / 3), np.log(2 / 5)]],
    )
