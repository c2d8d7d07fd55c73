"""The alternatives' scores against scikit-learn's own estimators, and the tuning by hand."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_distances
from sklearn.model_selection import ParameterGrid, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from raremetric.rare.evaluation import make_folds
from raremetric.study.alternatives import ALTERNATIVES, N_CANDIDATES, tune
from raremetric.validation import check_labels
from raremetric.voting import best_threshold, f_utility, fit_sigmoid
from tests.conftest import make_problem


@pytest.fixture
def data():
    X, y = make_problem(3, n_samples=60, n_features=4)
    return 5 + 3 * X[:40], y[:40], 5 + 3 * X[40:]


@pytest.mark.parametrize(
    ("name", "metric"), [("SVM-laplacian", "manhattan"), ("SVM-rbf", "sqeuclidean")]
)
def test_an_svm_on_computed_distances_is_scikit_learns(name, metric, data):
    X, y, queries = data
    settings = [
        {"width": 2.0, "C": 10.0, "class_weight": "balanced"},
        {"width": 0.5, "C": 1.0, "class_weight": None},
    ]
    found = ALTERNATIVES[name].score(X, y, queries, settings, 0)
    scaler = StandardScaler().fit(X)
    X, queries = scaler.transform(X), scaler.transform(queries)
    unit = np.median(pairwise_distances(X, metric=metric)[np.triu_indices(len(X), 1)])
    for own, params in zip(found, settings, strict=True):
        gamma = 1 / (params["width"] * unit)
        kernel = "rbf" if name == "SVM-rbf" else lambda A, B, g=gamma: laplacian_kernel(A, B, g)
        machine = SVC(
            C=params["C"], class_weight=params["class_weight"], kernel=kernel, gamma=gamma
        )
        np.testing.assert_allclose(own, machine.fit(X, y).decision_function(queries), atol=1e-2)


@pytest.mark.parametrize("name", ALTERNATIVES)
def test_scores_rise_with_the_positive_class_and_ask_nothing_of_the_other_queries(name, data):
    X, y, queries = data
    y = (X[:, 0] > np.median(X[:, 0])).astype(int)
    family = ALTERNATIVES[name]
    grid = ParameterGrid(family.grid)
    assert len(grid) > N_CANDIDATES
    settings = [grid[0], grid[len(grid) - 1]]
    together = family.score(X, y, queries, settings, 1)
    assert together.shape == (2, len(queries))
    assert np.isfinite(together).all()
    np.testing.assert_allclose(family.score(X, y, queries[:3], settings, 1), together[:, :3])
    truth = queries[:, 0] > np.median(X[:, 0])
    assert together[1, truth].mean() > together[1, ~truth].mean()


def test_the_forest_is_imbalanced_learns():
    imblearn = pytest.importorskip("imblearn.ensemble")
    X, y = make_problem(0, n_samples=300)
    y = y & (np.arange(300) % 3 == 0)  # one in six
    params = {"max_features": "sqrt", "min_samples_leaf": 4}
    score = ALTERNATIVES["balanced-forest"].score
    ours = expit([score(X[:200], y[:200], X[200:], [params], seed)[0] for seed in range(5)])
    theirs = imblearn.BalancedRandomForestClassifier(
        500, sampling_strategy="all", replacement=True, bootstrap=False, random_state=0, **params
    ).fit(X[:200], y[:200])
    p = theirs.predict_proba(X[200:])[:, 1]
    assert p.std() > 0.1
    assert np.abs(ours.mean(axis=0) - p).max() < 0.1
    assert np.abs(ours.mean(axis=0) - p).mean() < 0.025


def test_the_boosting_is_xgboosts(data):
    xgboost = pytest.importorskip("xgboost")
    X, y, queries = data
    params = {"learning_rate": 0.3, "max_leaves": 7, "min_child_weight": 0.1, "reg_lambda": 1.0}
    settings = [{**params, "rounds": rounds, "balance": rounds == 50} for rounds in (50, 200)]
    found = ALTERNATIVES["gradient-boosting"].score(X, y, queries, settings, 0)
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


def test_tuning_one_candidate_by_hand(data):
    X, y, queries = data
    tuned = tune(ALTERNATIVES["logistic-regression"].score, [{"C": 1.0}], X, y, queries, 5)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    repeats = make_folds(check_labels(y, "y"), 5)
    found = [
        cross_val_predict(model, X, y, cv=folds, method="decision_function") for folds in repeats
    ]
    pooled, truth = np.concatenate(found), np.tile(y == 1, 2)
    scores = model.fit(X, y).decision_function(queries)
    # Standardising before the calibration changes nothing that matters here.
    calibration = fit_sigmoid(pooled, truth)
    np.testing.assert_allclose(
        tuned.log_odds, calibration.slope * scores + calibration.intercept, rtol=1e-6
    )
    threshold = best_threshold(calibration(pooled), f_utility(1.0))
    np.testing.assert_array_equal(tuned.called, calibration(scores) >= threshold)
    assert tuned.n_repeats == 2


def test_the_five_best_count_alike_and_thorough_is_twice_the_repeats(data):
    X, y, queries = data
    settings = [{"C": C} for C in np.logspace(-3, 3, 7)]
    score = ALTERNATIVES["logistic-regression"].score
    tuned = tune(score, settings, X, y, queries, 0, thorough=True)
    assert tuned.n_repeats == 4
    selection = tuned.selection
    np.testing.assert_allclose(selection.average.weights, [0.2] * 5)
    assert set(selection.kept) == set(np.flatnonzero(selection.ranks <= 5))


def test_permuted_labels_are_not_learned():
    """Scores of examples must come from models that did not see them."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(120, 5)), (np.arange(120) < 30).astype(int)
    settings = [{"width": 0.5, "C": 1000.0, "class_weight": None}]
    tuned = tune(ALTERNATIVES["SVM-rbf"].score, settings, X, y, X[:1], 0)
    assert tuned.selection.evaluation.average_precision[0] < 0.45
    assert tuned.selection.score < 0.5
