"""Constraints, other thresholds and the expected quality of RareClassifier."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import average_precision_score, f1_score, precision_score, recall_score
from sklearn.model_selection import FixedThresholdClassifier

from raremetric import RareClassifier
from raremetric.rare import classifier
from raremetric.selection import choice
from tests.conftest import make_problem
from tests.rare.conftest import SOON, rare_problem

Q = rare_problem(seed=9)[0]


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("max_samples", [None, 120])
def test_the_expected_quality_is_that_of_the_whole_table(max_samples, monkeypatch):
    """Of predictions of rows that nothing was chosen on; the alerts are those of the decision."""
    computed, original = [], (classifier.decide, choice.validate)

    def remember(averaged, sample, *others):
        computed.append(averaged)
        return original[0](averaged, sample, *others)

    def validate(log_odds, sample, predicted, sets=None):
        computed.append((log_odds, predicted, sample.positive.astype(int)))
        return original[1](log_odds, sample, predicted, sets)

    monkeypatch.setattr(classifier, "decide", remember)
    monkeypatch.setattr(choice, "validate", validate)
    X, y = rare_problem(n_samples=300, n_positive=30, shift=1.0)
    model = RareClassifier(max_samples=max_samples, random_state=0).fit(X, y)
    averaged, (log_odds, predicted, truth) = computed
    n_positive = truth.sum()
    weights = np.where(truth == 1, 30 / n_positive, 270 / (len(truth) - n_positive))
    called = expit(model.ensemble_.calibration.log_odds(averaged)) >= model.threshold_
    pooled = {"sample_weight": np.tile(weights, 2)}
    decided = np.tile(truth, 2), predicted.ravel()
    precisions = [average_precision_score(truth, row, sample_weight=weights) for row in log_odds]
    error = model.validation_.pop("alerts_per_1000_std")
    assert 5 < error < 30
    assert model.validation_ == pytest.approx(
        {
            "precision": precision_score(*decided, **pooled),
            "recall": recall_score(*decided, **pooled),
            "f1": f1_score(*decided, **pooled),
            "average_precision": np.mean(precisions),
            "alerts_per_1000": 1000 * np.average(called.ravel(), weights=np.tile(weights, 2)),
        }
    )
    assert np.mean(called != predicted) < 0.2
    assert model.best_score_ == pytest.approx(model.validation_["f1"])
    assert 0.01 < model.score_std_ < 0.15


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("scoring", ["precision>=0.7", "recall>=0.9"])
def test_the_minimum_is_about_met_on_new_data(scoring):
    X, y = rare_problem(n_samples=400, n_positive=100, shift=1.2)
    model = RareClassifier(SOON, scoring=scoring, random_state=0).fit(X, y)
    name, minimum = scoring.split(">=")
    assert model.validation_[name] == pytest.approx(float(minimum), abs=0.05)
    other = {"precision": "recall", "recall": "precision"}[name]
    assert model.best_score_ == pytest.approx(model.validation_[other])
    X, y = rare_problem(seed=1, n_samples=2000, n_positive=500, shift=1.2)
    measure = {"precision": precision_score, "recall": recall_score}[name]
    assert measure(y, model.predict(X)) == pytest.approx(float(minimum), abs=0.07)


@pytest.mark.usefixtures("few_candidates")
def test_a_precision_that_cannot_be_reached():
    X, y = rare_problem(shift=0.3)
    message = r"class 1 meets scoring='precision>=0.999'.* this value is 0\.\d+\."
    with pytest.warns(UserWarning, match=message) as caught:
        model = RareClassifier(SOON, scoring="precision>=0.999", random_state=0).fit(X, y)
    assert caught[0].filename == __file__
    assert 0 < model.validation_["alerts_per_1000"] < 100


@pytest.mark.usefixtures("few_candidates")
def test_each_class_that_cannot_reach_it_is_named():
    X, y = make_problem(1, n_samples=60, n_classes=3)
    X[y == 2] += 50  # this class can be separated without error
    words = np.array(["a", "b", "c"])[y]
    with pytest.warns(UserWarning, match=r"No threshold for class") as caught:
        RareClassifier(SOON, scoring="precision>=0.99", random_state=0).fit(X, words)
    messages = [str(each.message) for each in caught]
    assert [message.split(" meets")[0][-3:] for message in messages] == ["'a'", "'b'"]


@pytest.mark.parametrize("pos_label", ["fine", "fraud"])
def test_another_threshold(pos_label, fitted):
    model, X, words = fitted
    other = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.2, pos_label=pos_label)
    other.fit(X, words)
    called = model.predict_proba(Q)[:, model.classes_.tolist().index(pos_label)] >= 0.2
    np.testing.assert_array_equal(other.predict(Q) == pos_label, called)
    assert 0 < called.sum() < len(Q)
