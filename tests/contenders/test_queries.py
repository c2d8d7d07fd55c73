"""Transductive methods get the features of the rows to be classified; no other method does."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric import IterativeLMNN
from raremetric.contenders import find_contender
from raremetric.contenders.base import Candidate
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.datasets import load_dataset
from raremetric.study.execution import make_split, run_task
from raremetric.study.tasks import LearnerSpec, Task
from raremetric.validation import quiet_repeats
from tests.conftest import make_problem


class Watching(TransformerMixin, BaseEstimator):
    """The Euclidean distance, and a record of the queries of each fit."""

    seen: ClassVar[list] = []

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y, queries=None):
        self.seen.append(queries)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.factor * X


@pytest.fixture
def seen():
    Watching.seen.clear()
    return Watching.seen


@pytest.fixture
def data():
    X, y = make_problem(2, 90, 3)
    y = y & (np.arange(90) % 2)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X[:60], y[:60]))
    return 4 + 2 * X[:60], y[:60], 4 + 2 * X[60:], folds


def watching():
    return NeighborVote(name="Watching", learner=Watching, grid={"factor": [1.0, 2.0]})


@pytest.mark.parametrize("scoring", [None, "f1"])
def test_each_fit_sees_the_rows_that_are_classified_next(seen, data, scoring):
    X, y, queries, folds = data
    contender = watching()
    contender.fit(
        contender.candidates(1), X, y, seed=0, folds=folds, scoring=scoring, queries=queries
    )
    *tuning, last = seen
    assert len(tuning) == 6
    for i, (train, validation) in enumerate(folds):
        expected = StandardScaler().fit(X[train]).transform(X[validation])
        for given in tuning[2 * i : 2 * i + 2]:
            np.testing.assert_allclose(given, expected)
    np.testing.assert_allclose(last, StandardScaler().fit(X).transform(queries))


@pytest.mark.parametrize("scoring", [None, "f1"])
def test_nothing_is_seen_where_the_queries_are_not_known(seen, data, scoring):
    X, y, _, folds = data
    contender = watching()
    contender.fit(contender.candidates(1), X, y, seed=0, folds=folds, scoring=scoring)
    assert seen == [None] * 7


def test_queries_of_a_metric_that_is_learned_on_drawn_rows(seen, data):
    X, y, queries, folds = data
    contender = watching()
    options = {"folds": folds, "scoring": "f1", "max_samples": 30, "queries": queries}
    contender.fit(contender.candidates(1), X, y, seed=0, **options)
    assert all(given is not None for given in seen)
    np.testing.assert_allclose(seen[-1], StandardScaler().fit(X).transform(queries))


def test_iterative_lmnn_by_hand(data):
    """Tuning and vote with scikit-learn's neighbors."""
    X, y, queries, folds = data
    contender = find_contender("iterative-lmnn")
    tried = [Candidate(str(n), {"n_selected": n}) for n in (2, 5)]
    tuned = contender.fit(tried, X, y, seed=0, folds=folds, queries=queries)

    def vote(n, train, rows):
        scaler = StandardScaler().fit(X[train])
        Z, Q = scaler.transform(X[train]), scaler.transform(rows)
        learner = IterativeLMNN(n_selected=n, max_iter=100, max_rounds=4)
        with quiet_repeats():
            learner.fit(Z, y[train], queries=Q)
        knn = KNeighborsClassifier(3).fit(learner.transform(Z), y[train])
        return knn.predict(learner.transform(Q))

    scores = {
        name: np.mean([f1_score(y[v], vote(n, t, X[v])) for t, v in folds])
        for name, n in (("2", 2), ("5", 5))
    }
    assert tuned.validation == pytest.approx(scores)
    best = max(scores, key=lambda name: (scores[name], name))
    assert tuned.chosen == {"n_selected": int(best)}
    expected = vote(int(best), np.arange(60), queries)
    np.testing.assert_array_equal(tuned.answer(queries).predicted, expected)


@pytest.mark.parametrize("name", ["plain", "gmml", "dmbk", "iml"])
def test_other_methods_do_not_look_at_queries(data, name):
    X, y, queries, folds = data
    contender = find_contender(name, "quick")
    assert contender.looks_at_queries == ""
    tried = contender.candidates(1)[:3]
    with_them, without = (
        contender.fit(tried, X, y, seed=0, folds=folds, queries=given).answer(queries)
        for given in (queries, None)
    )
    np.testing.assert_array_equal(with_them.scores, without.scores)


def test_a_transductive_method_says_so():
    sentence = find_contender("iterative-lmnn").looks_at_queries
    assert sentence.startswith("iterative LMNN looks at the features of the rows to be classified")
    assert watching().looks_at_queries.startswith("Watching looks at")


def test_a_study_shows_the_test_part_without_its_labels(seen):
    learner = LearnerSpec("Watching", f"{__name__}:Watching")
    run_task(Task("wine", None, "none", 1, learner))
    (given,) = seen  # there is a single candidate, which is not validated
    X, y = load_dataset("wine", return_X_y=True)
    split = make_split(y, 1, 0.7)
    expected = StandardScaler().fit(X[split.train]).transform(X[split.test])
    np.testing.assert_allclose(given, expected)
