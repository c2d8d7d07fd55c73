"""Outer folds: copies and groups stay together, and time goes forward."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import StratifiedKFold

from raremetric.table import TableError, compare_table, fit_table
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
    ("n_positive", "n_folds", "roles", "advice"),
    [
        (5, 2, RowRoles(), r"has 3 examples; .* training rows of a fold\. Use 5 folds\."),
        (6, 8, RowRoles(), r"has 6 examples, too few for 8 folds: .* Use 6 folds\."),
        (12, 5, RowRoles(times=np.arange(40)), r"Use 2 folds\."),
        (8, 4, RowRoles(groups=np.r_[np.zeros(32), 1, 1, 1, 1, 1, 1, 1, 2]), "is possible: add"),
        (20, 3, RowRoles(times=np.zeros(40)), "add different rows of the rare class at other"),
    ],
)
def test_the_advice_about_the_number_of_folds_can_be_followed(n_positive, n_folds, roles, advice):
    y = (np.arange(40) >= 40 - n_positive).astype(int)
    if roles.times is not None and roles.times.any():
        y = y[np.random.default_rng(0).permutation(40)]
    with pytest.raises(ValueError, match=advice) as error:
        outer_folds(y, n_folds, 0, roles)
    if found := re.search(r"Use (\d+) folds", str(error.value)):
        assert len(outer_folds(y, int(found[1]), 0, roles)) == int(found[1])


@pytest.mark.parametrize("n_positive", [1, 3, 4, 5])
def test_a_comparison_of_too_few_rows_says_how_many_are_needed(n_positive):
    frame = pd.DataFrame({"a": np.arange(40.0) % 7, "b": np.arange(40.0)})
    frame["y"] = ["yes"] * n_positive + ["no"] * (40 - n_positive)
    rows = "1 row is" if n_positive == 1 else f"{n_positive} rows are"
    classes = rf"The classes of the target column 'y': no \({40 - n_positive}\), yes \({n_positive}"
    if n_positive < 4:
        message = f"{rows} of class 'yes'; at least 4 are needed to tune and fit a model. {classes}"
        with pytest.raises(TableError, match=message):
            fit_table(frame, "y", method="plain")
    if n_positive < 5:
        message = f"{rows} of class 'yes'; at least 5 are needed to compare methods. {classes}"
        for n_folds in (2, 5):
            with pytest.raises(TableError, match=message):
                compare_table(frame, "y", methods=["plain"], n_folds=n_folds)
    else:
        assert compare_table(frame, "y", methods=["plain"]).n_folds == 5
    message = f"{rows} of class 'yes'; at least 12 are needed to compare methods by time. {classes}"
    with pytest.raises(TableError, match=message):
        compare_table(frame, "y", methods=["plain"], time="b")


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (None, "The positive rows belong to 1 group, too few for 2 folds."),
        (np.arange(300), r"The rare class has 0 examples; .* training rows of a fold\."),
    ],
)
def test_copies_that_join_all_groups_are_named(times, message):
    copies, groups = np.arange(300) % 60, np.random.default_rng(0).permutation(300) % 40
    joined = "Groups that contain copies of the same row count as one group"
    with pytest.raises(ValueError, match=f"{message} {joined}"):
        outer_folds(Y, 2, 0, RowRoles(times, groups, copies=copies))
    with pytest.raises(ValueError, match=joined):
        tuning_folds(Y, RowRoles(np.arange(300), groups, copies=copies))
    with pytest.raises(ValueError, match=r"1 group, too few for 2 folds\. No other number"):
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
