"""Transductive methods get the features of the rows to be classified; no other method does."""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import CONTENDERS
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.datasets import load_dataset
from raremetric.study.protocol import make_split, run_task
from raremetric.study.tasks import LearnerSpec, Task
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


def test_each_fit_sees_the_rows_that_are_classified_next(seen, data):
    X, y, queries, folds = data
    contender = NeighborVote(name="Watching", learner=Watching, grid={"factor": [1.0, 2.0]})
    contender.fit(contender.candidates(1), X, y, seed=0, folds=folds, queries=queries)
    *tuning, last = seen
    assert len(tuning) == 6
    for i, (train, validation) in enumerate(folds):
        expected = StandardScaler().fit(X[train]).transform(X[validation])
        for given in tuning[2 * i : 2 * i + 2]:
            np.testing.assert_allclose(given, expected)
    np.testing.assert_allclose(last, StandardScaler().fit(X).transform(queries))
    seen.clear()
    contender.fit(contender.candidates(1), X, y, seed=0, folds=folds)
    assert seen == [None] * 7


@pytest.mark.parametrize("name", ["Euclidean", "GMML", "LMNN", "IML"])
def test_other_methods_do_not_look_at_queries(data, name):
    X, y, queries, folds = data
    contender = CONTENDERS[name]
    tried = contender.candidates(1)[:3]
    with_them, without = (
        contender.fit(tried, X, y, seed=0, folds=folds, queries=given).answer(queries)
        for given in (queries, None)
    )
    np.testing.assert_array_equal(with_them.scores, without.scores)


def test_a_study_shows_the_test_part_without_its_labels(seen):
    learner = LearnerSpec("Watching", f"{__name__}:Watching")
    run_task(Task("wine", None, "none", 1, learner))
    (given,) = seen  # there is a single candidate, which is not validated
    X, y = load_dataset("wine", return_X_y=True)
    split = make_split(y, 1, 0.7)
    expected = StandardScaler().fit(X[split.train]).transform(X[split.test])
    np.testing.assert_allclose(given, expected)
