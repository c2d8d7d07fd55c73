import numpy as np
import pytest

from raremetric import IML, BalancedDiscriminant
from raremetric.features.selection import DifferingFeatures
from raremetric.rare.candidates import (
    FEW_ROWS,
    LOG_ODDS,
    MANY_TIMES,
    TREES,
    MetricSpec,
    default_metrics,
    limited_metrics,
    metric_numbers,
    prior_weights,
    with_readings,
)
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.rare.policy import LOG_ODDS_READINGS
from raremetric.validation import check_labels
from raremetric.voting import READINGS, Reading


def test_every_group_has_a_weight_and_every_candidate_its_own_description():
    metrics = default_metrics()
    assert {metric.group for metric in metrics} == set(prior_weights(10))
    candidates = with_readings(metrics)
    assert {reading for _, reading in candidates} == {*READINGS, *LOG_ODDS_READINGS}
    described = {(m.branch, repr(m.learner), str(reading)) for m, reading in candidates}
    assert len(described) == len(candidates)


def test_candidates_are_numbered_by_their_metric():
    metrics = default_metrics()
    numbers = metric_numbers(metrics)
    assert [metrics[number] for number in numbers] == [m for m, _ in with_readings(metrics)]


def test_the_number_of_metrics_is_limited_with_many_rows_only():
    metrics = [metric for metric in default_metrics() if metric.group != LOG_ODDS]
    assert limited_metrics(metrics, FEW_ROWS - 1) is None
    np.testing.assert_array_equal(limited_metrics(metrics, FEW_ROWS), metric_numbers(metrics))


def test_the_log_odds_of_all_trees_count_as_one_metric():
    metrics = default_metrics()
    numbers = limited_metrics(metrics, FEW_ROWS)
    in_group = np.array([metric.group == LOG_ODDS for metric, _ in with_readings(metrics)])
    assert in_group.sum() == 4
    (own,) = set(numbers[in_group].tolist())
    assert own not in numbers[~in_group]


@pytest.mark.parametrize("many", [False, True])
def test_log_odds_are_a_group_where_trees_learn_from_many_more_rows(many):
    labels = check_labels(np.arange(FEW_ROWS) % 10 == 0, "A test")
    n_for_trees = MANY_TIMES * FEW_ROWS - (not many)
    assert LOG_ODDS not in {metric.group for metric in default_metrics(labels)}
    found = [
        metric
        for metric in default_metrics(labels, 3, n_for_trees)
        if isinstance(metric.learner, LogOddsDistance)
    ]
    assert {metric.group for metric in found} == {LOG_ODDS if many else TREES}
    assert {metric.readings for metric in found} == {LOG_ODDS_READINGS if many else READINGS}


def test_the_reading_of_log_odds_in_words():
    metric, reading = next(each for each in with_readings(default_metrics()) if each[1].power == 1)
    assert metric.words(reading) == (
        "LogOddsDistance() after boosted trees of at most 5 leaves with a learning rate of 0.1, by "
        "the difference between the means of the distances to the 80 nearest examples of each class"
    )


@pytest.mark.parametrize(("n_rows", "n_positive"), [(FEW_ROWS - 1, 100), (FEW_ROWS, 19)])
def test_log_odds_are_no_group_with_few_examples_or_positives(n_rows, n_positive):
    labels = check_labels(np.arange(n_rows) < n_positive, "A test")
    groups = {metric.group for metric in default_metrics(labels, 3, MANY_TIMES * n_rows)}
    assert LOG_ODDS not in groups


def test_iml_is_not_tried_with_many_features():
    few, many = (default_metrics(n_features=n) for n in (100, 101))
    assert {repr(each.learner) for each in few if isinstance(each.learner, IML)}
    kept = [(each.branch, repr(each.learner)) for each in few if not isinstance(each.learner, IML)]
    assert [(each.branch, repr(each.learner)) for each in many] == kept


def test_metrics_of_many_features_begin_with_the_same_selection():
    few, many = (default_metrics(n_features=n, max_features=7) for n in (7, 8))
    assert not any(isinstance(metric.steps[0], DifferingFeatures) for metric in few)
    (selection,) = {metric.steps[0] for metric in many}
    assert isinstance(selection, DifferingFeatures)
    assert selection.max_features == 7
    described = [[(m.branch, repr(m.learner), len(m.steps)) for m in each] for each in (few, many)]
    assert described[1] == [(*names, n_steps + 1) for *names, n_steps in described[0]]


def test_trees_count_little_with_few_positives():
    few, many = prior_weights(5)["trees"], prior_weights(5000)["trees"]
    assert few < 0.2
    assert many == pytest.approx(1.5, abs=0.02)


def test_every_candidate_is_described_in_words():
    words = {metric.words(reading) for metric, reading in with_readings(default_metrics())}
    assert len(words) == len({m.name(r) for m, r in with_readings(default_metrics())})
    assert all(each.endswith("examples of each class") for each in words)
    kernel = MetricSpec("a", "b", (), BalancedDiscriminant(), before="a kernel")
    assert kernel.words(Reading(20, averaged=True, power=2)) == (
        "BalancedDiscriminant() after a kernel, by the mean of the squared distances to the 20 "
        "nearest examples of each class"
    )
    assert kernel.words(Reading(4)) == (
        "BalancedDiscriminant() after a kernel, by the last of the distances to the 4 nearest "
        "examples of each class"
    )
