import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import StratifiedKFold

from raremetric.rare.policy import AVERAGING
from raremetric.selection import (
    Groups,
    Sample,
    assess,
    average_best,
    best_threshold,
    check_aim,
    choose,
    decide,
)
from raremetric.selection.choice import weigh_groups


def simulate(n_rows, qualities, seed=0):
    """Scores of rows, of which a tenth is positive, standardized; quality is the shift of these."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n_rows) % 10 == 0
    scores = rng.normal(size=(len(qualities), n_rows)) + np.outer(qualities, positive)
    scores -= scores.mean(axis=1, keepdims=True)
    return scores / scores.std(axis=1, keepdims=True), positive


def weigh(scores, positive, prior, averaging=AVERAGING, n_repeats=1):
    return weigh_groups(scores, np.array(prior), Sample(positive), averaging, n_repeats)


def test_weights_minimize_the_penalized_log_loss():
    scores, positive = simulate(400, [2.0, 1.0])
    prior = np.array([1.0, 3.0])

    def objective(parameters):
        w, slope, intercept = np.exp(parameters[:2]), np.exp(parameters[2]), parameters[3]
        p = expit(slope * w @ scores + intercept)
        loss = -np.log(np.where(positive, p, 1 - p)).sum()
        penalty = np.sum((parameters[:2] - np.log(prior)) ** 2)
        return loss + AVERAGING.strength * penalty

    found = weigh(scores, positive, prior, AVERAGING)
    best = minimize(objective, np.zeros(4), method="Nelder-Mead", options={"maxiter": 20000,
                    "maxfev": 20000, "xatol": 1e-9, "fatol": 1e-12})  # fmt: skip
    np.testing.assert_allclose(found, np.exp(best.x[:2]), rtol=1e-3)


def test_few_rows_leave_the_prior_and_many_move_it():
    few, many = (weigh(*simulate(n, [1.5, 3.0]), [3.0, 2.0]) for n in (60, 4000))
    assert few[0] / few[1] == pytest.approx(1.5, rel=0.5)
    assert many[0] / many[1] < 0.7 * few[0] / few[1]


def test_scores_that_are_noise_lose_their_weight_only_if_there_is_evidence():
    prior = [3.0, 2.0, 1.0]
    many, few = (weigh(*simulate(n, [0.0, 0.0, 3.0]), prior) for n in (5000, 30))
    assert many[:2].sum() < 0.1 * many.sum()
    assert few[:2].sum() > 0.2 * few.sum()


def test_repeats_are_no_further_evidence():
    scores, positive = simulate(200, [2.0, 0.5])
    once = weigh(scores, positive, [1.0, 1.0])
    twice = weigh(np.tile(scores, 2), np.tile(positive, 2), [1.0, 1.0], n_repeats=2)
    np.testing.assert_allclose(once, twice, rtol=1e-4)


def test_separable_scores_and_one_group():
    scores, positive = simulate(100, [50.0, 50.0])
    assert np.isfinite(weigh(scores, positive, [3.0, 2.0])).all()
    assert weigh(scores[:1], positive, [7.0]).tolist() == [1.0]


def test_the_five_best_of_each_group_are_averaged_and_groups_by_their_weights():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(9, 2, 50)) + 3
    groups = Groups(["a"] * 7 + ["b"] * 2, {"a": 3.0, "b": 1.0})
    ranks = np.array([7, 1, 2, 3, 4, 5, 6, 2, 1])
    positive = np.arange(50) % 5 == 0
    kept, average = average_best(scores, groups, ranks, Sample(positive), AVERAGING)
    assert sorted(kept) == [1, 2, 3, 4, 5, 7, 8]
    assert (np.diff(average.weights) <= 0).all()
    assert average.weights.sum() == pytest.approx(1)
    pooled = scores.reshape(9, -1)
    z = (pooled - pooled.mean(axis=1, keepdims=True)) / pooled.std(axis=1, keepdims=True)
    first, second = z[1:6].mean(axis=0), z[7:].mean(axis=0)
    columns = np.stack([first / first.std(), second / second.std()])
    by_hand = weigh(columns, np.tile(positive, 2), [3.0, 1.0], n_repeats=2) @ columns
    averaged = average(pooled[kept])
    np.testing.assert_allclose(averaged / averaged.std(), by_hand / by_hand.std(), atol=1e-9)


def test_a_group_with_the_same_score_for_all_rows_has_no_weight():
    rng, positive = np.random.default_rng(0), np.arange(50) % 5 == 0
    scores = np.stack([np.full((1, 50), 7.0), rng.normal(size=(1, 50)) + positive])
    groups = Groups(["a", "b"], {"a": 1.0, "b": 1.0})
    given = (groups, np.array([1, 1]), Sample(positive), AVERAGING)
    kept, average = average_best(scores, *given)
    assert kept.tolist() == [1]
    assert average.weights.tolist() == [1.0]
    constant = np.full((2, 1, 50), 7.0)
    kept, average = average_best(constant, *given)
    assert sorted(kept) == [0, 1]
    np.testing.assert_array_equal(average(constant[:, 0]), np.zeros(50))


def test_constant_scores_do_not_divide_by_zero():
    constant, positive = np.full((1, 1, 20), 2.0), np.arange(20) < 5
    given = (Groups.one(1), np.array([1]), Sample(positive), AVERAGING)
    kept, average = average_best(constant, *given)
    assert kept.tolist() == [0]
    assert [column.tolist() for column in average] == [[1.0], [2.0], [1.0]]
    np.testing.assert_array_equal(average(np.array([[2.0, 3.0]])), [0, 1])


def test_weights_in_the_average_are_repetitions():
    rng = np.random.default_rng(0)
    scores, weights = rng.normal(size=(3, 2, 30)) + 2, rng.integers(1, 4, size=30)
    positive, repeated = rng.random(30) < 0.3, np.repeat(np.arange(30), weights)
    ranked = Groups(["a", "a", "b"], {"a": 2.0, "b": 1.0}), np.array([1, 2, 1])
    sample = Sample(positive, weights.astype(float))
    kept, average = average_best(scores, *ranked, sample, AVERAGING)
    sample = Sample(positive[repeated])
    same, listed = average_best(scores[..., repeated], *ranked, sample, AVERAGING)
    np.testing.assert_array_equal(kept, same)
    for ours, theirs in zip(average, listed, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4)


def test_a_decision_is_that_of_the_calibrated_average():
    rng = np.random.default_rng(1)
    positive = np.arange(80) % 4 == 0
    averaged = rng.normal(size=(2, 80)) + positive
    aim, truth = check_aim("f1"), np.tile(positive, 2)
    decision = decide(averaged, Sample(positive), aim)
    p = decision.calibration(averaged)
    np.testing.assert_array_equal(decision.predicted, p >= decision.threshold)
    assert decision.threshold == pytest.approx(best_threshold(p.ravel(), aim.utility))
    rarer = decide(averaged, Sample(positive, stands_for=(10.0, 1.0)), aim)
    q = rarer.calibration(averaged)
    np.testing.assert_allclose(logit(q), logit(p) + np.log(0.1))
    np.testing.assert_array_equal(rarer.predicted, q >= rarer.threshold)
    weights = np.where(truth, 1.0, 10.0)
    quality = assess(rarer, averaged[np.newaxis], *single(positive, (10.0, 1.0)))
    alerts = 1000 * np.average(rarer.predicted.ravel(), weights=weights)
    assert quality.measures["alerts_per_1000"] == pytest.approx(alerts)


def single(positive, stands_for=(1.0, 1.0), n_candidates=1):
    """The arguments of `assess` after the scores."""
    sample = Sample(positive, stands_for=stands_for)
    return Groups.one(n_candidates), sample, check_aim("f1"), AVERAGING


def test_each_part_is_predicted_by_what_the_others_choose():
    rng = np.random.default_rng(2)
    positive = np.arange(150) % 3 == 0
    scores = rng.normal(size=(8, 2, 150)) + 0.8 * positive
    groups, sample, aim, averaging = how = single(positive, n_candidates=8)
    choice = choose(scores, *how)
    decision = decide(choice.average(scores[choice.kept]), sample, aim)
    quality = assess(decision, scores, *how)
    predicted, log_odds = np.empty((2, 150), dtype=bool), np.empty((2, 150))
    parts = StratifiedKFold(5, shuffle=True, random_state=0).split(positive, positive)
    for others, own in parts:
        rest = Sample(positive[others])
        found = choose(scores[:, :, others], groups, rest, aim, averaging)
        each = decide(found.average(scores[found.kept][:, :, others]), rest, aim)
        p = each.calibration(found.average(scores[found.kept][:, :, own]))
        predicted[:, own], log_odds[:, own] = p >= each.threshold, logit(p)
    truth = np.tile(positive, 2)
    assert quality.score == pytest.approx(f1_score(truth, predicted.ravel()))
    assert quality.measures["f1"] == quality.score
    precision = [average_precision_score(positive, row) for row in log_odds]
    assert quality.measures["average_precision"] == pytest.approx(np.mean(precision))
    assert quality.measures["alerts_per_1000"] == pytest.approx(1000 * decision.predicted.mean())


def test_the_best_of_many_candidates_that_know_nothing_is_not_praised():
    rng = np.random.default_rng(0)
    positive = np.arange(300) % 10 == 0
    scores, how = rng.normal(size=(200, 1, 300)), single(positive, n_candidates=200)
    choice = choose(scores, *how)
    decision = decide(choice.average(scores[choice.kept]), *how[1:3])
    share = 0.1
    assert f1_score(positive, decision.predicted[0]) > 0.3
    assert assess(decision, scores, *how).score < 2 * share / (1 + share) + 0.05


def test_a_single_positive_cannot_be_left_out():
    positive = np.arange(20) == 3
    scores, how = positive[np.newaxis, np.newaxis].astype(float), single(positive)
    decision = decide(scores[0], *how[1:3])
    assert assess(decision, scores, *how).score == 1


def test_copies_and_groups_are_one_piece_of_evidence():
    """Rows that are there three times say as much as once."""
    rng = np.random.default_rng(3)
    positive = np.arange(120) % 4 == 0
    scores, three = rng.normal(size=(1, 1, 120)) + positive, np.repeat(np.arange(120), 3)
    once = assess(decide(scores[0], *single(positive)[1:3]), scores, *single(positive))
    decision = decide(scores[0][:, three], *single(positive[three])[1:3])
    how = single(positive[three])
    for together in ((three, None), (None, three)):
        found = assess(decision, scores[..., three], *how, together)
        assert found.score_std == pytest.approx(once.score_std, rel=0.2)
        error = once.measures["alerts_per_1000_std"]
        assert found.measures["alerts_per_1000_std"] == pytest.approx(error, rel=0.2)
    assert assess(decision, scores[..., three], *how).score_std < 0.7 * once.score_std
