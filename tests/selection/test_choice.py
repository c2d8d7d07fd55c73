import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.metrics import f1_score

from raremetric.rare.policy import AVERAGING
from raremetric.selection import Groups, Sample, average_best, check_aim, choose, decide
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
        return loss + 3 * np.sum((parameters[:2] - np.log(prior)) ** 2)

    found = weigh(scores, positive, prior, AVERAGING._replace(drop_cost=1e9))
    best = minimize(objective, np.zeros(4), method="Nelder-Mead", options={"maxiter": 20000,
                    "maxfev": 20000, "xatol": 1e-9, "fatol": 1e-12})  # fmt: skip
    np.testing.assert_allclose(found, np.exp(best.x[:2]), rtol=1e-3)


def test_few_rows_leave_the_prior_and_many_move_it():
    few, many = (weigh(*simulate(n, [1.5, 3.0]), [3.0, 2.0]) for n in (60, 4000))
    assert few[0] / few[1] == pytest.approx(1.5, rel=0.5)
    assert many[0] / many[1] < 0.7 * few[0] / few[1]


def test_scores_that_are_noise_are_dropped_only_if_there_is_evidence():
    prior = [3.0, 2.0, 1.0]
    assert weigh(*simulate(5000, [0.0, 0.0, 3.0]), prior)[:2].tolist() == [0, 0]
    assert (weigh(*simulate(5000, [2.0, 2.0, 2.0]), prior) > 0).all()
    assert (weigh(*simulate(30, [1.0, 1.0, 1.5]), prior) > 0).all()


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


def test_the_number_of_metrics_in_a_group_can_be_limited():
    scores = np.random.default_rng(0).normal(size=(8, 1, 50))
    ranks, positive = np.array([1, 8, 2, 3, 4, 5, 6, 7]), np.arange(50) % 5 == 0
    for metrics, expected in (
        (None, [0, 2, 3, 4, 5]),
        (np.array([0, 0, 1, 1, 2, 2, 1, 1]), [0, 2, 3, 6, 7]),
        (np.array([0, 0, 1, 2, 2, 3, 3, 3]), [0, 1, 2]),
    ):
        groups = Groups.one(8)._replace(metrics=metrics)
        kept, _ = average_best(scores, groups, ranks, Sample(positive), AVERAGING)
        assert sorted(kept) == expected


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


def test_a_selection_reports_the_utility_of_its_own_decisions():
    rng = np.random.default_rng(1)
    positive = np.arange(80) % 4 == 0
    scores = rng.normal(size=(6, 2, 80)) + positive
    aim = check_aim("f1")
    choice = choose(scores, Groups.one(6), Sample(positive), aim, AVERAGING)
    averaged = choice.average(scores[choice.kept].reshape(5, -1)).reshape(2, -1)
    selection = decide(averaged, Sample(positive), aim)
    p = selection.calibration(averaged.ravel())
    truth = np.tile(positive, 2)
    assert selection.score == pytest.approx(f1_score(truth, p >= selection.threshold))
    sample = Sample(positive, stands_for=(10.0, 1.0))
    rarer = decide(averaged, sample, aim)
    q = rarer.calibration(averaged.ravel())
    np.testing.assert_allclose(logit(q), logit(p) + np.log(0.1))
    weights = np.where(truth, 1.0, 10.0)
    found = f1_score(truth, q >= rarer.threshold, sample_weight=weights)
    assert rarer.score == pytest.approx(found)
