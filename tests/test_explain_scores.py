"""Contributions of columns to the score against closed forms and a brute-force definition."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.svm import SVC

from raremetric import KernelLandmarks, RareClassifier
from raremetric.contenders import find_contender
from raremetric.explain import column_contributions
from tests.conftest import make_problem


class Formula(ClassifierMixin, BaseEstimator):
    """A classifier whose decision function is a given function of the columns."""

    def __init__(self, function):
        self.function = function

    def decision_function(self, X):
        return self.function(*X.T)


def brute_force(score, row, background, groups):
    """The mean over all orders and all rows of the background, one step at a time."""
    total, orders = np.zeros(len(groups)), list(permutations(range(len(groups))))
    for order in orders:
        for start in background:
            point = start.copy()
            before = score(point[None])[0]
            for g in order:
                point[groups[g]] = row[groups[g]]
                after = score(point[None])[0]
                total[g] += after - before
                before = after
    return total / (len(orders) * len(background))


@pytest.fixture(scope="module")
def data():
    return make_problem(0, n_samples=60, n_features=5)


@pytest.fixture(scope="module")
def curved(data):
    return make_pipeline(KernelLandmarks(n_landmarks=20, random_state=0), SVC()).fit(*data)


@pytest.mark.parametrize("groups", [[[0], [1], [2, 4], [3]], [[3, 1], [0], [4, 2]]])
def test_all_subsets_are_the_mean_over_all_orders(data, curved, groups):
    X, _ = data
    found = column_contributions(curved, X[:2], X[10:14], groups)
    assert found.exact
    assert found.scale == "decision function"
    for row, values in zip(X[:2], found.values, strict=True):
        expected = brute_force(curved.decision_function, row, X[10:14], groups)
        np.testing.assert_allclose(values, expected, atol=1e-12)
    assert not found.std_error.any()


def test_sampled_values_are_within_their_standard_errors(data, curved):
    X, _ = data
    rows, background = X[:8], X[10:30]
    exact = column_contributions(curved, rows, background)
    sampled = column_contributions(curved, rows, background, max_exact=0, random_state=1)
    assert exact.exact
    assert not sampled.exact
    errors = (sampled.values - exact.values) / sampled.std_error
    assert (sampled.std_error > 0).all()
    assert 0.6 < np.sqrt(np.mean(errors**2)) < 1.5  # 40 values, each with a standard error of 1
    more = column_contributions(curved, rows, background, max_exact=0, n_samples=32, random_state=1)
    np.testing.assert_allclose(more.std_error.mean(), sampled.std_error.mean() / 4, rtol=0.2)


@pytest.mark.parametrize("max_exact", [0, 10])
def test_values_sum_to_the_difference_from_the_background(data, curved, max_exact):
    X, _ = data
    found = column_contributions(curved, X[:3], X[20:40], max_exact=max_exact, random_state=0)
    baseline = curved.decision_function(X[20:40]).mean()
    assert found.baseline == pytest.approx(baseline)
    np.testing.assert_allclose(found.scores, curved.decision_function(X[:3]))
    np.testing.assert_allclose(found.values.sum(axis=1), found.scores - baseline, atol=1e-12)


@pytest.mark.parametrize("max_exact", [0, 10])
def test_a_column_that_is_not_used_and_two_that_are_used_alike(max_exact):
    model = Formula(lambda a, b, c, d: np.exp(a * b) + a * b * d)
    background = np.random.default_rng(0).normal(size=(6, 4))
    background[:, 1] = background[:, 0]
    settings = {"max_exact": max_exact, "n_samples": 2000, "random_state": 0}
    found = column_contributions(model, [0.5, 0.5, 3.0, -1.0], background, **settings)
    a, b, c, _ = found.values[0]
    assert c == 0
    assert found.std_error[0, 2] == 0
    if max_exact:
        assert a == pytest.approx(b)
    else:
        assert abs(a - b) < 5 * np.hypot(*found.std_error[0, :2])


def test_the_orders_of_a_sum_do_not_matter():
    model = Formula(lambda a, b, c: np.sin(a) + b**2 - c)
    background = np.random.default_rng(1).normal(size=(30, 3))
    found = column_contributions(model, [1.0, 2.0, 3.0], background, max_exact=0)
    a, b, c = background.T
    expected = [np.sin(1) - np.sin(a).mean(), 4 - (b**2).mean(), c.mean() - 3]
    np.testing.assert_allclose(found.values[0], expected)
    np.testing.assert_allclose(found.std_error, 0, atol=1e-12)


@pytest.mark.parametrize("scaler", [StandardScaler(), QuantileTransformer(n_quantiles=10)])
def test_a_linear_model_has_a_closed_form(data, scaler):
    X, y = data
    model = make_pipeline(scaler, LogisticRegression()).fit(X, y)
    found = column_contributions(model, X[0], X)
    Z = model[0].transform(X)
    np.testing.assert_allclose(found.values[0], model[1].coef_[0] * (Z[0] - Z.mean(axis=0)))
    assert found.exact
    assert found.scale == "log-odds"
    nested = FrozenEstimator(make_pipeline("passthrough", model))
    np.testing.assert_array_equal(
        column_contributions(nested, X[0], X, max_exact=0).values, found.values
    )
    grouped = column_contributions(model, X[0], X[:40], [[4, 0], [1, 2, 3]])
    enumerated = column_contributions(
        Formula(lambda *a: model.decision_function(np.array(a).T)),
        X[0],
        X[:40],
        [[4, 0], [1, 2, 3]],
    )
    np.testing.assert_allclose(grouped.values, enumerated.values)
    assert grouped.baseline == pytest.approx(enumerated.baseline)


def test_the_linear_contender_is_exact(data):
    X, y = data
    X = X * [1, 10, 100, 1e-3, 5] + 7
    contender = find_contender("logistic")
    folds = list(StratifiedKFold(3).split(X, y))
    model = contender.fit(contender.candidates(0)[:3], X, y, folds=folds, seed=0).model
    found = column_contributions(model, X[:2], X[:40], max_exact=0)
    assert found.exact
    assert found.scale == "log-odds"
    copy = Formula(lambda *a: model.decision_function(np.array(a).T))
    np.testing.assert_allclose(found.values, column_contributions(copy, X[:2], X[:40]).values)


def test_the_scale_of_the_score(data):
    X, y = data
    boosted = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    assert column_contributions(boosted, X[0], X).scale == "log-odds"
    bayes = GaussianNB().fit(X, y)
    found = column_contributions(bayes, X[0], X)
    assert found.scale == "log-odds"
    assert found.scores[0] == pytest.approx(logit(bayes.predict_proba(X[:1])[0, 1]))
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    found = column_contributions(forest, X[0], X)
    assert found.scale == "probability"
    assert found.scores[0] == forest.predict_proba(X[:1])[0, 1]
    assert column_contributions(Perceptron().fit(X, y), X[0], X).scale == "decision function"


def test_rare_classifier_and_names_of_columns(data, few_candidates):
    X, y = data
    table = pd.DataFrame(X, columns=list("abcde"))
    model = RareClassifier(random_state=0).fit(table, y)
    found = column_contributions(model, table[:2], table[:20], max_exact=0, random_state=0)
    assert found.scale == "log-odds"
    log_odds = logit(model.predict_proba(table[:20])[:, 1])
    np.testing.assert_allclose(found.values.sum(axis=1), log_odds[:2] - log_odds.mean())


def test_mistakes(data, curved):
    X, _ = data
    with pytest.raises(ValueError, match=r"each feature from 0 to 4 once.*got \[\[0\], \[0, 1\]\]"):
        column_contributions(curved, X[0], X, [[0], [0, 1]])
    with pytest.raises(ValueError, match="x has 5 features and the background 4"):
        column_contributions(curved, X[0], X[:, :4])
    with pytest.raises(TypeError, match="StandardScaler has neither decision_function"):
        column_contributions(StandardScaler().fit(X), X[0], X)
    three = GaussianNB().fit(*make_problem(0, n_classes=3))
    with pytest.raises(ValueError, match=r"has 3 classes; .* need a model with two classes"):
        column_contributions(three, X[0, :3], X[:, :3])
