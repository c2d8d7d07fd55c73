import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

from raremetric import BalancedDiscriminant, Euclidean
from raremetric.rare.candidates import Branch
from raremetric.rare.evidence import (
    Part,
    choose_parts,
    combine,
    list_candidates,
    make_folds,
    score_repeat,
)
from raremetric.validation import check_labels
from raremetric.voting import READINGS, Reading
from tests.conftest import make_problem
from tests.oracles.votes import nearness

TRIED = [Branch("linear", "plain", (StandardScaler(),), (Euclidean(), BalancedDiscriminant()))]


@pytest.mark.parametrize(
    ("n_samples", "n_positive", "repeats", "n_folds"),
    [
        (500, 250, 2, 10),
        (501, 39, 2, 10),
        (2001, 39, 1, 5),
        (501, 40, 2, 5),
        (1000, 40, 2, 5),
        (1001, 40, 1, 5),
        (300, 4, 2, 4),
    ],
)
def test_more_folds_where_less_is_known(n_samples, n_positive, repeats, n_folds):
    labels = check_labels(np.arange(n_samples) < n_positive, "A test")
    made = make_folds(labels, 0)
    assert [len(folds) for folds in made] == [n_folds] * repeats
    for folds in made:
        tested = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(tested, np.arange(n_samples))
    thorough = make_folds(labels, 0, thorough=True)
    assert len(thorough) == 2 * repeats
    for folds, same in zip(made, thorough, strict=False):
        np.testing.assert_array_equal(folds[0][1], same[0][1])


def test_scores_come_from_examples_of_other_folds_in_the_order_of_the_candidates():
    X, y = make_problem(0, n_samples=40)
    labels = check_labels(y, "A test")
    folds = make_folds(labels, 0)
    assert not np.array_equal(folds[0][0][1], folds[1][0][1])
    scores = score_repeat(TRIED, X, labels, folds[0], seed=0)
    candidates = list_candidates(TRIED)
    assert scores.shape == (len(candidates), 40) == (2 * len(READINGS), 40)
    place = next(
        i
        for i, each in enumerate(candidates)
        if isinstance(each.learner, BalancedDiscriminant) and each.reading == Reading(2)
    )
    assert candidates[place].metric == 1
    for train, test in folds[0]:
        scaler = StandardScaler().fit(X[train])
        metric = BalancedDiscriminant().fit(scaler.transform(X[train]), y[train])
        Z, Q = (metric.transform(scaler.transform(X[rows])) for rows in (train, test))
        expected = [nearness(Z, y[train], q, [1, 1], 2)[1] for q in Q]
        np.testing.assert_allclose(scores[place, test], expected, rtol=1e-5, atol=1e-6)


def test_threads_do_not_change_scores():
    X, y = make_problem(0, n_samples=40)
    labels = check_labels(y, "A test")
    folds, _ = make_folds(labels, 0)
    np.testing.assert_array_equal(
        score_repeat(TRIED, X, labels, folds, 0, n_jobs=1),
        score_repeat(TRIED, X, labels, folds, 0, n_jobs=2),
    )


def test_the_five_best_of_each_group_are_averaged_and_groups_by_their_voices():
    rng = np.random.default_rng(0)
    scores = 5 * rng.normal(size=(9, 2, 50)) + 3
    groups = ["a"] * 7 + ["b"] * 2
    places = np.array([7, 1, 2, 3, 4, 5, 6, 2, 1])
    parts = choose_parts(scores, groups, places, {"a": 3.0, "b": 1.0})
    assert [part.candidate for part in parts] == [1, 2, 3, 4, 5, 7, 8]
    assert sum(part.weight for part in parts) == pytest.approx(1)
    pooled = scores.reshape(9, -1)
    z = (pooled - pooled.mean(axis=1, keepdims=True)) / pooled.std(axis=1, keepdims=True)
    first, second = z[1:6].mean(axis=0), z[7:].mean(axis=0)
    by_hand = 3 * first / first.std() + second / second.std()
    together = combine(parts, [pooled[part.candidate] for part in parts])
    np.testing.assert_allclose(together / together.std(), by_hand / by_hand.std(), atol=1e-9)


def test_candidates_without_spread_do_not_divide_by_zero():
    parts = choose_parts(np.full((1, 1, 20), 2.0), ["a"], np.array([1]), {"a": 1.0})
    assert parts == [Part(0, 1.0, 2.0, 1.0)]
    np.testing.assert_array_equal(combine(parts, [np.array([2.0, 3.0])]), [0, 1])
