import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, f1_score, make_scorer
from sklearn.model_selection import (
    GroupKFold,
    ParameterGrid,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, IMLCV, MetricKNNClassifier
from raremetric.tuning import PAPER_GRID
from raremetric.validation import check_labels
from raremetric.voting.grid import Fold, nearest_under, vote_f1
from tests.conftest import make_problem

F1 = make_scorer(f1_score, pos_label="rare", zero_division=0)
FEW = {"margin": [1.0, 100.0], "regularization": [0.1, 10.0], "similar_weight": [0.2, 0.8]}


@pytest.fixture(scope="module")
def rare():
    X, y = make_classification(
        n_samples=150, n_features=6, weights=[0.8], flip_y=0.05, random_state=0
    )
    return StandardScaler().fit_transform(X), np.where(y == 1, "rare", "common")


@pytest.mark.parametrize("k", [1, 3, 4])
def test_the_f1_of_a_vote_is_that_of_scikit_learn(k):
    X, y = make_problem(0, n_samples=90, n_classes=3)
    predicted = KNeighborsClassifier(k).fit(X[:60], y[:60]).predict(X[60:])
    for label in range(3):
        labels = check_labels(y[:60], "test")
        nearest = nearest_under(np.eye(X.shape[1]), Fold(X[:60], labels, X[60:], y[60:]), k)
        found = vote_f1(nearest, labels, y[60:] == label, label)
        assert found == pytest.approx(f1_score(y[60:] == label, predicted == label))


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_neighbors_also_by_any_scorer_and_in_threads(rare, weighted):
    X, y = rare
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=150) if weighted else None
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    search = IMLCV(FEW, None, cv=folds, n_jobs=2).fit(X, y, sample_weight=weights)
    slow = IMLCV(FEW, None, cv=folds, scoring=F1).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.components_, slow.components_)
    for f, (train, test) in enumerate(folds):
        scores = search.cv_results_[f"split{f}_test_score"]
        np.testing.assert_allclose(slow.cv_results_[f"split{f}_test_score"], scores)
        own, other = (None, None) if weights is None else (weights[train], weights[test])
        for params, score in zip(search.cv_results_["params"], scores, strict=True):
            knn = MetricKNNClassifier(IML(**params)).fit(X[train], y[train], sample_weight=own)
            predicted = knn.predict(X[test])
            expected = f1_score(y[test], predicted, pos_label="rare", sample_weight=other)
            assert score == pytest.approx(expected)
    best = IML(**search.best_params_).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(search.components_, best.components_)
    balanced = IMLCV(FEW, 2, cv=folds, scoring="balanced_accuracy", random_state=0).fit(X, y)
    assert 0.5 < balanced.best_score_ <= 1


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_by_the_distances_to_both_classes(rare, weighted):
    X, y = rare
    weights = np.random.default_rng(0).uniform(0.1, 5.0, size=150) if weighted else None
    ((train, test),) = folds = list(ShuffleSplit(1, test_size=60, random_state=0).split(X, y))
    how = {"n_candidates": None, "cv": folds}
    search = IMLCV(FEW, scoring="average_precision", **how).fit(X, y, sample_weight=weights)
    scores = search.cv_results_["split0_test_score"]
    own, other = (None, None) if weights is None else (weights[train], weights[test])
    for params, score in zip(search.cv_results_["params"], scores, strict=True):
        metric = IML(**params).fit(X[train], y[train], sample_weight=own)
        distances = cdist(metric.transform(X[test]), metric.transform(X[train]))
        near, far = (
            np.log(np.sort(distances[:, (y[train] == "rare") == is_rare])[:, :10]).mean(axis=1)
            for is_rare in (True, False)
        )
        expected = average_precision_score(y[test] == "rare", far - near, sample_weight=other)
        assert score == pytest.approx(expected)
    for scoring in ("neg_log_loss", "f2", [[0, 1], [9, 0]]):
        found = IMLCV(FEW, scoring=scoring, **how).fit(X, y).cv_results_["mean_test_score"]
        assert len(np.unique(found)) > (scoring == "neg_log_loss")  # thresholds separate them all
        assert ((found >= 0) == (scoring == "f2")).all()


def test_it_chooses_for_the_vote_of_the_classifier(rare):
    X, y = rare
    for vote, expected in (("majority", "auto"), ("score", "average_precision")):
        learner = IMLCV(FEW, 2, cv=2, random_state=0)
        model = MetricKNNClassifier(learner, vote=vote, cv=2, random_state=0).fit(X, y)
        assert model.metric_.scoring == expected
        assert learner.scoring == "auto"
    fixed = MetricKNNClassifier(IMLCV(FEW, 2, cv=2, scoring="f1"), vote="score", cv=2).fit(X, y)
    assert fixed.metric_.scoring == "f1"


def test_the_winner_is_fitted_on_all_data(rare):
    X, y = rare
    search = IMLCV(FEW, None, cv=3).fit(X, y)
    again = IML(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.components_, again.components_)
    np.testing.assert_array_equal(search.transform(X), again.transform(X))
    results = search.cv_results_
    assert results["mean_test_score"][search.best_index_] == search.best_score_
    assert results["rank_test_score"][search.best_index_] == 1
    assert results["params"][search.best_index_] == search.best_params_
    assert results["param_margin"][search.best_index_] == search.best_params_["margin"]
    splits = np.column_stack([results[f"split{f}_test_score"] for f in range(3)])
    np.testing.assert_allclose(splits.mean(axis=1), results["mean_test_score"])
    np.testing.assert_allclose(splits.std(axis=1), results["std_test_score"])


def test_candidates_drawn_listed_and_gridded(rare):
    X, y = rare
    drawn = IMLCV(n_candidates=4, cv=2, random_state=0).fit(X, y).cv_results_["params"]
    assert drawn == IMLCV(n_candidates=4, cv=2, random_state=0).fit(X, y).cv_results_["params"]
    assert len(drawn) == 4
    assert all(candidate in list(ParameterGrid(PAPER_GRID)) for candidate in drawn)
    assert len(ParameterGrid(PAPER_GRID)) == 525
    listed = [{"margin": 5.0}, {"margin": 5.0, "dissimilar": "fixed", "regularization": 0.3}]
    search = IMLCV(listed, cv=2).fit(X, y)
    assert search.cv_results_["params"] == listed
    assert search.cv_results_["param_dissimilar"].mask.tolist() == [True, False]


def test_halving_races_the_candidates(rare):
    full = IMLCV(FEW, None, cv=3, random_state=0).fit(*rare)
    race = IMLCV(FEW, None, cv=3, random_state=0, halving=True).fit(*rare)
    seen = [np.sum(~np.isnan(race.cv_results_[f"split{f}_test_score"])) for f in range(3)]
    assert seen == [8, 4, 2]
    finished = ~np.isnan(race.cv_results_["split2_test_score"])
    assert finished[race.best_index_]
    np.testing.assert_allclose(
        race.cv_results_["mean_test_score"][finished],
        full.cv_results_["mean_test_score"][finished],
    )


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"candidates": []}, r"candidates is empty"),
        ({"candidates": [{"margins": 1}]}, r"'margins', which is not a parameter"),
        ({"candidates": [{"margin": -1}]}, r"margin == -1, must be >= 0"),
        ({"n_candidates": 0}, r"n_candidates == 0, must be >= 1"),
        ({"n_neighbors": 0}, r"n_neighbors == 0, must be >= 1"),
        ({"scoring": "fx"}, r"scoring must be 'f1', .*; got 'fx'"),
        ({"cv": 200}, r"n_splits=200"),
    ],
)
def test_bad_parameters(parameters, message, rare):
    with pytest.raises(ValueError, match=message):
        IMLCV(**{"n_candidates": 2, **parameters}).fit(*rare)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).uniform(0.1, 5.0, size=150)


@pytest.mark.parametrize("as_table", [False, True])
def test_a_weight_of_zero_is_a_missing_row(rare, as_table):
    X, y = rare
    X = pd.DataFrame(X, columns=list("abcdef")) if as_table else X
    weights = np.arange(150) % 4
    kept = np.flatnonzero(weights)
    X_kept = X.iloc[kept] if as_table else X[kept]
    folds = list(StratifiedKFold(3).split(X_kept, y[kept]))
    given = [(kept[train], kept[test]) for train, test in folds]
    for cv, cv_kept in ((3, 3), (given, folds)):
        model = IMLCV(FEW, 4, cv=cv, random_state=0).fit(X, y, sample_weight=weights)
        same = IMLCV(FEW, 4, cv=cv_kept, random_state=0)
        same.fit(X_kept, y[kept], sample_weight=weights[kept])
        np.testing.assert_array_equal(model.components_, same.components_)
        scores = model.cv_results_["mean_test_score"]
        np.testing.assert_array_equal(scores, same.cv_results_["mean_test_score"])


def test_the_request_for_weights(rare, weights):
    with config_context(enable_metadata_routing=True):
        search = IMLCV(FEW, 2, cv=2, random_state=0).set_fit_request(sample_weight=True)
        piped = make_pipeline(search).fit(*rare, sample_weight=weights)
    alone = IMLCV(FEW, 2, cv=2, random_state=0).fit(*rare, sample_weight=weights)
    np.testing.assert_array_equal(piped[-1].components_, alone.components_)


def test_groups_are_never_on_both_sides():
    """The features identify the group, and the class is drawn at random for each group."""
    rng = np.random.RandomState(0)
    groups = np.repeat(np.arange(30), 4)
    y = (rng.permutation(30) < 12).astype(int)[groups]
    X = rng.normal(size=(30, 3))[groups] + 0.01 * rng.normal(size=(120, 3))
    search = IMLCV([{"margin": 1.0}], random_state=0)
    assert search.fit(X, y).best_score_ > 0.9
    assert search.fit(X, y, groups=groups).best_score_ < 0.7
    by_splitter = IMLCV([{"margin": 1.0}], cv=GroupKFold(5)).fit(X, y, groups=groups)
    assert by_splitter.best_score_ < 0.7
