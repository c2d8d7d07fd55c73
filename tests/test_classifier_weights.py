"""Sample weights and metadata routing of MetricKNNClassifier."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, BalancedDiscriminant, Euclidean, MetricKNNClassifier
from tests.conftest import make_problem

Q = np.random.default_rng(1).normal(0.5, 1.5, size=(40, 3))
VOTES = [
    {"vote": "majority"},
    {"vote": "majority", "multiclass": "one_vs_rest"},
    {"vote": "majority", "n_neighbors": "auto"},
    {"vote": "adjusted"},
    {"vote": "score", "n_neighbors": "auto"},
]


@pytest.fixture(scope="module")
def data():
    return make_problem(1, n_samples=60, n_classes=3)


def outputs(model):
    distances, rows = model.kneighbors(Q, label=model.classes_[0])
    values = [model.predict(Q), model.predict_proba(Q), distances]
    if model.vote != "majority":
        values.append(model.decision_function(Q))
    return values, rows


@pytest.mark.parametrize("params", VOTES)
@pytest.mark.parametrize("learner", [Euclidean(), IML(tol=1e-2)])
def test_a_weight_of_zero_is_a_missing_row(data, params, learner):
    X, y = data
    model = MetricKNNClassifier(learner, cv=3, random_state=0, **params)
    weights = np.arange(len(y)) % 4  # a fourth of the rows is left out
    kept = np.flatnonzero(weights)
    values, rows = outputs(clone(model).fit(X, y, sample_weight=weights))
    expected, kept_rows = outputs(model.fit(X[kept], y[kept], sample_weight=weights[kept]))
    for ours, theirs in zip(values, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(rows, kept[kept_rows])  # numbers of the rows given to fit


@pytest.mark.parametrize("params", VOTES)
def test_weights_of_one_change_nothing(data, params):
    X, y = data
    model = MetricKNNClassifier(IML(tol=1e-2), cv=3, random_state=0, **params)
    values, rows = outputs(clone(model).fit(X, y, sample_weight=np.ones(len(y))))
    expected, expected_rows = outputs(model.fit(X, y))
    for ours, theirs in zip([*values, rows], [*expected, expected_rows], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_class_without_weight_is_not_there(data):
    X, y = data
    model = MetricKNNClassifier(Euclidean()).fit(X, y, sample_weight=y != 1)
    assert model.classes_.tolist() == [0, 2]
    assert not np.any(model.predict(Q) == 1)
    assert model.kneighbors(n_neighbors=2, return_distance=False).shape == (np.sum(y != 1), 2)


def test_votes_are_multiplied_by_weights():
    X = np.array([[0.0], [1.0], [2.0], [9.0]])
    y = np.array(["a", "b", "b", "c"])
    model = MetricKNNClassifier(Euclidean(), 3)
    assert model.fit(X, y).predict([[1.0]]).tolist() == ["b"]
    model.fit(X, y, sample_weight=[5.0, 1.5, 1.5, 1.0])
    assert model.predict([[1.0]]).tolist() == ["a"]
    np.testing.assert_allclose(model.predict_proba([[1.0]]), [[5 / 8, 3 / 8, 0]])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_the_unit_of_the_weights_does_not_matter_to_a_majority(data, scale):
    X, y = data
    weights = np.random.default_rng(0).uniform(0.5, 2.0, size=len(y))
    model = MetricKNNClassifier(BalancedDiscriminant(), multiclass="one_vs_rest")
    model.fit(X, y, sample_weight=scale * weights)
    votes = np.zeros((len(Q), 3))
    for c in range(3):
        _, rows = model.kneighbors(Q, label=c)
        votes[:, c] = np.sum(weights[rows] * (y[rows] == c), axis=1)
    assert len(np.unique(votes.argmax(axis=1))) == 3
    np.testing.assert_array_equal(model.predict(Q), votes.argmax(axis=1))


def test_a_list_of_folds_refers_to_the_rows_given_to_fit(data):
    X, y = data
    weights = np.arange(len(y)) % 4
    kept = np.flatnonzero(weights)
    folds = list(StratifiedKFold(3).split(X[kept], y[kept]))
    model = MetricKNNClassifier(Euclidean(), vote="score", cv=folds)
    expected = model.fit(X[kept], y[kept], sample_weight=weights[kept]).predict_proba(Q)
    given = [(kept[train], kept[test]) for train, test in folds]
    model.set_params(cv=given).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(Q), expected)
    masks = [tuple(np.isin(np.arange(len(y)), part) for part in fold) for fold in given]
    model.set_params(cv=masks).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.predict_proba(Q), expected)


class Recorder(TransformerMixin, BaseEstimator):
    """A learner that keeps what its fit was given."""

    def fit(self, X, y, sample_weight=None, costs=None):
        self.given_ = (len(X), sample_weight, costs)
        return self

    def transform(self, X):
        return X


def test_without_routing_a_learner_gets_weights_if_its_fit_has_them(data):
    X, y = data
    weights = np.arange(len(y)) % 4
    model = MetricKNNClassifier(Recorder()).fit(X, y, sample_weight=weights)
    n_rows, given, _ = model.metric_.given_
    np.testing.assert_array_equal(given, weights[weights > 0])
    assert n_rows == len(given)
    assert MetricKNNClassifier(Recorder()).fit(X, y).metric_.given_[1] is None
    frozen = FrozenEstimator(Euclidean().fit(X, y))
    for learner in (Euclidean(), frozen, make_pipeline(StandardScaler(), Recorder())):
        MetricKNNClassifier(learner).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match=r"fit got costs, .*enable_metadata_routing=True"):
        MetricKNNClassifier(Recorder()).fit(X, y, costs=weights)


@pytest.mark.parametrize("requested", [True, False])
def test_a_pipeline_with_routing(data, requested):
    X, y = data
    X = StandardScaler().fit_transform(X)
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=len(y))
    with config_context(enable_metadata_routing=True):
        learner = IML(tol=1e-2).set_fit_request(sample_weight=requested)
        model = MetricKNNClassifier(learner).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, model).fit(X, y, sample_weight=weights)
    alone = IML(tol=1e-2).fit(X, y, sample_weight=weights if requested else None)
    np.testing.assert_allclose(pipeline[-1].metric_.components_, alone.components_, atol=1e-8)
    by_hand = MetricKNNClassifier(FrozenEstimator(pipeline[-1].metric_))
    by_hand.fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(pipeline.predict_proba(Q), by_hand.predict_proba(Q))


def test_metadata_under_another_name_follow_the_rows(data):
    X, y = data
    weights, costs = np.arange(len(y)) % 4, np.arange(len(y))
    with config_context(enable_metadata_routing=True):
        learner = Recorder().set_fit_request(sample_weight=False, costs="prices")
        model = MetricKNNClassifier(learner).set_fit_request(sample_weight=True)
        pipeline = make_pipeline(model).fit(X, y, sample_weight=weights, prices=costs)
    n_rows, no_weights, given = pipeline[-1].metric_.given_
    assert n_rows == len(given)
    assert no_weights is None
    np.testing.assert_array_equal(given, costs[weights > 0])


def test_with_routing_a_learner_must_say_whether_it_wants_weights(data):
    X, y = data
    with config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.* for IML\.fit"):
            MetricKNNClassifier(IML()).fit(X, y, sample_weight=np.ones(len(y)))
        MetricKNNClassifier(Euclidean()).fit(X, y, sample_weight=np.ones(len(y)))
