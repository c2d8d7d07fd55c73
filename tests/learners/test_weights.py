"""Weights of examples in learners and maps; for those of IML, see its loss."""

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

from raremetric import (
    GMML,
    ITML,
    LMNN,
    MLFP,
    BalancedDiscriminant,
    BoostedLeaves,
    ImportanceWeights,
    MetricKNNClassifier,
)
from raremetric.pairs import draw_pairs, redraw, sample_rows
from raremetric.validation import check_labels
from tests.conftest import make_problem
from tests.oracles.neighbors import dissimilar_lists, similar_lists

LEARNERS = [
    LMNN(2, n_components=2),
    LMNN(2, max_samples=20, random_state=0),
    ITML(random_state=0),
    GMML(random_state=0),
    GMML(set_weights="balanced", random_state=0),
    GMML(pairs="neighbors"),
    GMML(pairs="neighbors", set_weights="balanced"),
    MLFP(),
]
MAPS = [
    BalancedDiscriminant(),
    ImportanceWeights(n_estimators=5, random_state=0),
    BoostedLeaves(10, random_state=0),
]


def weighted_problem(n_samples=40, n_classes=2):
    """Every fourth example has a weight of zero."""
    X, y = make_problem(3, n_samples=n_samples, n_classes=n_classes)
    return X, y, np.resize([1.0, 0.0, 2.0, 5.0], n_samples)


@pytest.mark.parametrize("learner", LEARNERS + MAPS)
def test_equal_weights_are_no_weights(learner):
    X, y, _ = weighted_problem()
    expected = learner.fit(X, y).transform(X)
    for weight in (1.0, 0.1) if learner in LEARNERS else (1.0,):
        found = learner.fit(X, y, sample_weight=np.full(len(X), weight)).transform(X)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("learner", MAPS[:2])
def test_the_total_weight_of_a_class_does_not_matter(learner):
    X, y, _ = weighted_problem()
    expected = learner.fit(X, y).transform(X)
    found = learner.fit(X, y, sample_weight=np.where(y == 1, 8.0, 1.0)).transform(X)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("learner", LEARNERS)
def test_only_ratios_matter(learner):
    X, y, w = weighted_problem()
    expected = learner.fit(X, y, w).components_
    assert not np.array_equal(learner.fit(X, y).components_, expected)
    np.testing.assert_array_equal(learner.fit(X, y, 8 * w).components_, expected)
    np.testing.assert_allclose(learner.fit(X, y, w / 3).components_, expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("weights", ["equal", "different"])
@pytest.mark.parametrize("learner", LEARNERS + MAPS)
def test_an_example_of_weight_zero_is_left_out(learner, weights):
    X, y, w = weighted_problem(n_classes=3)
    w = w if weights == "different" else np.sign(w)
    kept = np.flatnonzero(w)
    learner.fit(X, y, w)
    alone = clone(learner).fit(X[kept], y[kept], w[kept])
    np.testing.assert_array_equal(learner.transform(X), alone.transform(X))
    if isinstance(learner, LMNN):
        expected = np.full((len(X), 2), -1)
        expected[kept] = np.append(kept, -1)[alone.target_neighbors_]
        np.testing.assert_array_equal(learner.target_neighbors_, expected)
    elif isinstance(learner, ITML):
        np.testing.assert_array_equal(learner.pair_indices_, kept[alone.pair_indices_])
    elif isinstance(learner, GMML):
        for label, sets in alone.pair_sets_.items():
            for ours, theirs in zip(learner.pair_sets_[label], sets, strict=True):
                np.testing.assert_array_equal(ours, kept[theirs])


@pytest.mark.parametrize("scheme", ["uniform", "balanced"])
def test_gmml_weights_the_pairs_of_neighbors_by_their_anchor(scheme):
    X, y = make_problem(5, n_samples=30)
    w = np.resize([1.0, 2.0, 5.0], 30)
    gmml = GMML(pairs="neighbors", set_weights=scheme, n_neighbors=2).fit(X, y, w)
    for lists, found in (
        (similar_lists(X, y, 2), gmml.similar_scatter_),
        (dissimilar_lists(X, y, 2), gmml.dissimilar_scatter_),
    ):
        share = w / np.bincount(y, w)[y] if scheme == "balanced" else w
        share = 30 * share / share.sum()  # a mean of one
        differences = [(share[i], X[i] - X[j]) for i in range(30) for j in lists[i]]
        expected = np.eye(3) + sum(weight * np.outer(d, d) for weight, d in differences)
        np.testing.assert_allclose(found, expected)


def test_gmml_draws_pairs_as_if_rows_were_repeated():
    X, y = make_problem(5, n_samples=30)
    w = np.resize([1, 2, 5], 30)
    X2, y2, n = np.repeat(X, w, axis=0), np.repeat(y, w), 200_000
    gmml = GMML(n_pairs=n, random_state=0).fit(X, y, w)
    differences = (X2[:, np.newaxis] - X2).reshape(-1, 3)
    same = (y2[:, np.newaxis] == y2).ravel()
    for chosen, found in ((same, gmml.similar_scatter_), (~same, gmml.dissimilar_scatter_)):
        expected = differences[chosen].T @ differences[chosen] / len(differences)
        np.testing.assert_allclose(found / n, expected, rtol=0.03, atol=0.02)


def test_rows_are_drawn_in_proportion_to_their_weights():
    w, n = np.array([1.0, 2.0, 5.0]), 80_000
    rng = np.random.RandomState(0)
    for drawn in (
        redraw(3, n, rng, w),
        np.concatenate(sample_rows(10 * n, rng, np.resize(w, 10 * n))),
    ):
        found = np.bincount(drawn % 3, minlength=3) / len(drawn)
        np.testing.assert_allclose(found, w / 8, atol=0.01)


@pytest.mark.parametrize("same", [True, False])
def test_itml_draws_both_rows_of_a_pair_in_proportion(same):
    y, w = np.array([0, 0, 0, 1, 1, 2]), np.array([1.0, 2.0, 5.0, 3.0, 1.0, 4.0])
    labels, rng, n = check_labels(y, "test"), np.random.RandomState(0), 6000
    found, expected = np.zeros((6, 6)), np.zeros((6, 6))
    for _ in range(n):
        (pair,) = draw_pairs(labels, 1, same, rng, w)
        found[tuple(pair)] += 1 / n
    for i in range(6):
        partners = ((y == y[i]) == same) & (np.arange(6) != i)
        if partners.any():
            expected[i] = w[i] * w * partners / w[partners].sum()
    np.testing.assert_allclose(found, expected / expected.sum(), atol=0.015)


@pytest.mark.parametrize("learner", [LMNN(), ITML(random_state=0), GMML(random_state=0)])
def test_a_vote_passes_its_weights_on(learner):
    X, y, w = weighted_problem()
    alone = learner.fit(X, y, w).components_
    model = MetricKNNClassifier(learner).fit(X, y, w)
    np.testing.assert_array_equal(model.metric_.components_, alone)
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_params(learner=learner.set_fit_request(sample_weight=True))
        model.set_fit_request(sample_weight=True).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(model.metric_.components_, alone)
