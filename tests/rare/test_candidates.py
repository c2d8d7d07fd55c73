import numpy as np
import pytest
from scipy.stats import spearmanr

from raremetric import IML, BalancedDiscriminant, BoostedLeaves
from raremetric.features.ranks import DifferingFeatures
from raremetric.neighbors import NeighborSearch
from raremetric.rare.candidates import (
    LOG_ODDS,
    TREES,
    LogOddsDistance,
    MetricSpec,
    default_metrics,
    groups_of,
    metric_numbers,
    with_readings,
)
from raremetric.rare.policy import FEW_ROWS, LOG_ODDS_READINGS, MANY_TIMES
from raremetric.validation import check_labels
from raremetric.voting import READINGS, Reading, class_scores, distance_floor
from tests.conftest import make_problem


def test_every_group_has_a_weight_and_every_candidate_its_own_description():
    metrics, candidates = default_metrics(), with_readings(default_metrics())
    groups = groups_of(metrics, 10, 10)
    assert set(groups.names) == set(groups.weights)
    assert {reading for _, reading in candidates} == {*READINGS, *LOG_ODDS_READINGS}
    for described in (
        {(m.branch, repr(m.learner), str(reading)) for m, reading in candidates},
        {metric.words(reading) for metric, reading in candidates},
        {metric.name(reading) for metric, reading in candidates},
    ):
        assert len(described) == len(candidates)
    assert not any("\n" in metric.words(reading) for metric, reading in candidates)


def test_trees_count_little_with_few_positives():
    few, many = (groups_of(default_metrics(), 100, n).weights[TREES] for n in (5, 5000))
    assert few < 0.2
    assert many == pytest.approx(1.5, abs=0.02)


def test_the_number_of_metrics_is_limited_with_many_rows_and_log_odds_count_as_one():
    metrics = default_metrics()
    numbers, candidates = metric_numbers(metrics), with_readings(metrics)
    assert [metrics[number] for number in numbers] == [metric for metric, _ in candidates]
    assert groups_of(metrics, FEW_ROWS - 1, 10).metrics is None
    limited = groups_of(metrics, FEW_ROWS, 10).metrics
    in_group = np.array([metric.group == LOG_ODDS for metric, _ in candidates])
    np.testing.assert_array_equal(limited[~in_group], numbers[~in_group])
    assert in_group.sum() == 4
    (own,) = set(limited[in_group].tolist())
    assert own not in limited[~in_group]


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


@pytest.mark.parametrize(
    ("reading", "what"),
    [
        (Reading(20, averaged=True, power=2), "mean of the squared distances to the 20"),
        (Reading(4), "last of the distances to the 4"),
        (LOG_ODDS_READINGS[0], "difference between the means of the distances to the 80"),
    ],
)
def test_candidates_in_words(reading, what):
    kernel = MetricSpec("a", "b", (), BalancedDiscriminant(), before="a kernel")
    expected = (
        f"BalancedDiscriminant() after a kernel, by the {what} nearest examples of each class"
    )
    assert kernel.words(reading) == expected


def scores_by_log_odds(examples, y, queries, reading):
    metric = LogOddsDistance().fit(examples, y)
    Z = metric.transform(examples)
    search = NeighborSearch(Z, check_labels(y, "A test"))
    found = search.nearest_of_each_class(metric.transform(queries), reading.size)
    return class_scores([near.distances for near in found], distance_floor(Z), [reading])[0, :, 1]


def test_rows_are_ranked_as_by_the_trees_where_the_classes_overlap():
    X, y = make_problem(0, n_samples=400)
    y = np.where(np.random.default_rng(0).uniform(size=400) < 0.2, 1 - y, y)
    leaves = BoostedLeaves(20, random_state=0).fit(X[:300], y[:300])
    learned, queries = leaves.transform(X[:300]), leaves.transform(X[300:])
    metric = LogOddsDistance().fit(learned, y[:300])
    np.testing.assert_allclose(
        metric.pair_distance([[queries[0], queries[1]]])[0],
        abs(queries[0].sum() - queries[1].sum()),
        rtol=1e-5,
    )
    scores = scores_by_log_odds(learned, y[:300], queries, Reading(80, averaged=True, power=2))
    assert spearmanr(scores, queries.sum(axis=1)).statistic > 0.98


def test_with_its_own_reading_the_score_is_nearly_the_log_odds_of_the_trees():
    """Also where the classes do not overlap; ratios of distances saturate there."""
    X, y = make_problem(0, n_samples=4000)
    leaves = BoostedLeaves(20, random_state=0).fit(X[:3000], y[:3000])
    examples, queries = leaves.transform(X[:600]), leaves.transform(X[3000:])
    own = scores_by_log_odds(examples, y[:600], queries, *LOG_ODDS_READINGS)
    log_odds = queries.sum(axis=1)
    assert spearmanr(own, log_odds).statistic > 0.999
    assert np.corrcoef(own, log_odds)[0, 1] > 0.98
