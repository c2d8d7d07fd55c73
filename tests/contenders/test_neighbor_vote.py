"""The paper's way to tune and to vote."""

import random

import numpy as np
import pytest
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric import GMML
from raremetric.contenders import CONTENDERS
from raremetric.contenders.base import Candidate
from raremetric.contenders.neighbor_vote import NeighborVote, winner
from raremetric.contenders.resampling import resample
from tests.conftest import make_problem


def test_the_candidates_of_iml_are_the_first_hundred_of_the_shuffled_grid():
    grid = [
        (m, lam, a)
        for m in [1, 10, 100, 1000, 10000]
        for lam in [0, 0.01, 0.1, 1, 10]
        for a in np.arange(0, 1.01, 0.05)
    ]
    random.Random(3).shuffle(grid)
    ours = CONTENDERS["IML"].candidates(3)
    assert len(ours) == 100
    for candidate, (m, lam, a) in zip(ours, grid, strict=False):
        assert candidate.params["margin"] == m
        assert candidate.params["regularization"] == lam
        assert candidate.params["similar_weight"] == pytest.approx(a)
    assert CONTENDERS["IML"].candidates(3) == ours != CONTENDERS["IML"].candidates(4)


def test_equal_scores_go_to_the_last_printed_form():
    tried = [Candidate(printed, {}) for printed in ("{'m': 1}", "{'m': 1000}", "{'m': 10}")]
    assert winner(tried, [0.5, 0.5, 0.5]) == 0  # "}" sorts after "0"
    assert winner(tried, [0.5, 0.5, 0.4]) == 0
    assert winner(tried, [0.4, 0.5, 0.5]) == 2
    assert winner(tried, [0.4, 0.6, 0.5]) == 1


@pytest.mark.parametrize("resampling", ["smote", "rus"])
def test_resampling_balances_the_classes(resampling):
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(40, 2)), (np.arange(40) < 8).astype(int)
    _, resampled = resample(X, y, resampling)
    counts = np.bincount(resampled)
    assert counts.tolist() == ([32, 32] if resampling == "smote" else [8, 8])
    again, _ = resample(X, y, resampling)
    np.testing.assert_array_equal(again, resample(X, y, resampling)[0])


def test_smote_with_few_examples_uses_fewer_neighbors_or_explains_why_it_cannot():
    X, y = np.arange(24.0).reshape(12, 2), (np.arange(12) < 3).astype(int)
    assert np.bincount(resample(X, y, "smote")[1]).tolist() == [9, 9]
    with pytest.raises(ValueError, match=r"SMOTE needs two minority examples.*there is 1"):
        resample(X, (np.arange(12) < 1).astype(int), "smote")


def problem(seed=0, n_samples=60):
    X, y = make_problem(seed, n_samples=n_samples, n_features=4)
    return 5 + 3 * X, y & (np.arange(n_samples) % 2)


@pytest.mark.parametrize("resampling", ["none", "rus"])
def test_tuning_by_hand(resampling):
    """The same with scikit-learn's neighbors: resample, standardize, learn, vote, in each fold."""
    (X, y), (queries, _) = problem(), problem(1, 20)
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    contender = NeighborVote(name="GMML", learner=GMML, settings={"random_state": 1})
    tried = [Candidate(str(t), {"t": t}) for t in (0.0, 0.5, 1.0)]
    tuned = contender.fit(tried, X, y, folds=folds, seed=3, resampling=resampling)
    answer = tuned.answer(queries)

    def vote(t, train, X_test):
        X_train, y_train = resample(X[train], y[train], resampling)
        scaler = StandardScaler().fit(X_train)
        learner = GMML(t, random_state=1).fit(scaler.transform(X_train), y_train)
        knn = KNeighborsClassifier(3)
        knn.fit(learner.transform(scaler.transform(X_train)), y_train)
        return knn.predict_proba(learner.transform(scaler.transform(X_test)))[:, 1]

    scores = {
        candidate.name: np.mean(
            [
                f1_score(y[test], vote(candidate.params["t"], train, X[test]) > 0.5)
                for train, test in folds
            ]
        )
        for candidate in tried
    }
    assert tuned.validation == pytest.approx(scores)
    best = max(scores, key=lambda name: (scores[name], name))
    assert tuned.chosen == {"t": float(best)}
    shares = vote(float(best), slice(None), queries)
    np.testing.assert_allclose(answer.scores, shares)
    np.testing.assert_array_equal(answer.predicted, shares > 0.5)


def test_a_single_candidate_is_not_validated():
    X, y = problem()
    plain = CONTENDERS["Euclidean"]
    tuned = plain.fit(plain.candidates(1), X, y, folds=[], seed=0)
    assert tuned.validation == {}
    assert tuned.chosen == {}
