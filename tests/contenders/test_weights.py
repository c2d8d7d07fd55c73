"""Weights of rows in the alternatives: a weight of two is a row twice."""

import numpy as np
import pytest

from raremetric.contenders import find_contender
from raremetric.contenders.averaged import AveragedClassifier
from raremetric.contenders.boosting import BoostedTrees, CatBoosts, LightGBMs
from raremetric.contenders.families import (
    BalancedForests,
    Classifiers,
    KernelMachines,
    LogisticRegressions,
)


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(80, 3)), (np.arange(80) % 4 == 0).astype(int)
    X[y == 1] += 1.0
    weights = 1.0 + (np.arange(80) % 3 == 0)
    return X, y, weights, np.repeat(np.arange(80), weights.astype(int)), rng.normal(size=(30, 3))


@pytest.mark.parametrize(
    ("family", "settings"),
    [
        (LogisticRegressions(), [{"C": 1.0}, {"C": 1.0, "class_weight": "balanced"}]),
        (BoostedTrees(), [{"rounds": 10, "balance": True}, {"rounds": 10}]),
    ],
)
def test_a_weight_is_a_number_of_copies(family, settings, data):
    pytest.importorskip("xgboost")
    X, y, weights, repeated, queries = data
    weighted = family.fit(X, y, settings, 0, weights).scores(queries)
    copied = family.fit(X[repeated], y[repeated], settings, 0).scores(queries)
    np.testing.assert_allclose(weighted, copied, rtol=0.02, atol=0.02)
    plain = family.fit(X, y, settings, 0).scores(queries)
    assert np.abs(weighted - plain).max() > 0.05


@pytest.mark.parametrize(
    ("family", "setting", "needs"),
    [
        (KernelMachines("laplacian"), {"width": 2.0, "C": 0.1}, "sklearn"),
        (BalancedForests(50), {"max_depth": 4}, "sklearn"),
        (LightGBMs(), {"rounds": 20, "min_child_samples": 5}, "lightgbm"),
        (CatBoosts(), {"rounds": 20}, "catboost"),
    ],
)
def test_others_listen_to_weights(family, setting, needs, data):
    pytest.importorskip(needs)
    X, y, _, _, queries = data
    heavy = np.where((y == 1) & (X[:, 0] > 1), 50.0, 1.0)
    near = queries[:, 0] > 1
    weighted = family.fit(X, y, [setting], 0, heavy).scores(queries)[0]
    plain = family.fit(X, y, [setting], 0).scores(queries)[0]
    change = weighted - plain
    assert change[near].mean() > change[~near].mean()


def test_equal_weights_change_nothing_and_measures_are_weighted(data):
    X, y, weights, repeated, _ = data
    settings = [{"C": 1.0}, {"C": 0.01}]

    def fit(rows, given=None):
        model = AveragedClassifier(LogisticRegressions(), settings, cv=folds_of(rows))
        return model.fit(X[rows], y[rows], given)

    def folds_of(rows):
        part = rows // 4 % 4  # copies are in the same fold
        return [(np.flatnonzero(part != i), np.flatnonzero(part == i)) for i in range(4)]

    plain, equal = fit(np.arange(80)), fit(np.arange(80), np.full(80, 3.0))
    assert plain.best_score_ == equal.best_score_
    assert plain.threshold_ == pytest.approx(equal.threshold_)
    weighted, copied = fit(np.arange(80), weights), fit(repeated)
    # Weights are scaled to a mean of one, which makes the penalty relatively stronger.
    np.testing.assert_allclose(weighted.validation_scores_, copied.validation_scores_, rtol=0.1)
    alerts = [model.quality_.measures["alerts_per_1000"] for model in (weighted, copied)]
    assert alerts[0] == pytest.approx(alerts[1], rel=0.1)


def test_methods_that_cannot_take_weights_say_so():
    for name in ("rare", "logistic", "plain", "iml", "lmnn", "sklearn.naive_bayes:GaussianNB"):
        assert find_contender(name).ignores_weights == ""
    sentence = "KNeighborsClassifier cannot take weights: it is fitted without them; only its"
    found = find_contender("sklearn.neighbors:KNeighborsClassifier").ignores_weights
    assert found.startswith(sentence)


def test_a_class_without_weights_is_fitted_without_them(data):
    from sklearn.neighbors import KNeighborsClassifier

    X, y, weights, _, queries = data
    family = Classifiers(KNeighborsClassifier(3))
    assert family.fit(X, y, [{}], 0, weights).scores(queries).shape == (1, 30)


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("name", ["rare", "plain", "logistic", "svm"])
@pytest.mark.parametrize("max_samples", [None, 60])
def test_constant_columns_do_not_warn(data, name, max_samples):
    """StandardScaler computes the root of a weighted variance that may be rounded to -1e-33."""
    X, y, *_ = data
    X = np.hstack([X, np.tile([0.1, -0.7, 1.3], (80, 1))])
    contender = find_contender(name)
    rows = np.arange(80)
    folds = [(rows[rows // 4 % 2 == half], rows[rows // 4 % 2 != half]) for half in range(2)]
    options = {"folds": folds, "seed": 0, "scoring": "f1", "max_samples": max_samples}
    for seed in range(5):
        options["weights"] = np.random.RandomState(seed).uniform(0.1, 3, size=80)
        tuned = contender.fit(contender.candidates(0)[:2], X, y, **options)
        assert np.isfinite(tuned.answer(X).scores).all()
