import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score
from sklearn.metrics import log_loss as sklearn_log_loss

from raremetric.selection.calibration import fit_sigmoid
from raremetric.selection.measures import (
    Evaluation,
    average_precision,
    evaluate,
    log_loss,
    rank,
    standard_error,
    validate,
)
from raremetric.selection.sample import Sample
from raremetric.selection.thresholds import best_threshold, check_aim, cost_utility

F1 = check_aim("f1")
RNG = np.random.default_rng(0)
POSITIVE = RNG.random(50) < 0.3
SCORES = RNG.normal(size=(3, 2, 50)) + POSITIVE


@pytest.mark.parametrize("n_levels", [1, 3, 10**9])
def test_average_precision_is_scikit_learns_also_with_equal_scores(n_levels):
    rng = np.random.default_rng(n_levels)
    scores, weights = rng.integers(n_levels, size=50).astype(float), rng.uniform(0.5, 3, size=50)
    order = rng.permutation(50)
    for own in (None, weights):
        theirs = average_precision_score(POSITIVE, scores, sample_weight=own)
        assert average_precision(scores, POSITIVE, own) == pytest.approx(theirs)
        moved = None if own is None else own[order]
        assert average_precision(scores[order], POSITIVE[order], moved) == pytest.approx(theirs)


def test_repeats_are_pooled():
    evaluation = evaluate(SCORES, Sample(POSITIVE), F1)
    truth = np.tile(POSITIVE, 2)
    for i in range(3):
        pooled = SCORES[i].reshape(-1)
        p = fit_sigmoid(pooled, truth)(pooled)
        predicted = p >= best_threshold(p, F1.utility)
        hits = np.sum(predicted & truth)
        assert evaluation.utility[i] == pytest.approx(2 * hits / (predicted.sum() + truth.sum()))
        assert evaluation.log_loss[i] == pytest.approx(sklearn_log_loss(truth, p))
        precision = [average_precision_score(POSITIVE, row) for row in SCORES[i]]
        assert evaluation.average_precision[i] == pytest.approx(np.mean(precision))


def test_rank_sums_within_groups_by_hand():
    evaluation = Evaluation(
        utility=np.array([0.9, 0.8, 0.7, 0.1]),
        log_loss=np.array([0.3, 0.1, 0.2, 0.9]),
        average_precision=np.array([0.5, 0.9, 0.6, 0.2]),
    )
    # Rank sums of the first three: 1+3+3, 2+1+1, 3+2+2; the tie goes to the first.
    groups = ["a", "a", "a", "b"]
    assert rank(evaluation, groups).tolist() == [2, 1, 3, 1]
    assert rank(evaluation, groups, ("average_precision",)).tolist() == [3, 1, 2, 1]
    constrained = check_aim("precision>=0.5").measures
    assert rank(evaluation, groups, constrained).tolist() == [3, 1, 2, 1]


@pytest.fixture(scope="module")
def repeated():
    """Integer weights, and the rows that they are repetitions of."""
    weights = np.random.default_rng(3).integers(1, 4, size=50)
    return weights.astype(float), np.repeat(np.arange(50), weights)


def test_weights_are_repetitions(repeated):
    weights, rows = repeated
    weighted = fit_sigmoid(SCORES, POSITIVE, weights)
    listed = fit_sigmoid(SCORES[..., rows], POSITIVE[rows])
    np.testing.assert_allclose(weighted.slope, listed.slope)
    np.testing.assert_allclose(weighted.intercept, listed.intercept)
    p = weighted(SCORES)
    np.testing.assert_allclose(
        log_loss(p, POSITIVE, weights), log_loss(p[..., rows], POSITIVE[rows])
    )
    np.testing.assert_allclose(
        average_precision(SCORES, POSITIVE, weights),
        average_precision(SCORES[..., rows], POSITIVE[rows]),
    )
    for ours, theirs in zip(
        evaluate(SCORES, Sample(POSITIVE, weights), F1),
        evaluate(SCORES[..., rows], Sample(POSITIVE[rows]), F1),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_validated_measures_are_scikit_learns(weighted, repeated):
    weights = repeated[0] if weighted else None
    scores, predicted = SCORES[0], SCORES[0] > 0.8
    found = validate(scores, Sample(POSITIVE, weights), predicted)
    truth, called = np.tile(POSITIVE, 2), predicted.ravel()
    pooled = None if weights is None else np.tile(weights, 2)
    for name, measure in (
        ("precision", precision_score),
        ("recall", recall_score),
        ("f1", f1_score),
    ):
        assert found[name] == pytest.approx(measure(truth, called, sample_weight=pooled))
    each = [average_precision_score(POSITIVE, row, sample_weight=weights) for row in scores]
    assert found["average_precision"] == pytest.approx(np.mean(each))
    assert found["alerts_per_1000"] == pytest.approx(1000 * np.average(called, weights=pooled))
    if not weighted:
        shares = predicted.mean(axis=0)  # of the repeats
        error = 1000 * shares.std() / np.sqrt(len(shares) - 1)
        assert found["alerts_per_1000_std"] == pytest.approx(error, rel=0.05)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_standard_error_leaves_out_one_example_at_a_time(weighted, repeated):
    weights = repeated[0] if weighted else np.ones(50)
    predicted = SCORES[0] > 0.8
    without = []
    for i in range(50):
        rest = np.delete(np.arange(50), i)
        truth, called = np.tile(POSITIVE[rest], 2), predicted[:, rest].ravel()
        without.append(f1_score(truth, called, sample_weight=np.tile(weights[rest], 2)))
    expected = np.sqrt(49 / 50 * np.sum((without - np.mean(without)) ** 2))
    given = weights if weighted else None
    assert standard_error(predicted, Sample(POSITIVE, given), F1.utility) == pytest.approx(expected)


def test_the_standard_error_leaves_out_one_set_at_a_time():
    sets = np.arange(50) % 7
    predicted, without = SCORES[0] > 0.8, []
    for number in range(7):
        rest = np.flatnonzero(sets != number)
        without.append(f1_score(np.tile(POSITIVE[rest], 2), predicted[:, rest].ravel()))
    expected = np.sqrt(6 / 7 * np.sum((without - np.mean(without)) ** 2))
    found = standard_error(predicted, Sample(POSITIVE), F1.utility, sets)
    assert found == pytest.approx(expected)


def test_the_standard_error_of_a_mean_is_the_textbook_one():
    wrong = (SCORES[:1, 0] > 0.8) != POSITIVE
    share_wrong = cost_utility(np.array([[0.0, 1.0], [1.0, 0.0]]))
    found = standard_error(SCORES[:1, 0] > 0.8, Sample(POSITIVE), share_wrong)
    assert found == pytest.approx(wrong.std(ddof=1) / np.sqrt(wrong.size))


def test_the_standard_error_is_the_spread_over_new_samples():
    rng = np.random.default_rng(0)
    positive = rng.random((400, 300)) < 0.3
    predicted = rng.random((400, 300)) < np.where(positive, 0.7, 0.2)
    values = [f1_score(*pair) for pair in zip(positive, predicted, strict=True)]
    errors = [
        standard_error(called[np.newaxis], Sample(truth), F1.utility)
        for truth, called in zip(positive[:50], predicted[:50], strict=True)
    ]
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.1)
