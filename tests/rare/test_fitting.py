import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, BoostedLeaves, Euclidean, KernelLandmarks
from raremetric.features.ranks import DifferingFeatures
from raremetric.rare.candidates import MetricSpec
from raremetric.rare.fitting import MoreRows, SharedTransform, fit_metrics
from raremetric.rare.scores import LogisticScore, LogOdds
from raremetric.validation import check_labels
from raremetric.voting import Reading
from tests.conftest import make_problem

SCALED = (StandardScaler(),)
MAPPED = (*SCALED, KernelLandmarks())
METRICS = [
    MetricSpec("linear", "plain", SCALED, Euclidean()),
    MetricSpec("curved", "landmarks", MAPPED, BalancedDiscriminant(0.1, 3.0)),
    MetricSpec("curved", "landmarks", MAPPED, BalancedDiscriminant(0.5, 1.0)),
    MetricSpec("curved", "landmarks", MAPPED, Euclidean()),
]


@pytest.fixture(scope="module")
def data():
    X, y = make_problem(0, n_samples=40)
    return 3 * X + 1, check_labels(y, "A test")


@pytest.fixture(scope="module")
def fitted(data):
    return list(fit_metrics(METRICS, *data, seed=0))


def test_rows_are_mapped_and_searched_for_as_by_each_pipeline(data, fitted):
    queries = make_problem(1, n_samples=8)[0]
    mapped = SharedTransform(queries)
    for metric in fitted:
        np.testing.assert_allclose(
            mapped.project(metric.pipeline), metric.pipeline.transform(queries), atol=1e-9
        )
        found = metric.search.nearest(metric.pipeline.transform(data[0])[:5], 1)
        assert found.indices[:, 0].tolist() == [0, 1, 2, 3, 4]
        np.testing.assert_allclose(found.distances, 0, atol=1e-9)


def test_kernels_of_all_widths_share_the_distances_to_the_same_landmarks(data, monkeypatch):
    X, labels = data
    queries, calls = make_problem(1, n_samples=8)[0], []
    kernels = [
        KernelLandmarks(width=width, n_landmarks=9, random_state=seed).fit(X, labels.codes)
        for width, seed in ((0.5, 0), (2.0, 0), (2.0, 1))
    ]
    expected = [kernel.transform(queries) for kernel in kernels]
    distances = KernelLandmarks.distances
    monkeypatch.setattr(
        KernelLandmarks, "distances", lambda *given: calls.append(1) or distances(*given)
    )
    mapped = SharedTransform(queries)
    for kernel, own in zip(kernels, expected, strict=True):
        np.testing.assert_array_equal(mapped((kernel,)), own)
    assert len(calls) == 2  # the third kernel has other landmarks


def test_learners_fitted_together_equal_those_fitted_alone(data, fitted):
    X, labels = data
    for metric, spec in zip(fitted, METRICS, strict=True):
        Z = metric.pipeline[:-1].transform(X)
        alone = clone(spec.learner).fit(Z, labels.codes)
        np.testing.assert_allclose(metric.pipeline[-1].components_, alone.components_, atol=1e-9)
        assert metric.pipeline[-1].get_params() == spec.learner.get_params()


def test_common_steps_are_fitted_once(fitted):
    assert len({id(metric.pipeline[0]) for metric in fitted}) == 1
    assert len({id(metric.pipeline[1]) for metric in fitted[1:]}) == 1
    assert len({id(metric.pipeline[-1]) for metric in fitted}) == 4


def test_scores_are_higher_for_the_second_class(data, fitted):
    X, labels = data
    metric = fitted[0]
    center = metric.pipeline.transform(X[labels.codes == 1].mean(axis=0, keepdims=True))
    Z = metric.pipeline.transform(X)
    second = [np.sort(np.linalg.norm(Z[labels.codes == c] - center, axis=1))[1] for c in (0, 1)]
    scores, found = metric.scores(center, [Reading(2)])
    np.testing.assert_allclose([near.distances[0, 1] for near in found], second)
    np.testing.assert_allclose(scores, [[np.log(second[0]) - np.log(second[1])]])
    assert scores[0, 0] > 0


def test_trees_after_a_selection_learn_from_more_rows(data):
    X, labels = data
    more = MoreRows(*make_problem(5, n_samples=200), None)
    (metric,) = fit_metrics(
        [MetricSpec("trees", "", (DifferingFeatures(2), BoostedLeaves(5)), Euclidean())],
        X, labels, seed=0, more=more,
    )  # fmt: skip
    selection, trees, _ = (step for _, step in metric.pipeline.steps)
    both = np.concatenate([X, more.X])[:, selection.support_]
    y = np.concatenate([labels.classes[labels.codes], more.y])
    alone = BoostedLeaves(5, random_state=0).fit(both, y)
    np.testing.assert_array_equal(trees.transform(both), alone.transform(both))


def test_plain_scores_are_those_of_scikit_learn_and_of_the_trees(data):
    X, labels = data
    queries, y = make_problem(1, n_samples=8)[0], labels.classes[labels.codes]
    trees = (BoostedLeaves(5),)
    specs = [
        MetricSpec("logistic", "", SCALED, LogisticScore(0.1), ()),
        MetricSpec("log-odds", "", trees, LogOdds(), ()),
    ]
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    logistic, log_odds = fit_metrics(specs, X, labels, 0, weights)
    scaler = StandardScaler().fit(X, sample_weight=weights)
    model = LogisticRegression(C=0.1).fit(scaler.transform(X), y, weights)
    found, neighbors = logistic.scores(logistic.pipeline.transform(queries), [])
    expected = model.decision_function(scaler.transform(queries)) - model.intercept_
    np.testing.assert_allclose(found, [expected], atol=1e-3)
    assert [near.distances.shape for near in neighbors] == [(8, 0), (8, 0)]
    found, _ = log_odds.scores(log_odds.pipeline.transform(queries), [])
    leaves = BoostedLeaves(5, random_state=0).fit(X, y, weights)
    np.testing.assert_allclose(found[0], leaves.transform(queries).sum(axis=1), rtol=1e-5)


def test_logistic_regressions_learn_from_more_rows_than_can_be_neighbors(data):
    X, labels = data
    more = MoreRows(*make_problem(5, n_samples=200), None)
    specs = [
        MetricSpec("linear", "", SCALED, Euclidean()),
        MetricSpec("logistic", "", SCALED, LogisticScore(), ()),
    ]
    metric, logistic = fit_metrics(specs, X, labels, 0, None, more)
    assert len(metric.search.Z) == 40
    scaler = StandardScaler().fit(X)
    Z = scaler.transform(np.concatenate([X, more.X]))
    y = np.concatenate([labels.classes[labels.codes], more.y])
    model = LogisticRegression().fit(Z, y)
    np.testing.assert_allclose(logistic.pipeline[-1].components_, model.coef_, atol=1e-3)
