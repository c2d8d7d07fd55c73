import random

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, train_test_split

from raremetric.study.protocol import (
    Candidate,
    candidates,
    grid_candidates,
    make_split,
    prepare,
    resample,
    winner,
)


def test_one_random_state_serves_split_and_folds():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(90, 2)), (np.arange(90) < 30).astype(int)
    split = make_split(y, 7, 0.7)
    state = np.random.RandomState(7)
    X_train, X_test, y_train, _ = train_test_split(
        X, y, stratify=y, shuffle=True, test_size=0.7, random_state=state
    )
    np.testing.assert_array_equal(X[split.train], X_train)
    np.testing.assert_array_equal(X[split.test], X_test)
    expected = StratifiedKFold(5, shuffle=True, random_state=state).split(X_train, y_train)
    for ours, theirs in zip(split.folds, expected, strict=True):
        np.testing.assert_array_equal(ours[1], theirs[1])


def test_the_candidates_of_iml_are_the_first_hundred_of_the_shuffled_grid():
    grid = [
        (m, lam, a)
        for m in [1, 10, 100, 1000, 10000]
        for lam in [0, 0.01, 0.1, 1, 10]
        for a in np.arange(0, 1.01, 0.05)
    ]
    random.Random(3).shuffle(grid)
    ours = candidates("IML", 3)
    assert len(ours) == 100
    for candidate, (m, lam, a) in zip(ours, grid, strict=False):
        assert candidate.params["margin"] == m
        assert candidate.params["regularization"] == lam
        assert candidate.params["similar_weight"] == pytest.approx(a)
    assert candidates("IML", 3) == ours != candidates("IML", 4)


@pytest.mark.parametrize(
    ("kind", "n_candidates"), [("Euclidean", 1), ("LMNN", 21), ("ITML", 21), ("GMML", 21)]
)
def test_grids_of_the_baselines(kind, n_candidates):
    assert len(candidates(kind, 1)) == n_candidates


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


def test_smote_with_few_examples_has_fewer_neighbors_or_says_why_not():
    X, y = np.arange(24.0).reshape(12, 2), (np.arange(12) < 3).astype(int)
    assert np.bincount(resample(X, y, "smote")[1]).tolist() == [9, 9]
    with pytest.raises(ValueError, match=r"SMOTE needs two minority examples.*there is 1"):
        resample(X, (np.arange(12) < 1).astype(int), "smote")


def test_scaling_follows_the_resampled_part():
    rng = np.random.RandomState(0)
    X, y = rng.normal(5, 3, size=(40, 2)), (np.arange(40) < 8).astype(int)
    scaled, _, test = prepare(X, y, X[:3], "rus")
    np.testing.assert_allclose(scaled.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled.std(axis=0), 1)
    assert test.shape == (3, 2)


def test_a_users_grid_whole_or_in_part():
    grid = {"t": [0.0, 0.5, 1.0], "prior": ["identity", "covariance"]}
    assert len(grid_candidates(grid, None, 1)) == 6
    some = grid_candidates(grid, 2, 1)
    assert len(some) == 2
    assert some == grid_candidates(grid, 2, 1)
