import numpy as np
from scipy.stats import spearmanr

from raremetric import BoostedLeaves
from raremetric.neighbors import NeighborSearch
from raremetric.rare.log_odds import LogOddsDistance
from raremetric.rare.policy import LOG_ODDS_READINGS
from raremetric.validation import check_labels
from raremetric.voting import Reading, class_scores, distance_floor
from tests.conftest import make_problem


def test_the_distance_is_the_difference_of_the_sums():
    X, y = make_problem(0, n_samples=40)
    metric = LogOddsDistance().fit(X, y)
    found = metric.pair_distance(X[:20].reshape(10, 2, -1))
    np.testing.assert_allclose(found, np.abs(X[0:20:2].sum(axis=1) - X[1:20:2].sum(axis=1)))


def scores_by_log_odds(examples, y, queries, reading):
    """Scores of the second class; examples and queries are mapped by trees."""
    metric = LogOddsDistance().fit(examples, y)
    Z = metric.transform(examples)
    search = NeighborSearch(Z, check_labels(y, "A test"))
    found = search.nearest_of_each_class(metric.transform(queries), reading.size)
    return class_scores([near.distances for near in found], distance_floor(Z), [reading])[0, :, 1]


def test_rows_are_ranked_as_by_the_trees_where_the_classes_overlap():
    X, y = make_problem(0, n_samples=400)
    flipped = np.random.default_rng(0).uniform(size=400) < 0.2
    y = np.where(flipped, 1 - y, y)
    leaves = BoostedLeaves(20, random_state=0).fit(X[:300], y[:300])
    learned, queries = leaves.transform(X[:300]), leaves.transform(X[300:])
    reading = Reading(80, averaged=True, power=2)
    scores = scores_by_log_odds(learned, y[:300], queries, reading)
    assert spearmanr(scores, queries.sum(axis=1)).statistic > 0.98


def test_with_its_own_reading_the_score_is_nearly_the_log_odds_of_the_trees():
    """Also where the classes do not overlap; ratios of distances saturate there."""
    X, y = make_problem(0, n_samples=4000)
    leaves = BoostedLeaves(20, random_state=0).fit(X[:3000], y[:3000])
    examples, queries = leaves.transform(X[:600]), leaves.transform(X[3000:])
    (reading,) = LOG_ODDS_READINGS
    own = scores_by_log_odds(examples, y[:600], queries, reading)
    log_odds = queries.sum(axis=1)
    assert spearmanr(own, log_odds).statistic > 0.999
    assert np.corrcoef(own, log_odds)[0, 1] > 0.98
