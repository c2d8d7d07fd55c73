import numpy as np
import pytest
from scipy.special import expit
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from raremetric import IML, Euclidean, RareClassifier
from raremetric.rare.candidates import default_metrics
from raremetric.rare.ensemble import Ensemble, Member
from raremetric.rare.evaluation import N_SURVIVORS
from raremetric.rare.fitting import FittedMetric
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.voting import READINGS
from tests.rare.conftest import rare_problem


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
        assert set(words[reason[0]["positive"]["rows"]]) == {"fraud"}
        assert set(words[reason[0]["negative"]["rows"]]) == {"fine"}


def test_neighbors_are_those_under_the_members_own_pipeline(fitted):
    model, X, _ = fitted
    Q = rare_problem(seed=2)[0][:6]
    for number, member in enumerate(model.ensemble_.members[:3]):
        pipeline = member.pipeline
        Z, mapped = pipeline.transform(X), pipeline.transform(Q)
        distances = np.linalg.norm(mapped[:, np.newaxis] - Z, axis=2)
        found, rows = model.kneighbors(Q, 4, member=number)
        np.testing.assert_allclose(found, np.sort(distances, axis=1)[:, :4], rtol=1e-6)
        np.testing.assert_array_equal(rows, np.argsort(distances, axis=1)[:, :4])
    np.testing.assert_array_equal(model.kneighbors(Q, return_distance=False).shape, (6, 3))


@pytest.mark.parametrize("k", [1, 3, 30])
def test_neighbors_with_the_probabilities_are_those_of_a_search(fitted, k):
    model, X, _ = fitted
    Q = np.concatenate([rare_problem(seed=2)[0], X[:5], X[:5]])  # some at a distance of zero
    p, distances, rows = model.proba_and_kneighbors(Q, k)
    np.testing.assert_array_equal(p, model.predict_proba(Q))
    expected, expected_rows = model.kneighbors(Q, k)
    np.testing.assert_array_equal(distances, expected)
    np.testing.assert_array_equal(rows, expected_rows)


def test_results_of_all_candidates(fitted):
    model, _, _ = fitted
    table = model.cv_results_
    (n_candidates,) = {len(column) for column in table.values()}
    # Some metrics were dropped after the first repeat, with all their readings.
    assert n_candidates % len(READINGS) == 0
    assert 3 * N_SURVIVORS <= n_candidates < len(READINGS) * len(default_metrics())
    assert table["weight"].sum() == pytest.approx(1)
    assert np.count_nonzero(table["weight"]) == len(model.ensemble_.members)
    assert (table["rank_in_group"][table["weight"] > 0] <= 5).all()
    assert 0 < model.best_score_ <= 1
    axes = pytest.importorskip("matplotlib.pyplot").figure().subplots()
    assert model.plot_candidates(axes) is axes
    assert axes.get_xlabel().startswith("F1 on held-out examples")


def test_neighbors_by_log_odds_are_shown_only_if_there_are_no_others():
    metrics = [
        FittedMetric(make_pipeline(learner), None, 1.0)
        for learner in (LogOddsDistance(), Euclidean(), IML())
    ]

    def main_member(*numbers_and_weights):
        members = [Member("", weight, metrics[i], None) for i, weight in numbers_and_weights]
        return Ensemble(members, None, None, None).main_member

    assert main_member((0, 0.5), (1, 0.2), (2, 0.16), (2, 0.14)) == 2  # 0.2 against 0.3
    assert main_member((0, 0.5), (1, 0.3), (2, 0.2)) == 1
    assert main_member((0, 0.6), (0, 0.4)) == 0


@pytest.mark.parametrize("number", [-1, 99])
def test_a_member_that_does_not_exist(fitted, number):
    with pytest.raises(ValueError, match=rf"member == {number}, must be"):
        fitted[0].kneighbors(fitted[1], member=number)


def test_more_neighbors_than_examples(fitted):
    with pytest.raises(ValueError, match=r"n_neighbors == 61, must be <= 60"):
        fitted[0].kneighbors(fitted[1], 61)


def test_the_metric_is_the_one_with_the_largest_weight_of_all_its_members(fitted):
    model, X, _ = fitted
    members = model.ensemble_.members
    assert members[0].weight == max(m.weight for m in members) == model.cv_results_["weight"].max()
    pipelines = [metric.pipeline for metric in model.ensemble_.metrics]
    totals = [sum(m.weight for m in members if m.pipeline is each) for each in pipelines]
    assert model.metric_ is pipelines[int(np.argmax(totals))]
    Z = model.metric_.transform(X)
    np.testing.assert_allclose(
        model.kneighbors(X[:4], 2)[0][:, 1],
        np.sort(np.linalg.norm(Z[:4, np.newaxis] - Z, axis=2), axis=1)[:, 1],
    )
    with pytest.raises(NotFittedError):
        RareClassifier().metric_  # noqa: B018
