"""Boosted trees against the libraries' own classifiers, and early stopping by hand."""

import sys

import numpy as np
import pytest
from scipy.special import expit
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from raremetric.contenders import CONTENDERS
from raremetric.contenders.averaged import AveragedClassifier
from raremetric.contenders.boosting import PATIENCE, BoostedTrees, CatBoosts, LightGBMs
from tests.conftest import make_problem

LIBRARIES = {"xgboost": BoostedTrees, "lightgbm": LightGBMs, "catboost": CatBoosts}
# One in which the log-loss of other rows soon rises again.
STOPPING = {
    "xgboost": {"max_rounds": 300, "learning_rate": 0.3, "max_leaves": 15},
    "lightgbm": {"max_rounds": 300, "learning_rate": 0.3, "min_child_samples": 2},
    "catboost": {"max_rounds": 300, "learning_rate": 0.3, "leaf_estimation_iterations": 10},
}


@pytest.fixture(params=LIBRARIES)
def library(request):
    """The name of a library that is installed."""
    pytest.importorskip(request.param)
    return request.param


@pytest.fixture
def data():
    X, y = make_problem(3, n_samples=300, n_features=4)
    return X[:150], y[:150], X[150:], y[150:]


def test_xgboost(data):
    xgboost = pytest.importorskip("xgboost")
    X, y, queries, _ = data
    params = {"learning_rate": 0.3, "max_leaves": 7, "min_child_weight": 0.1, "reg_lambda": 1.0}
    settings = [{**params, "rounds": rounds, "balance": rounds == 50} for rounds in (50, 200)]
    found = BoostedTrees().fit(X, y, settings, 0).scores(queries)
    for own, rounds, weight in zip(found, (50, 200), (np.mean(y == 0) / y.mean(), 1), strict=True):
        model = xgboost.XGBClassifier(
            n_estimators=rounds,
            n_jobs=1,
            grow_policy="lossguide",
            max_depth=0,
            scale_pos_weight=weight,
            **params,
        ).fit(X, y)
        np.testing.assert_allclose(own, model.predict(queries, output_margin=True), atol=1e-4)


def test_lightgbm(data):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, queries, _ = data
    params = {"learning_rate": 0.1, "num_leaves": 7, "subsample": 0.7, "min_child_samples": 5}
    found = LightGBMs().fit(X, y, [{**params, "rounds": 40}], 0).scores(queries)[0]
    model = lightgbm.LGBMClassifier(
        n_estimators=40, subsample_freq=1, seed=0, n_jobs=1, verbose=-1, **params
    ).fit(X, y)
    np.testing.assert_allclose(found, model.predict(queries, raw_score=True))


def test_catboost(data):
    catboost = pytest.importorskip("catboost")
    X, y, queries, _ = data
    found = CatBoosts().fit(X, y, [{"depth": 4, "rounds": 40}], 0).scores(queries)[0]
    model = catboost.CatBoostClassifier(
        iterations=40,
        depth=4,
        random_seed=0,
        thread_count=1,
        silent=True,
        allow_writing_files=False,
    ).fit(X, y)
    np.testing.assert_allclose(expit(found), model.predict_proba(queries)[:, 1])


def test_training_stops_at_the_lowest_log_loss(library, data):
    X, y, X_held_out, y_held_out = data
    family, setting = LIBRARIES[library], STOPPING[library]
    held_out = (X_held_out, y_held_out, None)
    stopped = family().fit(X, y, [setting], 0, validation=held_out)
    (n_rounds,) = stopped.rounds_
    assert 1 <= n_rounds < 300 - PATIENCE
    rounds = range(1, n_rounds + PATIENCE)
    fixed = [{**setting, "rounds": n} for n in rounds]
    losses = [
        log_loss(y_held_out, expit(scores))
        for scores in family().fit(X, y, fixed, 0).scores(X_held_out)
    ]
    assert losses[n_rounds - 1] == pytest.approx(min(losses), abs=1e-6)
    np.testing.assert_allclose(
        stopped.scores(X_held_out)[0],
        family().fit(X, y, [fixed[n_rounds - 1]], 0).scores(X_held_out)[0],
        atol=1e-5,
    )


def test_the_fit_on_all_rows_has_the_mean_rounds_of_the_folds(library, data):
    X, y, *_ = data
    family, setting = LIBRARIES[library](), STOPPING[library]
    folds = list(StratifiedKFold(3).split(X, y))
    tuned = AveragedClassifier(family, [setting], cv=folds, random_state=0).fit(X, y)
    seed = np.random.RandomState(0).randint(2**31 - 1)
    stopped = [
        family.fit(X[train], y[train], [setting], seed, validation=(X[test], y[test], None)).rounds_
        for train, test in folds
    ]
    assert tuned.families_[0].rounds_ == [np.ceil(np.mean(stopped))]


@pytest.mark.parametrize("name", ["lightgbm-defaults", "catboost-defaults"])
def test_defaults_are_one_candidate_of_a_thousand_rounds(name):
    (only,) = CONTENDERS[name].candidates(1)
    assert only.params["rounds"] == 1000
    assert len(CONTENDERS[name.partition("-")[0]].candidates(1)) > 5


def test_a_missing_library_is_named(monkeypatch, data):
    monkeypatch.setitem(sys.modules, "catboost", None)
    X, y, *_ = data
    with pytest.raises(ImportError, match=r"CatBoost needs catboost.*: pip install catboost$"):
        CatBoosts().fit(X, y, [{}], 0)
