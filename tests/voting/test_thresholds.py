import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import balanced_accuracy_score, fbeta_score

from raremetric.voting import (
    balanced_utility,
    best_threshold,
    cost_utility,
    f_utility,
    observed_utility,
)

COSTS = np.array([[0.0, 1.0], [7.0, -1.0]])
UTILITIES = {
    "f1": f_utility(1.0),
    "f2": f_utility(2.0),
    "f0.5": f_utility(0.5),
    "balanced": balanced_utility,
    "cost": cost_utility(COSTS),
}


def expected_utility(p, called, utility):
    """Each example is positive with its own probability."""
    tp, fp = p[called].sum(), (1 - p[called]).sum()
    fn, tn = p[~called].sum(), (1 - p[~called]).sum()
    return float(utility(tn, fp, fn, tp))


@pytest.mark.parametrize("name", UTILITIES)
@given(p=arrays(float, st.integers(1, 12), elements=st.floats(0.001, 0.999)))
@settings(max_examples=40, deadline=None)
def test_no_cut_has_a_better_expected_utility(name, p):
    utility = UTILITIES[name]
    threshold = best_threshold(p, utility)
    assert 0 < threshold < 1
    cuts = [p >= cut for cut in (*p, 1.0)]
    best = max(expected_utility(p, called, utility) for called in cuts)
    assert expected_utility(p, p >= threshold, utility) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_a_threshold_lies_halfway():
    assert best_threshold(np.array([0.9, 0.8, 0.1, 0.05]), f_utility(1.0)) == pytest.approx(0.45)
    never = cost_utility(np.array([[0.0, 100.0], [1.0, 0.0]]))
    assert best_threshold(np.array([0.5, 0.2]), never) == pytest.approx(0.75)


def test_costs_put_the_threshold_where_the_textbook_does():
    p = np.linspace(0.001, 0.999, 999)
    textbook = (COSTS[0, 1] - COSTS[0, 0]) / (COSTS[0, 1] - COSTS[0, 0] + COSTS[1, 0] - COSTS[1, 1])
    assert best_threshold(p, UTILITIES["cost"]) == pytest.approx(textbook, abs=1e-3)


def test_utilities_are_scikit_learns_measures():
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.3
    called = rng.random((4, 60)) < 0.5
    for i in range(4):
        for beta in (0.5, 1.0, 2.0):
            assert observed_utility(called[i], positive, f_utility(beta)) == pytest.approx(
                fbeta_score(positive, called[i], beta=beta)
            )
    np.testing.assert_allclose(
        observed_utility(called, positive, balanced_utility),
        [balanced_accuracy_score(positive, row) for row in called],
    )
    by_hand = [
        -sum(COSTS[int(a), int(b)] for a, b in zip(positive, row, strict=True)) for row in called
    ]
    np.testing.assert_allclose(observed_utility(called, positive, UTILITIES["cost"]), by_hand)


def test_nothing_called_is_worth_nothing():
    none = np.zeros(5, dtype=bool)
    assert observed_utility(none, np.arange(5) < 2, f_utility(1.0)) == 0
    assert observed_utility(none, none, f_utility(1.0)) == 0
