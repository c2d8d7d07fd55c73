"""Sample weights of RareClassifier."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, BalancedDiscriminant, ImportanceWeights, RareClassifier
from raremetric.rare import classifier
from raremetric.rare.candidates import MetricSpec
from raremetric.rare.fitting import fit_metrics
from raremetric.selection import Sample
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.rare.conftest import SOON, rare_problem

Q = rare_problem(seed=9)[0]
WEIGHTS = np.random.default_rng(0).uniform(0.1, 6.0, size=60)
SCALED = (StandardScaler(),)
# Every kind of step and learner that receives weights.
METRICS = [
    MetricSpec("linear", "standard", SCALED, IML(tol=1e-2)),
    MetricSpec("linear", "standard", SCALED, BalancedDiscriminant()),
    MetricSpec("importance, laplacian", "i", (*SCALED, ImportanceWeights()), IML(tol=1e-2)),
]


@pytest.fixture(autouse=True)
def few_weighted_metrics(monkeypatch):
    monkeypatch.setattr(classifier, "default_metrics", lambda *given: METRICS)


def fit(X, y, weights=None, **params):
    return RareClassifier(SOON, random_state=0, **params).fit(X, y, sample_weight=weights)


def outputs(model):
    """All that a model gives, and the rows that are neighbors."""
    distances, rows = model.kneighbors(Q, label=model.classes_[0])
    results = [model.cv_results_[name] for name in ("utility", "log_loss", "average_precision")]
    return [model.predict(Q), model.predict_proba(Q), distances, *results], rows


@pytest.mark.parametrize("params", [{}, {"max_samples": 30}, {"scoring": "recall>=0.8"}])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_weight_of_zero_is_a_missing_row(params, n_classes):
    X, y = make_problem(1, n_samples=60, n_classes=n_classes)
    weights = np.arange(len(y)) % 4
    kept = np.flatnonzero(weights)
    values, rows = outputs(fit(X, y, weights, **params))
    expected, kept_rows = outputs(fit(X[kept], y[kept], weights[kept], **params))
    for ours, theirs in zip(values, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_array_equal(rows, kept[kept_rows])  # numbers of the rows given to fit


@pytest.mark.parametrize("constant", [1.0, 2.0])
def test_equal_weights_change_nothing(constant):
    X, y = rare_problem()
    values, rows = outputs(fit(X, y, np.full(len(y), constant)))
    expected, expected_rows = outputs(fit(X, y))
    for ours, theirs in zip([*values, rows], [*expected, expected_rows], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_only_ratios_matter():
    X, y = rare_problem()
    once, scaled = fit(X, y, WEIGHTS), fit(X, y, 1024 * WEIGHTS)
    np.testing.assert_allclose(once.predict_proba(Q), scaled.predict_proba(Q), rtol=1e-6)
    assert once.threshold_ == pytest.approx(scaled.threshold_)
    assert once.best_score_ == pytest.approx(scaled.best_score_)


@pytest.mark.parametrize("max_samples", [None, 100])
def test_probabilities_are_those_of_the_weighted_table(max_samples):
    X, y = rare_problem(n_samples=400, n_positive=40)
    weights = np.where(y == 1, 6.0, 1.0)  # two fifths of the total weight
    model = fit(X, y, weights, max_samples=max_samples)
    X, y = rare_problem(seed=1, n_samples=1000, n_positive=400)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.4, abs=0.04)
    assert model.validation_["alerts_per_1000"] == pytest.approx(400, abs=100)


def test_steps_and_learners_receive_the_weights():
    X, y = rare_problem()
    fitted = list(fit_metrics(METRICS, X, check_labels(y, "A test"), 0, WEIGHTS))
    Z = StandardScaler().fit(X, sample_weight=WEIGHTS).transform(X)
    importances = ImportanceWeights(random_state=0).fit(Z, y, sample_weight=WEIGHTS)
    for metric, spec, mapped in zip(fitted, METRICS, (Z, Z, importances.transform(Z)), strict=True):
        alone = clone(spec.learner).fit(mapped, y, sample_weight=WEIGHTS)
        np.testing.assert_allclose(metric.pipeline[-1].components_, alone.components_)
    for metric in fit(X, y, WEIGHTS).ensemble_.metrics:  # the chosen metrics, too
        rows = metric.search.labels.codes < 2  # that it was fitted on
        mean = np.average(X[rows], axis=0, weights=WEIGHTS[rows])
        np.testing.assert_allclose(metric.pipeline[0].mean_, mean)


def test_three_classes_are_three_weighted_classifiers():
    X, y = make_problem(1, n_samples=60, n_classes=3)
    model, alone = fit(X, y, WEIGHTS), fit(X, y == 2, WEIGHTS, pos_label=True)
    assert model.estimators_[2].threshold_ == alone.threshold_
    np.testing.assert_array_equal(model.decision_function(Q)[:, 2], alone.decision_function(Q))


def test_routing():
    X, y = rare_problem()
    with config_context(enable_metadata_routing=True):
        model = RareClassifier(SOON, random_state=0).set_fit_request(sample_weight=True)
        piped = make_pipeline(model).fit(X, y, sample_weight=WEIGHTS)
    expected = fit(X, y, WEIGHTS).predict_proba(Q)
    np.testing.assert_array_equal(piped.predict_proba(Q), expected)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(60), r"sample_weight must not be negative"),
        (np.zeros(60), r"sample_weight is zero for every example"),
        (np.ones(59), r"expected \(60,\): one weight per example"),
        (rare_problem()[1], r"only one class: 1"),
        (1.0 - rare_problem()[1] * (np.cumsum(rare_problem()[1]) > 1), r"class 1 has 1"),
    ],
)
def test_invalid_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        fit(*rare_problem(), weights)


def test_class_weights_are_the_total_weight_per_sampled_weight():
    y, rows = np.array([0, 0, 0, 0, 1, 1]), np.array([1, 2, 4, 5])
    weights = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    sample = Sample.of(y == 1, rows, weights)
    np.testing.assert_allclose(sample.stands_for, [10 / 5, 1])
    np.testing.assert_allclose(sample.weights, np.array([2, 3, 5, 6]) / 4)
