import numpy as np
import pytest
from scipy.special import expit
from sklearn.preprocessing import StandardScaler

from raremetric import IML
from raremetric.features.ranks import DifferingFeatures
from raremetric.rare.candidates import (
    LOG_ODDS,
    LOGISTIC,
    TREES,
    MetricSpec,
    default_metrics,
    groups_of,
    metric_numbers,
    with_readings,
)
from raremetric.rare.scores import LogisticScore, LogOdds
from raremetric.voting import READINGS


def test_every_group_has_a_weight_and_every_candidate_its_own_description():
    metrics, candidates = default_metrics(), with_readings(default_metrics())
    groups = groups_of(metrics, 10)
    assert set(groups.names) == set(groups.weights)
    assert {reading for _, reading in candidates} == {*READINGS, None}
    for described in (
        {(m.branch, repr(m.learner), str(reading)) for m, reading in candidates},
        {metric.name(reading) for metric, reading in candidates},
    ):
        assert len(described) == len(candidates)


@pytest.mark.parametrize("group", [TREES, LOGISTIC, LOG_ODDS])
def test_trees_and_plain_scores_count_little_with_few_positives(group):
    few, many = (groups_of(default_metrics(), n).weights[group] for n in (5, 5000))
    assert few < 0.2
    assert many == pytest.approx(1.5, abs=0.02)


def test_plain_scores_have_no_readings_and_metrics_have_all():
    metrics = default_metrics()
    numbers, candidates = metric_numbers(metrics), with_readings(metrics)
    assert [metrics[number] for number in numbers] == [metric for metric, _ in candidates]
    plain = {metric.group for metric, reading in candidates if reading is None}
    assert plain == {LOGISTIC, LOG_ODDS}


def test_iml_is_tried_with_few_features_only():
    """With more, its fits would take longer than all others together."""
    for n_features, max_features, n_iml in ((100, None, 2), (101, None, 0), (900, 100, 2)):
        metrics = default_metrics(n_features, max_features)
        assert sum(isinstance(metric.learner, IML) for metric in metrics) == n_iml


def test_metrics_of_many_features_begin_with_the_same_selection():
    few, many = (default_metrics(n, max_features=7) for n in (7, 8))
    assert not any(isinstance(metric.steps[0], DifferingFeatures) for metric in few)
    (selection,) = {metric.steps[0] for metric in many}
    assert isinstance(selection, DifferingFeatures)
    assert selection.max_features == 7
    described = [[(m.branch, repr(m.learner), len(m.steps)) for m in each] for each in (few, many)]
    assert described[1] == [(*names, n_steps + 1) for *names, n_steps in described[0]]


def test_the_name_of_a_plain_score():
    trees = MetricSpec("a", "trees", (), LogOdds(), ())
    assert trees.name(None) == "trees, LogOdds()"
    assert with_readings([trees]) == [(trees, None)]


def test_the_weights_of_a_logistic_regression_are_those_of_the_problem():
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(5000, 3)), np.array([1.0, -2.0, 0.5])
    y = rng.uniform(size=5000) < expit(X @ w - 2)
    found = LogisticScore(10.0).fit(X, y).components_
    np.testing.assert_allclose(found[0], w, atol=0.15)
    small = LogisticScore(1e-3).fit(StandardScaler().fit_transform(X), y).components_
    assert np.linalg.norm(small) < 0.7 * np.linalg.norm(found)
