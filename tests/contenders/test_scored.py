"""The alternatives' scores against scikit-learn's own estimators, and the tuning by hand."""

import pickle

import numpy as np
import pytest
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_distances
from sklearn.model_selection import ParameterGrid, StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from raremetric.contenders import CONTENDERS
from raremetric.contenders.averaged import AveragedClassifier
from raremetric.contenders.base import describe_params
from raremetric.contenders.families import (
    BalancedForests,
    Forest,
    KernelMachines,
    LogisticRegressions,
    mean_of_trees,
)
from raremetric.contenders.scored import N_CANDIDATES, Scored, describe_average
from raremetric.extras import is_installed
from raremetric.selection import best_threshold, f_utility, fit_sigmoid, make_folds
from raremetric.validation import check_labels
from tests.conftest import make_problem

# Those of the extra "rivals" have the names of the packages that they need.
MISSING = [name for name in ("catboost", "lightgbm") if not is_installed(name)]
ALTERNATIVES = [
    pytest.param(each, marks=pytest.mark.skipif(each.kind in MISSING, reason="needs rivals"))
    for each in CONTENDERS.values()
    if type(each) is Scored and not each.settings
]


@pytest.fixture
def data():
    X, y = make_problem(3, n_samples=60, n_features=4)
    return 5 + 3 * X[:40], y[:40], 5 + 3 * X[40:]


@pytest.mark.parametrize(("kernel", "metric"), [("laplacian", "manhattan"), ("rbf", "sqeuclidean")])
def test_an_svm_on_computed_distances_is_scikit_learns(kernel, metric, data):
    X, y, queries = data
    settings = [
        {"width": 2.0, "C": 10.0, "class_weight": "balanced", "tol": 1e-9},
        {"width": 0.5, "C": 1.0, "class_weight": None, "tol": 1e-9},
    ]
    found = KernelMachines(kernel).fit(X, y, settings, 0).scores(queries)
    scaler = StandardScaler().fit(X)
    X, queries = scaler.transform(X), scaler.transform(queries)
    unit = np.median(pairwise_distances(X, metric=metric)[np.triu_indices(len(X), 1)])
    for own, params in zip(found, settings, strict=True):
        gamma = 1 / (params["width"] * unit)
        theirs = "rbf" if kernel == "rbf" else lambda A, B, g=gamma: laplacian_kernel(A, B, g)
        own_params = {name: value for name, value in params.items() if name != "width"}
        machine = SVC(kernel=theirs, gamma=gamma, **own_params).fit(X, y)
        np.testing.assert_allclose(own, machine.decision_function(queries), atol=1e-7)


@pytest.mark.parametrize("contender", ALTERNATIVES, ids=lambda each: each.name)
def test_scores_rise_with_the_positive_class_and_do_not_depend_on_other_queries(contender, data):
    X, y, queries = data
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    grid = ParameterGrid(contender.default_grid)
    assert len(grid) > N_CANDIDATES
    fitted = contender.family.fit(X, y, [grid[0], grid[len(grid) - 1]], 1)
    together = fitted.scores(queries)
    assert together.shape == (2, len(queries))
    assert np.isfinite(together).all()
    np.testing.assert_allclose(fitted.scores(queries[:3]), together[:, :3])
    truth = queries[:, 0] > np.median(X[:, 0])
    assert together[1, truth].mean() > together[1, ~truth].mean()


@pytest.mark.parametrize("contender", ALTERNATIVES, ids=lambda each: each.name)
def test_a_fitted_average_can_be_saved(contender, data):
    X, y, queries = data
    folds = list(StratifiedKFold(2).split(X, y))
    model = contender.fit(contender.candidates(1)[:2], X, y, folds=folds, seed=1).model
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(queries), model.predict_proba(queries))
    np.testing.assert_array_equal(model.predict(queries), model.decision_function(queries) >= 0)


def test_the_forest_is_imbalanced_learns():
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = make_problem(0, n_samples=300)
    y = y & (np.arange(300) % 3 == 0)  # one in six
    params = {"max_features": "sqrt", "min_samples_leaf": 4}
    ours = expit(
        [
            BalancedForests(100).fit(X[:200], y[:200], [params], seed).scores(X[200:])[0]
            for seed in range(5)
        ]
    )
    theirs = imblearn.BalancedRandomForestClassifier(
        500, sampling_strategy="all", replacement=True, bootstrap=False, random_state=0, **params
    ).fit(X[:200], y[:200])
    p = theirs.predict_proba(X[200:])[:, 1]
    assert p.std() > 0.1
    assert np.abs(ours.mean(axis=0) - p).max() < 0.1
    assert np.abs(ours.mean(axis=0) - p).mean() < 0.025


@pytest.mark.kernels
def test_a_forest_is_the_mean_of_its_trees(data):
    X, y, queries = data
    X, queries = X.astype(np.float32), queries.astype(np.float32)
    trees = [DecisionTreeRegressor(max_depth=d, random_state=0).fit(X, y) for d in (1, 3, None)]
    expected = np.mean([tree.predict(queries) for tree in trees], axis=0)
    np.testing.assert_allclose(mean_of_trees(queries, *Forest.pack(trees)), expected, rtol=1e-15)


def test_tuning_one_candidate_by_hand(data):
    """With folds that are not repeated, the model is fitted on all rows."""
    X, y, queries = data
    folds = make_folds(check_labels(y, "y"), 5)[0]
    tuned = AveragedClassifier(LogisticRegressions(), [{"C": 1.0}], cv=folds).fit(X, y)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    pooled = cross_val_predict(model, X, y, cv=folds, method="decision_function")
    truth = y == 1
    scores = model.fit(X, y).decision_function(queries)
    # Standardizing before the calibration changes nothing that matters here.
    calibration = fit_sigmoid(pooled, truth)
    log_odds = calibration.slope * scores + calibration.intercept
    np.testing.assert_allclose(tuned.predict_proba(queries)[:, 1], expit(log_odds), rtol=1e-6)
    threshold = best_threshold(calibration(pooled), f_utility(1.0))
    np.testing.assert_array_equal(tuned.predict(queries) == 1, calibration(scores) >= threshold)
    np.testing.assert_allclose(
        tuned.decision_function(queries), log_odds - logit(threshold), rtol=1e-5, atol=1e-8
    )
    assert tuned.n_repeats_ == 1


def test_settings_take_turns_in_the_folds_of_one_more_repeat(data):
    X, y, queries = data
    settings = [{"C": C} for C in (0.01, 1.0, 100.0)]
    tuned = AveragedClassifier(LogisticRegressions(), settings, random_state=5).fit(X, y)
    seed = np.random.RandomState(5).randint(2**31 - 1)
    repeats = make_folds(check_labels(y, "y"), seed)
    assert tuned.n_repeats_ == len(repeats) - 1
    chosen = tuned.choice_
    scores = []
    for fold, (train, validation) in enumerate(repeats[-1]):
        model = make_pipeline(StandardScaler(), LogisticRegression())
        model.set_params(logisticregression__C=settings[chosen.kept[fold % 3]]["C"])
        before = np.array(
            [
                cross_val_predict(model, X, y, cv=folds, method="decision_function")[validation]
                for folds in repeats[:-1]
            ]
        )
        model.fit(X[train], y[train])
        held_out = model.decision_function(X[validation])
        standardized = (model.decision_function(queries) - held_out.mean()) / held_out.std()
        scores.append(before.mean() + np.sqrt(before.var(axis=1).mean()) * standardized)
    n_models = np.bincount(np.arange(len(scores)) % 3)
    of_fold = np.arange(len(scores)) % 3
    weights, means, scales = (column[of_fold] for column in chosen.average)
    standard = (np.stack(scores) - means[:, np.newaxis]) / scales[:, np.newaxis]
    averaged = (weights / n_models[of_fold]) @ standard
    p = tuned.decision_.calibration(averaged)
    np.testing.assert_allclose(tuned.predict_proba(queries)[:, 1], p, rtol=1e-4)


def test_the_five_best_count_alike(data):
    X, y, _ = data
    settings = [{"C": C} for C in np.logspace(-3, 3, 7)]
    tuned = AveragedClassifier(LogisticRegressions(), settings, random_state=0).fit(X, y)
    weights = tuned.choice_.average.weights
    assert len(weights) == 5
    np.testing.assert_allclose(weights, 0.2)
    assert set(tuned.choice_.kept) == set(np.flatnonzero(tuned.choice_.ranks <= 5))


def test_permuted_labels_are_not_learned():
    """Scores of examples must come from models that did not see them."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(120, 5)), (np.arange(120) < 30).astype(int)
    settings = [{"width": 0.5, "C": 1000.0, "class_weight": None}]
    tuned = AveragedClassifier(KernelMachines("rbf"), settings, random_state=0).fit(X, y)
    assert tuned.validation_scores_[0] < 0.5
    assert tuned.best_score_ < 0.5


def test_what_was_chosen_in_words():
    assert describe_params({"C": 0.1, "class_weight": None}) == "C=0.1, class_weight=None"
    assert describe_params({}) == "the default settings"
    assert describe_average(1, 8) == "the best of 8 settings that were tried"
    assert describe_average(2, 8, {"C": 10}) == (
        "an average of 2 of the 8 settings that were tried; the best has C=10"
    )
