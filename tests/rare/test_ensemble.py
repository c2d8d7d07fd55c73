"""What is kept, and how it is shown: members, their scores, neighbors and reasons."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from raremetric import IML, BalancedDiscriminant, Euclidean, RareClassifier
from raremetric.rare.candidates import (
    MetricSpec,
    default_metrics,
    groups_of,
    with_readings,
)
from raremetric.rare.ensemble import Ensemble, Member, fit_members
from raremetric.rare.evaluation import out_of_fold_scores
from raremetric.rare.fitting import FittedMetric
from raremetric.rare.policy import AVERAGING, N_SURVIVORS
from raremetric.rare.scores import LogOdds
from raremetric.selection import Sigmoid, check_aim, choose, scored_rows
from raremetric.voting import Reading, class_scores
from tests.conftest import make_problem
from tests.rare.conftest import rare_problem, tuning_set


def fit_two_metrics(**given):
    X, y = make_problem(2, n_samples=60)
    steps = (StandardScaler(),)
    metrics = [
        MetricSpec("linear", "plain", steps, Euclidean()),
        MetricSpec("linear", "plain", steps, BalancedDiscriminant()),
    ]
    tuned, aim = tuning_set(X, y, **given), check_aim("f1")
    metrics, scores = out_of_fold_scores(metrics, tuned, aim)
    rows = scored_rows(tuned.repeats[0])
    sample, scores = tuned.sample.take(rows), scores[:, :, rows]
    choice = choose(scores, groups_of(metrics, 20), sample, aim, AVERAGING)
    found = fit_members(metrics, choice, scores[choice.kept], tuned, sample)
    return X, y, tuned, choice, found


def scores_alone(member, X, y, queries):
    """The scores of a member, from its pipeline and all distances."""
    Z, Q = member.pipeline.transform(X), member.pipeline.transform(queries)
    distances = np.linalg.norm(Q[:, np.newaxis] - Z, axis=2)
    by_class = [np.sort(distances[:, y == c], axis=1) for c in (0, 1)]
    return class_scores(by_class, member.metric.floor, [member.reading])[0, :, 1]


def test_each_member_scores_by_the_rows_of_its_fold_alone():
    X, y, tuned, choice, ((members, average), averaged) = fit_two_metrics()
    ensemble = Ensemble(members, average, Sigmoid(np.array(1.0), np.array(0.0)), np.arange(60))
    assert len(choice.kept) == 5
    assert sum(average.weights) == pytest.approx(1)
    names = [member.name for member in members]
    assert len(set(names)) == 5
    queries, scores = make_problem(3, n_samples=7)[0], []
    trained = [set(train.tolist()) for train, _ in tuned.last]
    for member in members:
        rows = np.flatnonzero(member.metric.search.labels.codes < 2)
        assert set(rows.tolist()) in trained
        np.testing.assert_allclose(member.pipeline[0].mean_, X[rows].mean(axis=0))
        scores.append(scores_alone(member, X[rows], y[rows], queries))
    np.testing.assert_allclose(ensemble.log_odds(queries), average(np.array(scores)))
    # In each fold, one of the two metrics has its turn.
    assert len(ensemble.metrics) == len(tuned.last)
    assert averaged.shape == (len(tuned.repeats), 60)


def test_without_another_repeat_members_are_fitted_on_all_rows():
    """Of more rows, more neighbors count: they are the same share of a class."""
    past = [(np.arange(20), np.arange(20, 40)), (np.arange(40), np.arange(40, 60))]
    X, _, tuned, choice, ((members, average), averaged) = fit_two_metrics(cv=past)
    assert tuned.last is None
    assert average is choice.average
    assert averaged.shape == (1, 40)
    for member in members:
        np.testing.assert_allclose(member.pipeline[0].mean_, X.mean(axis=0))
        tried = member.reading._replace(size=member.reading.size // 2)  # with 30 rows on average
        assert member.name.endswith(f", {tried}")


def test_explained_scores_add_up_to_the_probability(fitted):
    model, X, words = fitted
    reasons = model.explain(X[:5])
    calibration = model.ensemble_.calibration
    for reason, p in zip(reasons, model.predict_proba(X[:5])[:, 1], strict=True):
        total = sum(part["weight"] * part["score"] for part in reason)
        assert p == pytest.approx(expit(calibration.slope * total + calibration.intercept))
        weights = [part["weight"] for part in reason]
        assert weights == sorted(weights, reverse=True)
        assert sum(weights) == pytest.approx(1)
        for member, part in zip(model.ensemble_.members, reason, strict=True):
            n_shown = 0 if member.reading is None else member.reading.size
            for side, label in (("positive", "fraud"), ("negative", "fine")):
                rows = part[side]["rows"]
                assert len(rows) == len(part[side]["distances"]) <= n_shown
                assert set(words[rows]) == ({label} if n_shown else set())


def test_neighbors_are_those_under_the_members_own_pipeline(fitted):
    model, X, _ = fitted
    Q = rare_problem(seed=2)[0][:6]
    of_metrics = [i for i, each in enumerate(model.ensemble_.members) if each.reading is not None]
    for number in of_metrics[:3]:
        member = model.ensemble_.members[number]
        Z, mapped = member.pipeline.transform(X), member.pipeline.transform(Q)
        distances = np.linalg.norm(mapped[:, np.newaxis] - Z, axis=2)
        found, rows = model.kneighbors(Q, 4, member=number)
        np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :4], rtol=1e-6)
        np.testing.assert_array_equal(rows, np.argsort(distances, axis=1)[:, :4])
    np.testing.assert_array_equal(model.kneighbors(Q, return_distance=False).shape, (6, 3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"member": -1}, r"member == -1, must be"),
        ({"member": 9999}, r"member == 9999, must be"),
        ({"n_neighbors": 61}, r"n_neighbors == 61, must be <= 60"),
    ],
)
def test_neighbors_that_do_not_exist(fitted, options, message):
    with pytest.raises(ValueError, match=message):
        fitted[0].kneighbors(fitted[1], **options)


def test_results_of_all_candidates(fitted):
    model, _, _ = fitted
    table = model.cv_results_
    (n_candidates,) = {len(column) for column in table.values()}
    # Some metrics were dropped after the first repeat, with all their readings.
    assert 2 * N_SURVIVORS <= n_candidates < len(with_readings(default_metrics(3)))
    assert table["weight"].sum() == pytest.approx(1)
    assert np.count_nonzero(table["weight"]) == len(model.ensemble_.weights)
    _, n_kept = np.unique(table["group"][table["weight"] > 0], return_counts=True)
    assert n_kept.max() <= 5
    assert 0 < model.best_score_ <= 1
    axes = pytest.importorskip("matplotlib.pyplot").figure().subplots()
    assert model.plot_candidates(axes) is axes
    assert axes.get_xlabel().startswith("F1 on held-out examples")


def test_the_metric_is_the_one_with_the_largest_weight_of_all_its_members(fitted):
    model, X, _ = fitted
    members = model.ensemble_.members
    assert members[0].weight == max(m.weight for m in members)
    assert max(model.ensemble_.weights.values()) == model.cv_results_["weight"].max()
    pipelines = [metric.pipeline for metric in model.ensemble_.metrics]
    totals = [
        sum(m.weight for m in members if m.pipeline is each and m.reading is not None)
        for each in pipelines
    ]
    assert model.metric_ is pipelines[int(np.argmax(totals))]
    share = model.ensemble_.weight_of_neighbors
    assert share == pytest.approx(sum(totals))
    assert 0.5 < share < 1
    Z = model.metric_.transform(X)
    np.testing.assert_allclose(
        model.kneighbors(X[:4], 2)[0][:, 1],
        np.sort(np.linalg.norm(Z[:4, np.newaxis] - Z, axis=2), axis=1)[:, 1],
    )
    with pytest.raises(NotFittedError):
        RareClassifier().metric_  # noqa: B018


def test_plain_scores_have_no_neighbors():
    metrics = [
        FittedMetric(make_pipeline(learner), None, 1.0)
        for learner in (LogOdds(), Euclidean(), IML())
    ]

    def main_member(*numbers_and_weights):
        members = [
            Member("", weight, metrics[i], None if i == 0 else Reading(2))
            for i, weight in numbers_and_weights
        ]
        return Ensemble(members, None, None, None).main_member

    assert main_member((0, 0.5), (1, 0.2), (2, 0.16), (2, 0.14)) == 2  # 0.2 against 0.3
    assert main_member((0, 0.5), (1, 0.3), (2, 0.2)) == 1


def test_neighbors_of_a_plain_score_are_refused(fitted):
    model, X, _ = fitted
    members = model.ensemble_.members
    (first, *_) = (i for i, member in enumerate(members) if member.reading is None)
    with pytest.raises(ValueError, match=f"member={first} is a plain score, without neighbors"):
        model.kneighbors(X, member=first)
    scores = members[first].pipeline.transform(X[:5])[:, 0]
    parts = [reason[first]["score"] for reason in model.explain(X[:5])]
    _, mean, scale = (column[first] for column in model.ensemble_.average)
    np.testing.assert_allclose(parts, (scores - mean) / scale)
