"""Which rows are copies, and that no class learns from a copy of a row that it validates."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline, make_pipeline

from raremetric import IMLCV, Euclidean, MetricKNNClassifier, RareClassifier
from raremetric.contenders.averaged import AveragedClassifier
from raremetric.contenders.families import LogisticRegressions
from raremetric.copies import find_copies, join_groups
from tests.rare.conftest import tuning_set

VALUES = st.sampled_from([0.0, -0.0, 1.0, -2.5, np.nan])


@settings(deadline=None)
@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=VALUES))
def test_equal_rows_are_those_of_pandas(X):
    X = np.column_stack([X, np.zeros(len(X))])
    first = pd.DataFrame(X).groupby(list(range(X.shape[1])), dropna=False, sort=False).ngroup()
    X = np.vstack([X, np.linspace(3, 4, 40)[:, np.newaxis] * np.ones(X.shape[1])])  # continuous
    expected = np.concatenate([first, first.max() + 1 + np.arange(40)])
    for given_X in (X, np.asfortranarray(X), sparse.csr_array(X), sparse.coo_matrix(X).tocsc()):
        found = find_copies(given_X)
        np.testing.assert_array_equal(found.numbers, expected)
        assert found.n_repeats == len(X) - len(set(expected))


RNG = np.random.default_rng(0)
NOISE = RNG.normal(size=(60, 3))
CENSUS = np.column_stack(
    [RNG.integers(18, 90, 2000), RNG.integers(0, 2, 2000), RNG.integers(0, 5, 2000)]
)


@pytest.mark.parametrize("n_times", [2, 12, 30])
@pytest.mark.parametrize(
    ("X", "together"),
    [
        (NOISE, True),
        (NOISE[:, :1], True),
        (load_digits().data[:200], True),  # whole numbers from 0 to 16
        (np.column_stack([RNG.integers(250, 20_000, 300), np.arange(300) % 2]), True),
        (RNG.integers(1, 5, size=(100, 4)), False),  # as in hayes
        (RNG.choice([-1.87, -0.923, 0.0214, 0.965], (100, 3)), False),  # as in titanic
        (np.eye(30)[RNG.integers(0, 30, 200)], False),  # one column for each level
        (CENSUS, False),  # of the age, there are fewer values than half of the different rows
    ],
)
def test_equal_rows_are_copies_if_numbers_can_tell_rows_apart(X, together, n_times):
    X = np.tile(X, (n_times, 1)).astype(float)
    n_different = len(np.unique(X, axis=0))
    for found in (find_copies(X), find_copies(sparse.csr_array(X))):
        assert found.together == together
        assert found.n_repeats == len(X) - n_different
        assert len(np.unique(found.numbers)) == (n_different if together else len(X))


@pytest.mark.parametrize(
    ("X", "together"),
    [
        (RNG.integers(1, 11, (40, 10)), True),  # answers from 1 to 10: many combinations
        (np.column_stack([RNG.integers(0, 10, (40, 20)), RNG.integers(0, 30, 40)]), True),
        (np.arange(100)[:, np.newaxis], True),  # different texts
        (np.column_stack([np.arange(180) // 15, np.arange(180) % 15]), False),  # all combinations
        (np.column_stack([RNG.random((60, 16)) < 0.05, np.arange(60) % 3]), False),
    ],
)
def test_rows_of_categories_are_copies_if_chance_cannot_explain_them(X, together):
    X = np.tile(X, (10, 1)).astype(float)
    for each in (X, sparse.csr_array(X)):
        assert find_copies(each, np.zeros(X.shape[1], dtype=bool)).together == together


def test_columns_of_numbers_count_together():
    X = np.tile(np.array([(i, j) for i in range(12) for j in range(15)], dtype=float), (3, 1))
    assert find_copies(X).together
    assert not find_copies(X, np.array([False, True])).together


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_errors_make_no_difference(dtype):
    rng = np.random.default_rng(0)
    order = rng.permutation(450)
    numbers = pd.factorize(order % 50)[0]
    X = np.tile(rng.normal(size=(50, 101)), (9, 1))[order].astype(dtype)
    for n_components in (20, None):  # without a number, half of the columns are rounding errors
        mapped = PCA(n_components).fit_transform(X)
        assert len(np.unique(mapped, axis=0)) > 50
        for Z in (mapped, mapped.astype(float), np.column_stack([mapped, X[:, 0] > 0])):
            np.testing.assert_array_equal(find_copies(Z).numbers, numbers)
    mapped[7] += 0.01
    assert find_copies(mapped).n_repeats == 399
    mapped[mapped[:, 3] > 0.1, 3] = np.nan
    assert find_copies(mapped).n_repeats == 399


@pytest.mark.parametrize(
    "X",
    [
        RNG.normal(size=(30_000, 1)),
        RNG.normal(size=(3000, 1)).round(6).astype(np.float32),
        np.column_stack([RNG.permutation(10**6)[:3000], np.arange(3000) % 2]).astype(np.float32),
        np.column_stack([np.arange(300) + 1e12, RNG.normal(size=300)]),
        np.append(RNG.normal(size=999), 1e15)[:, np.newaxis],
    ],
)
def test_near_rows_are_no_copies(X):
    assert len(np.unique(X)) > 300 - 2
    assert find_copies(X).n_repeats == len(X) - len(np.unique(X, axis=0))


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=1, max_size=20))
def test_groups_with_common_copies_are_one(pairs):
    copies, groups = (pd.factorize(np.array(part))[0] for part in zip(*pairs, strict=True))
    sets = [{i} for i in range(len(pairs))]
    for i in range(len(pairs)):  # merge what has anything in common, until nothing has
        for j in range(len(pairs)):
            if copies[i] == copies[j] or groups[i] == groups[j]:
                union = sets[i] | sets[j]
                for member in union:
                    sets[member] = union
    joined = join_groups(copies, groups)
    for i in range(len(pairs)):
        assert set(np.flatnonzero(joined == joined[i])) == sets[i]
    np.testing.assert_array_equal(join_groups(np.arange(len(pairs)), groups), groups)


class Spy(TransformerMixin, BaseEstimator):
    """The plain distance; it refuses rows equal to some that it has learned, but not to all."""

    def fit(self, X, y):
        self.seen_ = {row.tobytes() for row in X}
        self.n_seen_ = len(X)
        return self

    def transform(self, X):
        known = [row.tobytes() in self.seen_ for row in X]
        assert len(X) == self.n_seen_ or not any(known)
        return X


@pytest.fixture(scope="module")
def noise():
    """Labels that nothing can predict; four of the copies have another label."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(100, 3)), np.arange(100) % 4 == 0
    order = rng.permutation(500)
    X, y = np.tile(X, (5, 1)), np.tile(y, 5).astype(int)
    y[:4] = 1 - y[:4]
    return X[order], y[order]


@pytest.mark.parametrize(
    ("vote", "k"), [("majority", "auto"), ("adjusted", 3), ("adjusted", "auto"), ("score", 3)]
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_votes_are_tuned_on_other_rows(noise, vote, k, n_classes):
    X, y = noise
    y = y + (X[:, 0] > 1) if n_classes == 3 else y
    weights = (np.arange(500) % 7 > 0).astype(float)
    for given_weights in (None, weights):
        model = MetricKNNClassifier(Spy(), k, vote=vote, random_state=0)
        model.fit(X, y, given_weights)
    p = model.predict_proba(np.random.default_rng(2).normal(size=(200, 3)))
    assert vote == "majority" or p.max() < 0.95


def test_a_frozen_learner_is_tuned_on_other_rows(noise):
    X, y = noise
    model = MetricKNNClassifier(FrozenEstimator(Euclidean().fit(X, y)), vote="score")
    p = model.fit(X, y).predict_proba(np.random.default_rng(5).normal(size=(200, 3)))
    assert np.abs(p[:, 1] - y.mean()).max() < 0.2


@pytest.mark.parametrize("n_times", [2, 5, 20])
@pytest.mark.parametrize(
    "make",
    [
        lambda: RareClassifier(random_state=0),
        lambda: RareClassifier(cv=4, random_state=0),
        lambda: RareClassifier(max_samples=150, random_state=0),
        lambda: RareClassifier(max_samples=150, cv=3, random_state=0),
        lambda: IMLCV(n_candidates=3, random_state=0),
        lambda: IMLCV(n_candidates=3, cv=3, random_state=0),
        lambda: AveragedClassifier(LogisticRegressions(), [{}], random_state=0),
        lambda: make_pipeline(PCA(3), IMLCV(n_candidates=3, random_state=0)),
    ],
)
@pytest.mark.usefixtures("few_candidates")
def test_noise_cannot_be_learned_from_copies(make, n_times):
    X, y = np.random.default_rng(1).normal(size=(100, 3)), np.arange(100) % 4 == 0
    model = make().fit(np.tile(X, (n_times, 1)), np.tile(y, n_times).astype(int))
    model = model[-1] if isinstance(model, Pipeline) else model
    assert model.best_score_ < 0.6  # calling every row positive has 0.4


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("cv", [4, GroupKFold(4)])
def test_groups_are_joined_by_copies(noise, cv):
    """Every row is a group, so that the groups alone do not separate copies."""
    X, y = noise
    for model in (RareClassifier(cv=cv, random_state=0), IMLCV(n_candidates=2, cv=cv)):
        assert model.fit(X, y, groups=np.arange(500)).best_score_ < 0.6
    linked = np.random.default_rng(0).permutation(500) // 2  # groups and copies are one set
    with pytest.raises(ValueError, match=r"in one group.* count as one|Cannot have number"):
        RareClassifier(cv=cv).fit(X, y, groups=linked)


@pytest.mark.usefixtures("few_candidates")
def test_each_class_against_the_rest_has_honest_folds(noise):
    X, y = noise
    model = RareClassifier(cv=3, random_state=0).fit(X, (y + 1) * (X[:, 0] < 1))
    assert model.estimators_[2].best_score_ < 0.6


def test_rows_that_are_not_sampled_are_no_copies():
    """Of 600 different rows, some are in the sample; each of the others is there once."""
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(600, 2)), (4, 1))
    y = np.tile(np.arange(600) % 5 == 0, 4)
    numbers = np.tile(np.arange(600), 4)
    tuned = tuning_set(X, y, 300, copies=find_copies(X).numbers)
    sampled = set(numbers[tuned.rows])
    left = [int(np.flatnonzero((X[:600] == X[row]).all(axis=1))[0]) for row in tuned.others]
    assert sorted([*left, *sampled]) == list(range(600))
    judged = tuned.with_more_validated()
    for train, validation in judged.repeats[0]:
        learned = np.vstack([judged.features[train], judged.rows_for_trees(validation).X])
        assert not {*map(bytes, learned)} & {*map(bytes, judged.features[validation])}
    assert len(tuning_set(X, y, 300).others) == 2100


@pytest.mark.parametrize(
    ("n_different", "n_folds"), [(2, 2), (3, 3), (40, 10)], ids=["two", "three", "many"]
)
def test_there_are_fewer_folds_if_few_positives_are_different(n_different, n_folds):
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) < n_different
    X, y = np.tile(X, (4, 1)), np.tile(y, 4)
    tuned = tuning_set(X, y, copies=find_copies(X).numbers)
    assert {len(folds) for folds in tuned.repeats} == {n_folds}
    assert all(y[test].any() and y[train].any() for train, test in tuned.repeats[0])


@pytest.mark.parametrize("make", [RareClassifier, IMLCV, lambda: MetricKNNClassifier(vote="score")])
def test_a_class_of_copies_of_one_row_cannot_be_divided(make):
    X, y = np.random.default_rng(0).normal(size=(100, 2)), np.arange(100) < 1
    with pytest.raises(ValueError, match="All positive examples are copies of one row, so that"):
        make().fit(np.tile(X, (8, 1)), np.tile(y, 8))
    if make is not RareClassifier:
        names = np.where(y, "ill", "well")
        with pytest.raises(ValueError, match="All 'ill' examples are copies of one row"):
            make().fit(np.tile(X, (8, 1)), np.tile(names, 8))


FITTED: list[set] = []  # the rows that each copy of the classifier was fitted on
SCORED: list[list] = []  # the rows that each copy scored


class Recorder(LogisticRegression):
    """Remembers its rows, whose first two columns are numbers."""

    def fit(self, X, y):
        rows = np.asarray(X)[:, :2].astype(float)
        self.number = len(FITTED)
        FITTED.append({*map(tuple, rows)})
        SCORED.append([])
        return super().fit(rows, y)

    def decision_function(self, X):
        rows = np.asarray(X)[:, :2].astype(float)
        SCORED[self.number] += map(tuple, rows)
        return super().decision_function(rows)


@pytest.mark.parametrize("kind", ["array", "frame", "objects"])
@pytest.mark.parametrize("n_positive", [2000, 200])
def test_no_scored_row_of_a_collection_is_a_copy_of_one_learned_from(kind, n_positive):
    da, dd = pytest.importorskip("dask.array"), pytest.importorskip("dask.dataframe")
    from raremetric.dask import DaskClassifier

    X = np.repeat(np.random.default_rng(0).normal(size=(3000, 2)), 2, axis=0)
    y = (np.arange(6000) // 2 * 7919 % 3000 < n_positive // 2).astype(int)
    labels = da.from_array(y, chunks=1000)
    if kind == "array":
        parts = da.from_array(X, chunks=(1000, 2))
    else:
        table = pd.DataFrame(X).rename(columns=str).assign(text=[str(row) for row in X])
        frame = dd.from_pandas(table.assign(y=y), npartitions=6)
        parts, labels = frame.drop(columns="y"), frame["y"]
        if kind == "objects":
            X = table.to_numpy(dtype=object)
            parts, labels = da.from_array(X, chunks=(1000, 3)), da.from_array(y, chunks=1000)
    FITTED.clear()
    SCORED.clear()
    model = DaskClassifier(Recorder(), max_samples=1000, random_state=0).fit(parts, labels)
    assert len(FITTED) == (1 if n_positive == 2000 else 6)
    assert FITTED[0] == {*map(tuple, np.asarray(X)[model.rows_, :2].astype(float))}
    for fitted, scored in zip(FITTED, SCORED, strict=True):
        assert scored
        assert not fitted & {*scored}
    assert {*Counter(SCORED[0]).values()} == {2}  # each row once, and its copy
    learned = np.unique(model.rows_ // 2)
    assert model.held_out_counts_.sum() == len(SCORED[0]) == 6000 - 2 * len(learned)
