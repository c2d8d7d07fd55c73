"""Folds are stratified; groups and copies of a row are in one of them."""

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from raremetric.selection.folds import (
    make_folds,
    parts_of,
    sets_per_class,
    shuffled_folds,
    split_into_repeats,
    stratified_folds,
)
from raremetric.validation import check_labels


def test_folds_are_no_more_than_the_rarest_class_has_examples():
    labels = check_labels(np.repeat([0, 1], [20, 3]), "A test")
    folds = stratified_folds(labels, 5, 0)
    assert len(folds) == 3
    for train, test in folds:
        assert labels.codes[test].sum() == 1
        assert sorted([*train, *test]) == list(range(23))


def test_folds_of_groups():
    """Each group has one class: the folds have the same number of groups of each class."""
    groups = np.repeat(np.arange(60), 5)
    for seed in range(20):
        y = np.random.RandomState(seed).permutation(np.arange(60) < 12)[groups]
        for train, test in shuffled_folds(y, 6, seed, groups):
            assert not set(groups[train]) & set(groups[test])
            assert (len(test), y[test].sum()) == (50, 10)


@pytest.mark.skipif(Version(sklearn.__version__) < Version("1.8"), reason="see Notes")
def test_folds_of_groups_are_those_of_scikit_learn():
    rng = np.random.RandomState(0)
    groups, y = rng.randint(20, size=100), rng.randint(3, size=100)
    splitter = StratifiedGroupKFold(4, shuffle=True, random_state=1)
    expected = splitter.split(y, y, groups)
    for found, fold in zip(shuffled_folds(y, 4, 1, groups), expected, strict=True):
        for part in range(2):
            np.testing.assert_array_equal(found[part], fold[part])


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 10_000), st.integers(2, 5), st.booleans(), st.integers(2, 3))
def test_copies_are_never_on_both_sides(seed, n_folds, grouped, n_classes):
    rng = np.random.default_rng(seed)
    copies = rng.integers(0, 40, 120)
    y = np.where(rng.random(120) < 0.1, rng.integers(0, n_classes, 120), copies % n_classes)
    groups = np.where(rng.random(120) < 0.9, 1000 + np.arange(120), copies) if grouped else None
    folds = shuffled_folds(y, n_folds, seed, groups, copies)
    assert len(folds) == n_folds
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(120))
    for train, test in folds:
        assert sorted([*train, *test]) == list(range(120))
        assert not set(copies[train]) & set(copies[test])
        if grouped:
            assert not set(groups[train]) & set(groups[test])


def test_without_copies_the_folds_are_scikit_learns():
    y = np.random.default_rng(0).choice(["b", "a", "c"], 200, p=[0.6, 0.3, 0.1])
    theirs = StratifiedKFold(4, shuffle=True, random_state=3).split(y, y)
    for copies in (None, np.arange(200)):
        for found, fold in zip(shuffled_folds(y, 4, 3, copies=copies), theirs, strict=False):
            for part in range(2):
                np.testing.assert_array_equal(found[part], fold[part])


def test_a_set_of_copies_counts_as_its_rarest_class():
    """Ten of a hundred sets have a positive row, which is not the first one."""
    copies = np.repeat(np.arange(100), 3)
    y = (np.arange(300) % 30 == 2).astype(int)
    assert sets_per_class(y, copies).tolist() == [100, 10]
    for _, test in shuffled_folds(y, 5, 0, copies=copies):
        assert (len(test), y[test].sum()) == (60, 2)
    folds = stratified_folds(check_labels(y, "A test"), 20, 0, copies=copies)
    assert [y[test].sum() for _, test in folds] == [1] * 10


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
def test_more_folds_where_examples_are_few(n_samples, n_positive, repeats, n_folds):
    labels = check_labels(np.arange(n_samples) < n_positive, "A test")
    made = make_folds(labels, 0)
    assert [len(folds) for folds in made] == [n_folds] * (repeats + 1)
    for folds in made:
        tested = np.sort(np.concatenate([test for _, test in folds]))
        np.testing.assert_array_equal(tested, np.arange(n_samples))
    thorough = make_folds(labels, 0, thorough=True)
    assert len(thorough) == 2 * repeats + 1
    for folds, same in zip(made, thorough, strict=False):
        np.testing.assert_array_equal(folds[0][1], same[0][1])


def test_repeats_are_found_among_the_folds():
    folds = [(np.array([2, 3]), np.array([0, 1])), (np.array([0, 1]), np.array([2, 3]))]
    assert [len(each) for each in split_into_repeats(folds)] == [2]
    assert [len(each) for each in split_into_repeats(folds + folds)] == [2, 2]
    with pytest.raises(ValueError, match="ShuffleSplit"):
        split_into_repeats([*folds, folds[0]])


def test_parts_keep_groups_and_copies_together_and_a_single_example_is_not_left_out():
    y = np.arange(60) % 4 == 0
    labels, pairs = check_labels(y, "A test"), np.arange(60) // 2
    for together in ((pairs, None), (None, pairs), (np.arange(60) // 6, pairs)):
        parts = parts_of(labels, 5, *together)
        assert len(parts) >= 2
        for others, own in parts:
            assert not {*pairs[others]} & {*pairs[own]}
            assert sorted([*others, *own]) == [*range(60)]
    [(others, own)] = parts_of(check_labels(np.arange(60) == 3, "A test"), 5)
    assert len(others) == len(own) == 60
