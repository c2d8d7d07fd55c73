"""Votes of neighbors with a threshold, for a user's table."""

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import find_contender
from raremetric.contenders.base import Candidate, TuningOptions
from raremetric.contenders.vote_folds import PreparedFold
from raremetric.contenders.vote_threshold import (
    VoteClassifier,
    halved_sizes,
    positive_shares,
    tune_threshold,
    vote_threshold,
)
from raremetric.learners.euclidean import Euclidean
from raremetric.selection import Sample, check_aim, make_folds
from raremetric.validation import check_labels

N = 400


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    y = (np.arange(2 * N) % 8 == 0).astype(int)
    X = rng.normal(size=(2 * N, 3))
    X[y == 1, :2] += 1.0
    return X[:N], y[:N], X[N:], y[N:]


def fit(name, X, y, **options):
    contender = find_contender(name, "quick")
    return contender.fit(contender.candidates(0)[:3], X, y, seed=0, **options)


def test_the_threshold_of_plain_neighbors_by_hand(data):
    X, y, queries, _ = data
    tuned = fit("plain", X, y, scoring="f2")
    seed = np.random.RandomState(0).randint(2**31 - 1)
    knn = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    folds = make_folds(check_labels(y, "y"), seed)[0]
    shares = cross_val_predict(knn, X, y, cv=folds, method="predict_proba")[:, 1]
    threshold = tuned.model[-1].threshold_
    predicted = shares >= threshold
    assert any(threshold == pytest.approx(level) for level in (1 / 6, 1 / 2, 5 / 6))
    assert tuned.quality.measures["precision"] == pytest.approx(precision_score(y, predicted))
    assert tuned.quality.measures["recall"] == pytest.approx(recall_score(y, predicted))
    assert tuned.quality.measures["f1"] == pytest.approx(f1_score(y, predicted))
    theirs = knn.fit(X, y).predict_proba(queries)[:, 1]
    answer = tuned.answer(queries)
    np.testing.assert_allclose(answer.scores, theirs)
    np.testing.assert_array_equal(answer.predicted, theirs >= threshold)


@pytest.mark.parametrize("name", ["plain", "iml", "gmml", "lmnn", "itml"])
def test_every_vote_takes_every_aim(name, data):
    X, y, queries, truth = data
    X, y = X[:160], y[:160]
    thresholds = []
    for scoring in ("recall>=0.9", "f2", "f1", [[0, 50], [1, 0]]):
        tuned = fit(name, X, y, scoring=scoring)
        thresholds.append(tuned.model[-1].threshold_)
        assert np.isfinite(tuned.quality.score)
    assert thresholds == sorted(thresholds)
    assert thresholds[0] < thresholds[-1]
    assert 0 < fit(name, X, y, scoring="average_precision").model[-1].threshold_ < 1
    strict = fit(name, X, y, scoring="precision>=0.9").quality
    assert strict.missed is None or strict.missed < 0.9
    most = fit(name, X, y, scoring="recall>=0.9")
    assert recall_score(truth, most.answer(queries).predicted) > 0.5


def test_in_studies_the_majority_decides_as_in_the_paper(data):
    X, y, queries, _ = data
    tuned = find_contender("plain").fit_for_study([Candidate("", {})], X, y, seed=0)
    assert not isinstance(tuned.model[-1], VoteClassifier)
    answer = tuned.answer(queries)
    np.testing.assert_array_equal(answer.predicted, answer.scores > 0.5)


def test_the_chosen_candidate_has_the_best_rank(data):
    X, y, _, _ = data
    tuned = fit("gmml", X, y, scoring="f1")
    assert len(tuned.validation) == 3
    assert tuned.quality.score >= max(tuned.validation.values()) - 0.1
    assert tuned.chosen in [each.params for each in find_contender("gmml", "quick").candidates(0)]


def test_successive_halving():
    assert halved_sizes(50, 5, True) == [50, 25, 13, 7, 6]
    assert halved_sizes(6, 3, True) == [6, 6, 6]
    assert halved_sizes(1, 2, True) == [1, 1]
    assert halved_sizes(50, 2, False) == [50, 50]


def test_all_rows_vote_and_choose_the_threshold_if_some_are_drawn(data):
    X, y, queries, _ = data
    whole, drawn = (fit("plain", X, y, scoring="f1", max_samples=limit) for limit in (None, 120))
    assert whole.model[-1].threshold_ == drawn.model[-1].threshold_
    np.testing.assert_allclose(whole.answer(queries).scores, drawn.answer(queries).scores)
    assert whole.quality == drawn.quality
    metric = fit("gmml", X, y, scoring="f1", max_samples=120)
    assert metric.model[-1].kneighbors(np.zeros((1, 3)), N)[1].shape == (1, N)


def test_the_threshold_is_chosen_on_some_of_the_rows_for_all_of_them(data):
    X, y = np.concatenate([data[0], data[2]]), np.concatenate([data[1], data[3]])
    contender, how = find_contender("plain"), TuningOptions(0, scoring="f1", max_samples=40)
    all_judged, judged, few = (
        tune_threshold(contender, contender.candidates(0), X, y, how, limit)
        for limit in (len(y), 400, 1)
    )
    for tuned in (judged, few):
        assert tuned.model[-1].kneighbors(np.zeros((1, 3)), len(y))[1].shape == (1, len(y))
    assert judged.model[-1].threshold_ == all_judged.model[-1].threshold_
    expected = all_judged.quality.measures
    # All positives are judged: the recall is the same, and the alerts are those of the whole table.
    assert judged.quality.measures["recall"] == pytest.approx(expected["recall"])
    for name in ("precision", "f1", "alerts_per_1000"):
        assert judged.quality.measures[name] == pytest.approx(expected[name], rel=0.15)
    weights = np.full(len(y), 3.0)
    weighted = tune_threshold(
        contender, contender.candidates(0), X, y, how._replace(weights=weights), 400
    )
    assert weighted.quality.measures["f1"] == pytest.approx(judged.quality.measures["f1"])


def test_folds_of_the_past_leave_rows_without_a_share(data):
    X, y, _, _ = data
    folds = [(np.arange(200), np.arange(200, 300)), (np.arange(300), np.arange(300, 400))]
    tuned = fit("plain", X, y, scoring="f1", folds=folds)
    knn = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    shares = np.concatenate([knn.fit(X[a], y[a]).predict_proba(X[b])[:, 1] for a, b in folds])
    predicted = shares >= tuned.model[-1].threshold_
    assert tuned.quality.measures["f1"] == pytest.approx(f1_score(y[200:], predicted))


def test_neighbors_vote_with_their_weights(data):
    X, y, queries, _ = data
    weights = np.random.RandomState(1).uniform(0.5, 4.0, N)
    nearest = KNeighborsClassifier(3).fit(X, y).kneighbors(queries, return_distance=False)
    expected = (weights * y)[nearest].sum(axis=1) / weights[nearest].sum(axis=1)
    fold = PreparedFold(X, y, queries, np.zeros(len(queries)), weights)
    np.testing.assert_allclose(positive_shares(nearest, fold), expected)
    tuned = fit("gmml", X, y, scoring="f1", weights=weights)
    mapped = tuned.model[:-1].transform(X)
    _, nearest = tuned.model[-1].kneighbors(tuned.model[:-1].transform(queries))
    expected = (weights * y)[nearest].sum(axis=1) / weights[nearest].sum(axis=1)
    np.testing.assert_allclose(tuned.model.predict_proba(queries)[:, 1], expected)
    np.testing.assert_allclose(np.average(mapped, axis=0, weights=weights), 0, atol=1e-12)


def test_shares_that_say_nothing_decide_by_majority():
    positive = np.arange(60) < 20
    threshold, _ = vote_threshold(np.where(positive, 0.0, 2 / 3), Sample(positive), check_aim("f1"))
    assert threshold == 0.5


def test_progress(data):
    X, y, _, _ = data
    for options in ({}, {"max_samples": 120}):
        seen = []
        fit(
            "gmml", X[:160], y[:160], scoring="f1",
            on_progress=lambda *step, seen=seen: seen.append(step), **options,
        )  # fmt: skip
        done, steps = zip(*seen, strict=True)
        assert sorted(done) == list(done)
        assert done[-1] == steps[-1] == steps[0]


@pytest.mark.parametrize("weighted", [False, True])
def test_one_search_gives_probabilities_and_neighbors(data, weighted):
    X, y, queries, _ = data
    weights = np.random.RandomState(1).choice([0.0, 0.5, 2.0], N) if weighted else None
    model = VoteClassifier(Euclidean()).fit(X, y, weights)
    p, distances, rows = model.proba_and_kneighbors(queries)
    np.testing.assert_allclose(p, model.predict_proba(queries), atol=1e-9)
    for found, expected in zip((distances, rows), model.kneighbors(queries), strict=True):
        np.testing.assert_array_equal(found, expected)
