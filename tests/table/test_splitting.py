"""Outer folds: copies and groups stay together, and time goes forward."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from raremetric.table import compare_table
from raremetric.table.aims import positives_on_top
from raremetric.table.roles import RowRoles
from raremetric.table.splitting import outer_folds, tuning_folds
from tests.table.conftest import make_table

RNG = np.random.default_rng(0)
Y = (RNG.random(300) < 0.2).astype(int)


def test_without_copies_the_folds_are_scikit_learns():
    folds = outer_folds(Y, 4, 7, RowRoles(copies=np.arange(300)))
    theirs = StratifiedKFold(4, shuffle=True, random_state=7).split(Y, Y)
    for (train, test), (their_train, their_test) in zip(folds, theirs, strict=True):
        np.testing.assert_array_equal(train, their_train)
        np.testing.assert_array_equal(test, their_test)


def test_copies_stay_in_one_fold_and_each_row_is_tested_once_per_repeat():
    copies = np.concatenate([np.arange(100)] * 3)
    y = np.concatenate([Y[:100]] * 3)
    folds = outer_folds(y, 3, 0, RowRoles(copies=copies), n_repeats=2)
    assert len(folds) == 6
    for train, test in folds:
        assert not set(copies[train]) & set(copies[test])
        assert len(train) + len(test) == 300
    tested = np.concatenate([test for _, test in folds])
    assert (np.bincount(tested) == 2).all()
    assert folds[0][1].tolist() != folds[3][1].tolist()


def test_groups_and_their_copies_stay_on_one_side():
    groups = RNG.integers(0, 60, 300)
    copies = np.arange(300)
    copies[100] = copies[0]  # joins two groups
    for train, test in outer_folds(Y, 3, 0, RowRoles(groups=groups, copies=copies)):
        assert not set(groups[train]) & set(groups[test])
        assert (0 in train) == (100 in train)
        assert Y[test].mean() == pytest.approx(Y.mean(), abs=0.1)


def test_the_future_is_tested_by_the_past():
    times = RNG.permutation(300) // 2
    folds = outer_folds(Y, 4, 0, RowRoles(times=times))
    assert len(folds) == 4
    for train, test in folds:
        assert times[train].max() < times[test].min()
        assert Y[test].sum() == pytest.approx(Y.sum() / 5, abs=3)
    sizes = [len(train) for train, _ in folds]
    assert sizes == sorted(sizes)
    groups = np.arange(300) % 150
    for train, test in outer_folds(Y, 2, 0, RowRoles(times=times, groups=groups)):
        assert not set(groups[train]) & set(groups[test])


@pytest.mark.parametrize(
    ("roles", "n_repeats", "sentence"),
    [
        (RowRoles(times=np.arange(300.0)), 2, "by time cannot be repeated"),
        (RowRoles(times=np.zeros(300)), 1, "Too many positive rows have the same time"),
        (RowRoles(groups=np.arange(300) % 2), 1, "belong to 2 groups, too few for 3 folds"),
    ],
)
def test_impossible_folds(roles, n_repeats, sentence):
    with pytest.raises(ValueError, match=sentence):
        outer_folds(Y, 3, 0, roles, n_repeats=n_repeats)


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (None, "The positive rows belong to 1 group, too few for 2 folds."),
        (np.arange(300), r"The rare class has 0 examples; .* use fewer folds\."),
    ],
)
def test_copies_that_join_all_groups_are_named(times, message):
    copies, groups = np.arange(300) % 60, np.random.default_rng(0).permutation(300) % 40
    joined = "Groups that contain copies of the same row count as one group"
    with pytest.raises(ValueError, match=f"{message} {joined}"):
        outer_folds(Y, 2, 0, RowRoles(times, groups, copies=copies))
    with pytest.raises(ValueError, match=joined):
        tuning_folds(Y, RowRoles(np.arange(300), groups, copies=copies))
    with pytest.raises(ValueError, match=r"The positive rows belong to 1 group, .* folds\. Use"):
        outer_folds(Y, 2, 0, RowRoles(None, np.zeros(300, dtype=int), copies=np.arange(300)))


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(1)
    frame = make_table(n=160).drop(columns="id")
    frame["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.permutation(160), unit="D")
    return frame.assign(customer=[f"c{i}" for i in rng.integers(0, 150, 160)])


def test_folds_by_time_and_group(frame, tmp_path):
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = compare_table(
        tmp_path / "t.csv", "state", methods=["plain"], n_folds=2, time="day", group="customer"
    )
    assert found.columns == ["size", "weight", "color", "new", "day"]  # the date is a feature
    assert "sorted by 'day' and divided into 3 periods" in found.protocol
    assert "No value of 'customer' occurs both" in found.protocol
    (results,) = found.entries().values()
    assert frame["day"][results[0].test].max() < frame["day"][results[1].test].min()


def test_repeats(path):
    settings = {"methods": ["plain"], "n_folds": 3, "ignore": ["id"]}
    found = compare_table(path, "state", n_repeats=2, **settings)
    (results,) = found.entries().values()
    assert len(results) == found.n_folds == 6
    assert found.confusion(results).sum() == 240
    assert "repeated 2 times" in found.protocol
    y, tops = found.y, []
    for part in (results[:3], results[3:]):
        rows, score = (
            np.concatenate([getattr(each, name) for each in part]) for name in ("test", "score")
        )
        tops.append(positives_on_top(y[rows], score, 10))
    assert found.budgets()[0]["found"] == pytest.approx(np.mean(tops))
