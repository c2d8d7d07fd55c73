"""Models of all folds as one average: who is fitted where, and how much less noise it has."""

import numpy as np
import pytest

from raremetric.selection import Sample, Turns, shuffled_folds
from raremetric.selection.choice import Average
from raremetric.selection.turns import take_turns

SUM = Average(np.ones(2), np.zeros(2), np.ones(2))


def test_turns_are_taken_one_after_the_other_by_everyone():
    assert take_turns(["a", "b"], 5) == [["a"], ["b"], ["a"], ["b"], ["a"]]
    assert take_turns(["a", "b", "c"], 2) == [["a", "c"], ["b"]]
    assert take_turns([], 2) == [[], []]


@pytest.mark.parametrize("weighted", [False, True])
def test_models_score_alike_whatever_the_level_and_the_spread_of_their_fold(weighted):
    rng, n = np.random.default_rng(0), 50
    y = np.arange(n) % 3 == 0
    folds = shuffled_folds(y, 5, 0)
    turns = Turns.of(folds, [[[0, 3], [1]], [[2]]])
    assert turns.candidates == [[0, 2, 3], [1, 2], [0, 2, 3], [1, 2], [0, 2, 3]]
    average = Average(np.array([0.4, 0.1, 0.3, 0.2]), np.arange(4.0), 1 + np.arange(4.0))
    scores = rng.normal(size=(4, n))
    levels, spreads = rng.normal(size=(4, 5)), rng.uniform(1, 2, size=(4, 5))
    turn_scores = np.full((4, n), np.nan)
    for fold, (own, (_, rows)) in enumerate(zip(turns.candidates, folds, strict=True)):
        for each in own:
            turn_scores[each, rows] = levels[each, fold] + spreads[each, fold] * scores[each, rows]
    sample = Sample(y, rng.uniform(0.5, 1.5, n) if weighted else None)
    candidates, models, averaged = turns.combine(
        average, scores[:, np.newaxis], turn_scores, sample
    )
    assert candidates.tolist() == [0, 2, 3, 1, 2, 0, 2, 3, 1, 2, 0, 2, 3]
    np.testing.assert_allclose(np.bincount(candidates, models.weights), average.weights)
    fold_of_model = np.repeat(np.arange(5), [3, 2, 3, 2, 3])
    new = levels[candidates, fold_of_model][:, np.newaxis]
    new = new + spreads[candidates, fold_of_model][:, np.newaxis] * scores[candidates]
    np.testing.assert_allclose(models(new), average(scores), atol=1e-12)
    assert averaged.shape == (1, n)


@pytest.mark.parametrize("weighted", [False, True])
def test_noise_is_reduced_to_that_of_the_average_of_all_folds(weighted):
    """Two candidates with known signals and noises, and a new row with the models of all folds."""
    rng, n = np.random.default_rng(0), 40_000
    y = np.arange(n) % 4 == 0
    signal = rng.normal(size=(2, n)) + np.array([[1.0], [2.0]]) * y
    noise = np.array([[2.0], [1.0]])
    folds = shuffled_folds(y, 5, 0)
    turns = Turns.of(folds, [[[0], [1]]])  # three folds fit the first, two the second
    first = signal + noise * rng.normal(size=(2, n))
    second = np.full((2, n), np.nan)
    for own, (_, rows) in zip(turns.candidates, folds, strict=True):
        second[own[0], rows] = (signal + noise * rng.normal(size=(2, n)))[own[0], rows]
    sample = Sample(y, rng.uniform(0.5, 1.5, n) if weighted else None)
    averaged, both = first.sum(axis=0)[np.newaxis], first[:, np.newaxis]
    _, _, found = turns.combine(SUM, both, second, sample)
    new = signal + noise * rng.normal(size=(2, n)) / np.sqrt([[3], [2]])
    for own in (y, ~y):
        assert found[0, own].std() == pytest.approx(new.sum(axis=0)[own].std(), rel=0.02)
        assert found[0, own].mean() == pytest.approx(averaged[0, own].mean(), abs=0.05)
        np.testing.assert_array_equal(np.argsort(found[0, own]), np.argsort(averaged[0, own]))
    _, _, same = turns.combine(SUM, both, np.where(np.isnan(second), np.nan, first), sample)
    assert same.std() == pytest.approx(averaged.std(), rel=0.01)  # there was no noise


def test_too_few_rows_of_a_class_stay_as_they_are():
    folds = shuffled_folds(np.arange(12) < 2, 2, 0)
    turns = Turns.of(folds, [[[0], [1]]])
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 12)), np.full((2, 12), np.nan)
    for own, (_, rows) in zip(turns.candidates, folds, strict=True):
        second[own, rows] = 0.0
    averaged = first.sum(axis=0)[np.newaxis]
    sample = Sample(np.arange(12) < 2)
    _, _, found = turns.combine(SUM, first[:, np.newaxis], second, sample)
    np.testing.assert_array_equal(found[0, :2], averaged[0, :2])
    assert found[0, 2:].std() < averaged[0, 2:].std()
