import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.metrics import f1_score
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, Euclidean
from raremetric.rare.candidates import MetricSpec, with_readings
from raremetric.rare.ensemble import fit_ensemble, select
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.rare.tuning_set import make_tuning_set
from raremetric.selection import check_aim
from raremetric.selection.averaging import average_best, weigh_groups
from raremetric.validation import check_labels
from tests.conftest import make_problem


def test_the_five_best_of_each_group_are_averaged_and_groups_by_their_weights():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(9, 2, 50)) + 3
    groups = ["a"] * 7 + ["b"] * 2
    ranks = np.array([7, 1, 2, 3, 4, 5, 6, 2, 1])
    positive = np.arange(50) % 5 == 0
    kept, average = average_best(scores, groups, ranks, positive, {"a": 3.0, "b": 1.0})
    assert sorted(kept) == [1, 2, 3, 4, 5, 7, 8]
    assert (np.diff(average.weights) <= 0).all()
    assert average.weights.sum() == pytest.approx(1)
    pooled = scores.reshape(9, -1)
    z = (pooled - pooled.mean(axis=1, keepdims=True)) / pooled.std(axis=1, keepdims=True)
    first, second = z[1:6].mean(axis=0), z[7:].mean(axis=0)
    columns = np.stack([first / first.std(), second / second.std()])
    found = weigh_groups(columns, np.tile(positive, 2), np.array([3.0, 1.0]), n_repeats=2)
    by_hand = found @ columns
    averaged = average(pooled[kept])
    np.testing.assert_allclose(averaged / averaged.std(), by_hand / by_hand.std(), atol=1e-9)


def test_a_group_with_the_same_score_for_all_rows_has_no_weight():
    rng, positive = np.random.default_rng(0), np.arange(50) % 5 == 0
    scores = np.stack([np.full((1, 50), 7.0), rng.normal(size=(1, 50)) + positive])
    given = (["a", "b"], np.array([1, 1]), positive, {"a": 1.0, "b": 1.0})
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
    given = (scores, ["a"] * 8, ranks, positive, {"a": 1.0})
    assert sorted(average_best(*given)[0]) == [0, 2, 3, 4, 5]
    kept, _ = average_best(*given, metrics=np.array([0, 0, 1, 1, 2, 2, 1, 1]))
    assert sorted(kept) == [0, 2, 3, 6, 7]
    kept, _ = average_best(*given, metrics=np.array([0, 0, 1, 2, 2, 3, 3, 3]))
    assert sorted(kept) == [0, 1, 2]


def test_constant_scores_do_not_divide_by_zero():
    constant, positive = np.full((1, 1, 20), 2.0), np.arange(20) < 5
    kept, average = average_best(constant, ["a"], np.array([1]), positive, {"a": 1.0})
    assert kept.tolist() == [0]
    assert [column.tolist() for column in average] == [[1.0], [2.0], [1.0]]
    np.testing.assert_array_equal(average(np.array([[2.0, 3.0]])), [0, 1])


def test_a_selection_reports_the_utility_of_its_own_decisions():
    rng = np.random.default_rng(1)
    positive = np.arange(80) % 4 == 0
    scores = rng.normal(size=(6, 2, 80)) + positive
    selection = select(scores, ["a"] * 6, positive, check_aim("f1"), {"a": 1.0})
    p = expit(selection.log_odds(scores[selection.kept].reshape(5, -1)))
    truth = np.tile(positive, 2)
    assert selection.score == pytest.approx(f1_score(truth, p >= selection.threshold))
    rarer = selection.with_odds(0.1)
    q = expit(rarer.log_odds(scores[selection.kept].reshape(5, -1)))
    np.testing.assert_allclose(logit(q), logit(p) + np.log(0.1))
    np.testing.assert_array_equal(q >= rarer.threshold, p >= selection.threshold)


def test_members_with_the_same_metric_share_it_and_score_as_if_alone():
    X, y = make_problem(2, n_samples=60)
    labels, steps = check_labels(y, "A test"), (StandardScaler(),)
    metrics = [
        MetricSpec("linear", "plain", steps, Euclidean()),
        MetricSpec("linear", "plain", steps, BalancedDiscriminant()),
    ]
    groups = ["linear"] * len(with_readings(metrics))
    tuned = make_tuning_set(
        X, labels, scoring="f1", max_samples=None, random_state=0, thorough=False
    )
    metrics, scores = out_of_fold_scores(metrics, tuned)
    selection = select(scores, groups, y == 1, check_aim("f1"), {"linear": 1.0})
    ensemble = fit_ensemble(metrics, selection, X, labels, 0)
    assert len(ensemble.members) == 5
    assert len(ensemble.metrics) <= 2  # so at least two members share a metric
    queries = make_problem(3, n_samples=7)[0]
    alone = []
    for member in ensemble.members:
        Z, Q = member.pipeline.transform(X), member.pipeline.transform(queries)
        distances = np.linalg.norm(Q[:, np.newaxis] - Z, axis=2)
        by_class = [np.sort(distances[:, y == c], axis=1) for c in (0, 1)]
        alone.append(member.metric.scores(by_class, [member.reading])[0])
    np.testing.assert_allclose(ensemble.log_odds(queries), selection.log_odds(np.array(alone)))
