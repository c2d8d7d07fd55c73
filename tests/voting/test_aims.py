import numpy as np
import pytest

from raremetric.voting import observed_utility
from raremetric.voting.aims import check_aim

POSITIVE = np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
CALLED = np.array([1, 1, 0, 1, 0, 0, 0, 0], dtype=bool)  # tn 4, fp 1, fn 1, tp 2


def test_examples_that_stand_for_several():
    # As if each example had been listed as often as it counts.
    worth = np.array([10.0, 3.0])
    often = np.where(POSITIVE, 3, 10)
    for scoring in ("f1", "f2", "balanced_accuracy", [[0, 1], [5, 0]]):
        aim = check_aim(scoring)
        listed = observed_utility(np.repeat(CALLED, often), np.repeat(POSITIVE, often), aim.utility)
        weighed = observed_utility(CALLED, POSITIVE, aim.counting(worth).utility)
        assert weighed == pytest.approx(listed)


@pytest.mark.parametrize(
    ("scoring", "value"),
    [
        ("f1", 2 / 3),
        ("f2", 5 * 2 / (5 * 2 + 4 * 1 + 1)),
        ("f0.5", 1.25 * 2 / (1.25 * 2 + 0.25 * 1 + 1)),
        ("balanced_accuracy", (2 / 3 + 4 / 5) / 2),
        ([[0, 1], [5, -2]], -(1 + 5 - 2 * 2)),
    ],
)
def test_each_aim_by_hand(scoring, value):
    aim = check_aim(scoring)
    assert observed_utility(CALLED, POSITIVE, aim.utility) == pytest.approx(value)
    assert not aim.threshold_free


def test_average_precision_has_the_threshold_of_f1():
    aim = check_aim("average_precision")
    assert aim.threshold_free
    assert observed_utility(CALLED, POSITIVE, aim.utility) == pytest.approx(2 / 3)


@pytest.mark.parametrize("scoring", ["accuracy", "f", "f-1", "f1x", None, 3, [1, 2], [[0, 1, 2]]])
def test_what_is_no_aim(scoring):
    with pytest.raises(ValueError, match=r"scoring must be 'f1', another F-beta .* got "):
        check_aim(scoring)


@pytest.mark.parametrize("costs", [[[1, 0], [5, 0]], [[0, 1], [0, 0]], [[0, 0], [1, 0]]])
def test_mistakes_must_cost_more(costs):
    with pytest.raises(ValueError, match=r"must make a mistake dearer .* both rows; got \[\["):
        check_aim(costs)


def test_costs_must_be_finite():
    with pytest.raises(ValueError, match=r"costs in scoring must be finite"):
        check_aim([[0, np.inf], [1, 0]])


def test_f_of_zero():
    with pytest.raises(ValueError, match=r"beta == 0.0, must be > 0"):
        check_aim("f0")
