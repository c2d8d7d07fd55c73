"""Nested cross-validation on a table: its figures by independent computation, its page, Ctrl-C."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric.datasets import read_table
from raremetric.report.comparison import RECALLS, _curve, comparison_page, results_grid
from raremetric.table import METHODS, comparison
from raremetric.table.comparison import MEASURES, Comparison, FoldResult, compare_table
from raremetric.table.methods import Setting
from tests.table.conftest import make_table


@pytest.fixture(scope="module")
def found(path):
    methods = ["plain", "iml", "gmml", "logistic"]
    return compare_table(
        path, "state", methods=methods, resamplings=["none", "rus"], n_folds=3, ignore=["id"]
    )


def test_the_plain_distance_by_hand(found, path):
    table = read_table(path, "state", ignore=["id"])
    f1, precision = [], []
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(table.data, table.target)
    for train, test in splits:
        X = table.encoder.fit(table.data.iloc[train]).transform(table.data)
        X = StandardScaler().fit(X[train]).transform(X)
        knn = KNeighborsClassifier(3).fit(X[train], table.target[train])
        f1.append(f1_score(table.target[test], knn.predict(X[test])))
        shares = knn.predict_proba(X[test])[:, 1]
        precision.append(average_precision_score(table.target[test], shares))
    row = found.summary()[0]
    assert (row["method"], row["resampling"]) == ("plain", "none")
    assert row["F1"]["mean"] == pytest.approx(np.mean(f1))
    assert row["F1"]["std"] == pytest.approx(np.std(f1))
    assert row["average precision"]["mean"] == pytest.approx(np.mean(precision))


def test_each_row_is_tested_once_by_each(found):
    assert len(found.entries()) == 8
    for results in found.entries().values():
        tested = np.concatenate([each.test for each in results])
        assert sorted(tested) == list(range(120))
        assert found.confusion(results).sum() == 120
        assert found.confusion(results)[1].sum() == found.y.sum()
        assert all(each.seconds > 0 for each in results)


def test_rows_are_ordered_and_named(found):
    assert [row["title"] for row in found.summary()][:4] == [
        "plain distance",
        "plain distance + under-sampling",
        "IML",
        "IML + under-sampling",
    ]
    assert found.class_names == ["well", "ill"]


def test_processes_and_seeds(path):
    def run(**settings):
        found = compare_table(path, "state", methods=["gmml"], n_folds=2, ignore=["id"], **settings)
        return [each.score.tolist() for each in found.entries()["gmml", "none"]]

    assert run() == run(n_jobs=2)
    assert run() != run(seed=1)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_what_it_is_given(name, path):
    table = read_table(path, "state", ignore=["id"])
    X = table.encoder.transform(table.data)
    # RareClassifier takes its time, and its resampling is that of the others.
    for resampling in ("none",) if name == "rare" else ("none", "smote"):
        model = METHODS[name].build(Setting(resampling, n_folds=2, seed=1))
        comparison.fit_quietly(model, X, table.target)
        predicted = model.predict(X)
        assert f1_score(table.target, predicted) > 0.5
        assert comparison._scores(model, X).shape == (120,)


def test_a_longer_table_is_cut_and_told(path):
    found = compare_table(path, "state", methods=["plain"], n_folds=2, max_rows=60, ignore=["id"])
    assert len(found.y) == 60
    assert found.remark == "60 of 120 rows, drawn at random with the same share of positives."
    share = make_table()["state"].eq("ill").mean()
    assert found.y.mean() == pytest.approx(share, abs=1 / 60)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ["forest"]}, r"method must be one of .*; got 'forest'"),
        ({"resamplings": ["adasyn"]}, "resampling must be one of 'none', 'rus', 'smote'"),
        ({"n_folds": 100}, "examples, too few for 100 folds"),
        ({"max_rows": 3}, "max_rows == 3, must be >= 20"),
    ],
)
def test_mistakes(path, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_table(path, "state", ignore=["id"], **settings)


def stopping(n_results):
    """Results until Ctrl-C is pressed."""

    def come(tasks, n_jobs):
        for function, arguments, keywords in tasks[:n_results]:
            yield function(*arguments, **keywords)
        raise KeyboardInterrupt

    return come


def test_what_is_done_survives_an_interruption(path, monkeypatch):
    settings = {"methods": ["plain", "gmml"], "n_folds": 2, "ignore": ["id"]}
    monkeypatch.setattr(comparison, "_as_they_come", stopping(3))
    found = compare_table(path, "state", **settings)
    assert list(found.entries()) == [("plain", "none")]
    assert not found.is_whole
    assert "Stopped" in found.remark
    monkeypatch.setattr(comparison, "_as_they_come", stopping(1))
    with pytest.raises(KeyboardInterrupt):
        compare_table(path, "state", **settings)


def test_the_grid_marks_the_best(found):
    grid = results_grid(found, found.summary())
    assert len(grid.header) == len(MEASURES) + 2
    for column in range(1, 1 + len(MEASURES)):
        values = [row[column].value for row in grid.rows]
        best = [row[column].value for row in grid.rows if row[column].best]
        assert set(best) == {max(values)}


def test_the_curve_is_a_step_of_scikit_learns():
    rng = np.random.default_rng(0)
    y, score = rng.integers(0, 2, 50), rng.normal(size=50).round(1)
    precision, recall, _ = precision_recall_curve(y, score)
    curve = _curve(y, score)
    for wanted, value in zip(RECALLS, curve, strict=True):
        enough = [(r, p) for r, p in zip(recall, precision, strict=True) if r >= wanted]
        least = min(r for r, _ in enough)
        assert value in [p for r, p in enough if r == least]


def test_the_page_holds_all_and_escapes(found):
    page = comparison_page(found, found.summary(), "raremetric compare <mine.csv>")
    for title in (">Results<", "Precision and recall", "Confusion matrices"):
        assert title in page
    assert "&lt;mine.csv&gt;" in page
    assert page.count("<svg") == 3
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_a_page_without_a_metric_has_no_directions():
    y = np.array([0, 1] * 6)
    halves = [np.arange(6), np.arange(6, 12)]
    results = [
        FoldResult("logistic", "none", i, half, y[half], y[half].astype(float), 1.0)
        for i, half in enumerate(halves)
    ]
    found = Comparison("a<b>.csv", "c", ["$x", "$y"], y, 2, 2, 0, results)
    page = comparison_page(found, found.summary())
    assert "two directions" not in page
    assert "<b>" not in page
    assert page.count("<svg") == 2
