import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import balanced_accuracy_score, f1_score, fbeta_score, make_scorer

from raremetric.selection.sample import Sample
from raremetric.selection.thresholds import (
    balanced_utility,
    best_threshold,
    check_aim,
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


def expected_utility(p, predicted, utility):
    """The utility of expected counts: each example is positive with its own probability."""
    tp, fp = p[predicted].sum(), (1 - p[predicted]).sum()
    fn, tn = p[~predicted].sum(), (1 - p[~predicted]).sum()
    return float(utility(tn, fp, fn, tp))


@pytest.mark.parametrize("name", UTILITIES)
@given(p=arrays(float, st.integers(1, 12), elements=st.floats(0.001, 0.999)))
@settings(max_examples=40, deadline=None)
def test_no_threshold_has_a_better_expected_utility(name, p):
    utility = UTILITIES[name]
    threshold = best_threshold(p, utility)
    assert 0 < threshold < 1
    calls = [p >= cut for cut in (*p, 1.0)]
    best = max(expected_utility(p, predicted, utility) for predicted in calls)
    assert expected_utility(p, p >= threshold, utility) == pytest.approx(best, rel=1e-9, abs=1e-9)


def test_the_threshold_is_halfway_between_probabilities():
    assert best_threshold(np.array([0.9, 0.8, 0.1, 0.05]), f_utility(1.0)) == pytest.approx(0.45)
    never = cost_utility(np.array([[0.0, 100.0], [1.0, 0.0]]))
    assert best_threshold(np.array([0.5, 0.2]), never) == pytest.approx(0.75)


def test_costs_lead_to_the_textbook_threshold():
    p = np.linspace(0.001, 0.999, 999)
    textbook = (COSTS[0, 1] - COSTS[0, 0]) / (COSTS[0, 1] - COSTS[0, 0] + COSTS[1, 0] - COSTS[1, 1])
    assert best_threshold(p, UTILITIES["cost"]) == pytest.approx(textbook, abs=1e-3)


def test_utilities_are_scikit_learns_measures():
    rng = np.random.default_rng(0)
    positive = rng.random(60) < 0.3
    predicted = rng.random((4, 60)) < 0.5
    for i in range(4):
        for beta in (0.5, 1.0, 2.0):
            assert observed_utility(predicted[i], positive, f_utility(beta)) == pytest.approx(
                fbeta_score(positive, predicted[i], beta=beta)
            )
    np.testing.assert_allclose(
        observed_utility(predicted, positive, balanced_utility),
        [balanced_accuracy_score(positive, row) for row in predicted],
    )
    by_hand = [
        -np.mean([COSTS[int(a), int(b)] for a, b in zip(positive, row, strict=True)])
        for row in predicted
    ]
    np.testing.assert_allclose(observed_utility(predicted, positive, UTILITIES["cost"]), by_hand)


POSITIVE = np.array([1, 1, 1, 0, 0, 0, 0, 0], dtype=bool)
PREDICTED = np.array([1, 1, 0, 1, 0, 0, 0, 0], dtype=bool)  # tn 4, fp 1, fn 1, tp 2


def test_class_weights_are_repetitions():
    often = np.where(POSITIVE, 3, 10)
    for scoring in ("f1", "f2", "balanced_accuracy", [[0, 1], [5, 0]]):
        aim = check_aim(scoring)
        listed = observed_utility(
            np.repeat(PREDICTED, often), np.repeat(POSITIVE, often), aim.utility
        )
        weighted = aim.value(PREDICTED, Sample(POSITIVE, stands_for=(10.0, 3.0)))
        assert weighted == pytest.approx(listed)


@pytest.mark.parametrize(
    ("scoring", "value"),
    [
        ("f1", 2 / 3),
        ("average_precision", 2 / 3),  # which has the threshold of F1
        ("f2", 5 * 2 / (5 * 2 + 4 * 1 + 1)),
        ("f0.5", 1.25 * 2 / (1.25 * 2 + 0.25 * 1 + 1)),
        ("balanced_accuracy", (2 / 3 + 4 / 5) / 2),
        ([[0, 1], [5, -2]], -(1 + 5 - 2 * 2) / 8),
    ],
)
def test_each_aim_by_hand(scoring, value):
    aim = check_aim(scoring)
    assert observed_utility(PREDICTED, POSITIVE, aim.utility) == pytest.approx(value)
    by_all = {"utility", "log_loss", "average_precision"}
    assert set(aim.measures) == ({scoring} if scoring == "average_precision" else by_all)
    none = np.zeros(8, dtype=bool)
    if isinstance(scoring, str) and scoring.startswith("f"):
        assert observed_utility(none, POSITIVE, aim.utility) == 0
        assert observed_utility(none, none, aim.utility) == 0


@pytest.mark.parametrize(
    "scoring",
    [
        *("accuracy", "f", "f-1", "f1x", "precision", "precision>0.8", "f1>=0.8", "recall>=-1"),
        *(None, 3, [1, 2], [[0, 1, 2]], np.eye(3)),
    ],
)
def test_invalid_scoring(scoring):
    with pytest.raises(ValueError, match=r"scoring must be 'f1', another F-beta .* got "):
        check_aim(scoring)


@pytest.mark.parametrize(
    ("scoring", "message"),
    [
        ("accuracy", "For accuracy, give costs of 1 for each error"),
        ("recall", "The highest recall alone is of no use"),
        (make_scorer(f1_score), "a scorer does not take: see .*TunedThresholdClassifierCV"),
        ([[1, 0], [5, 0]], r"wrong prediction must cost more .* both rows; got \[\["),
        ([[0, 1], [0, 0]], r"wrong prediction must cost more .* both rows; got \[\["),
        ([[0, 0], [1, 0]], r"wrong prediction must cost more .* both rows; got \[\["),
        ([[0, 1e308], [1e308, 0]], r"must be between 1/1e\+100 and 1e\+100 in size"),
        ([[0, 1e-320], [1e-320, 0]], r"must be between 1/1e\+100 and 1e\+100 in size"),
        ([[0, np.inf], [1, 0]], r"costs in scoring must be finite"),
        ("f0", r"The beta in scoring == 0.0, must be > 0"),
        ("precision>=0", r"The minimum precision in scoring == "),
        ("recall>=1.01", r"The minimum recall in scoring == "),
    ],
)
def test_what_is_wrong_and_what_to_use_instead(scoring, message):
    with pytest.raises(ValueError, match=message):
        check_aim(scoring)
    check_aim([[0, 1e99], [1e-99, 0]])


@pytest.mark.parametrize("name", UTILITIES)
def test_weights_are_repetitions(name):
    rng = np.random.default_rng(1)
    p, weights = rng.random(30), rng.integers(1, 4, size=30)
    positive, predicted = rng.random(30) < 0.4, rng.random((2, 30)) < 0.5
    utility = UTILITIES[name]
    assert best_threshold(p, utility, weights.astype(float)) == pytest.approx(
        best_threshold(np.repeat(p, weights), utility)
    )
    assert best_threshold(p, utility, np.ones(30)) == best_threshold(p, utility)
    np.testing.assert_allclose(
        observed_utility(predicted, positive, utility, weights.astype(float)),
        observed_utility(
            np.repeat(predicted, weights, axis=1), np.repeat(positive, weights), utility
        ),
    )


def brute_force(p, weights, name, minimum):
    """Predictions of the best threshold, by trying all of them."""
    tried = []
    for cut in np.unique(p):
        called = p >= cut
        precision = np.sum((weights * p)[called]) / np.sum(weights[called])
        recall = np.sum((weights * p)[called]) / np.sum(weights * p)
        measure, other = (precision, recall) if name == "precision" else (recall, precision)
        met = measure >= minimum
        tried.append((met, other if met else measure, called))
    return max(tried, key=lambda each: each[:2])[2]


@pytest.mark.parametrize(
    "scoring", ["precision>=0.7", "precision >= 0.95", "recall>=0.6", "recall>=1"]
)
@given(
    p=arrays(float, st.integers(2, 12), elements=st.sampled_from([0.1, 0.3, 0.55, 0.7, 0.9])),
    seed=st.integers(0, 100),
)
@settings(max_examples=40, deadline=None)
def test_constraints_by_brute_force(scoring, p, seed):
    name, minimum = scoring.replace(" ", "").split(">=")
    weights = np.random.default_rng(seed).uniform(0.3, 3.0, size=len(p))
    aim = check_aim(scoring)
    threshold = best_threshold(p, aim.objective, weights)
    called = brute_force(p, weights, name, float(minimum) - 1e-12)
    np.testing.assert_array_equal(p >= threshold, called)
    value = np.sum((weights * p)[called]) / np.sum(
        weights[called] if name == "precision" else weights * p
    )
    if value >= float(minimum) - 1e-12:
        assert aim.missed(p, threshold, Sample(p > 0.5, weights)) is None
    else:
        assert aim.missed(p, threshold, Sample(p > 0.5, weights)) == pytest.approx(value)


def test_a_constraint_with_class_weights():
    p = np.array([0.9, 0.8, 0.6, 0.2])
    sample = Sample(np.arange(4) < 2, stands_for=(4.0, 1.0))
    # Expected precisions with four times the negatives: 0.69, 0.59, 0.46, 0.29.
    assert check_aim("precision>=0.5").threshold(p, sample) == pytest.approx(0.7)
    assert best_threshold(p, check_aim("precision>=0.5").objective) == pytest.approx(0.1)


def test_the_reported_utility_ignores_the_constraint():
    predicted, positive = np.array([True, True, False]), np.array([True, False, True])
    for scoring in ("precision>=0.9", "recall>=0.9"):
        assert observed_utility(predicted, positive, check_aim(scoring).utility) == 0.5


def test_equal_probabilities_are_not_separated():
    p = np.array([1.0, 0.5, 0.5, 0.5])  # the first two alone would have a precision of 0.75
    threshold = best_threshold(p, check_aim("precision>=0.7").objective)
    assert threshold == pytest.approx(0.75)
