"""Nested cross-validation on a table: its figures, its page, and interruptions."""

import sys

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    average_precision_score,
    brier_score_loss,
    f1_score,
    fbeta_score,
    jaccard_score,
    log_loss,
    precision_recall_curve,
    roc_auc_score,
)
from sklearn.model_selection import StratifiedKFold

from raremetric.contenders import scored
from raremetric.contenders.families import LogisticRegressions
from raremetric.contenders.rare import GivenMetrics
from raremetric.learners.euclidean import Euclidean
from raremetric.table import Comparison, compare_table, read_table
from raremetric.table.aims import MEASURES, behind_best, positives_on_top
from raremetric.table.comparison_page import (
    RECALLS,
    _curve,
    comparison_page,
    confusion_grid,
    results_grid,
)
from raremetric.table.fitting import fit_method
from raremetric.table.results import FoldResult

NAIVE_BAYES = "sklearn.naive_bayes:GaussianNB"


@pytest.fixture(scope="module")
def found(path):
    methods = ["plain", "iml", "gmml", "logistic"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored.Scored, "n_for_table", 2)
        return compare_table(path, "state", methods=methods, n_folds=3, ignore=["id"])


@pytest.fixture(scope="module")
def summary(found):
    return found.summary()


def test_importances_by_independent_computation(path):
    settings = {"ignore": ["id", "color"], "n_folds": 3}  # each other column is one feature
    found = compare_table(path, "state", methods=[NAIVE_BAYES], importances=True, **settings)
    table, decreases = read_table(path, "state", ignore=settings["ignore"]), []
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(table.data, table.target)
    for train, test in splits:
        X, y = table.encoder.fit(table.data.iloc[train]).transform(table.data), table.target
        model = fit_method(NAIVE_BAYES, X[train], y[train]).model
        options = {"scoring": "average_precision", "n_repeats": 3, "random_state": 0}
        decreases.append(
            permutation_importance(model, X[test], y[test], **options).importances_mean
        )
    (row,) = found.importances()
    assert (row["method"], row["title"]) == (NAIVE_BAYES, "GaussianNB")
    assert row["columns"][0]["column"] == "size"
    for each in row["columns"]:
        own = np.array(decreases)[:, ["size", "weight", "new"].index(each["column"])]
        assert each["importance"] == pytest.approx(own.mean())
        assert each["std"] == pytest.approx(own.std())


@pytest.mark.parametrize("name", ["lightgbm", "catboost-defaults"])
def test_a_missing_package_is_named_before_the_first_fold(path, monkeypatch, name):
    package = name.partition("-")[0]
    monkeypatch.setitem(sys.modules, package, None)
    sentence = (
        f"^The method '{name}' needs {package}, but it is not installed: pip install {package}$"
    )
    started = []
    with pytest.raises(ImportError, match=sentence):
        compare_table(path, "state", methods=["plain", name], on_start=started.append)
    assert started == []


def test_importances_of_a_column_with_several_features(tmp_path):
    rng = np.random.default_rng(0)
    kind = rng.choice(["a", "b", "c", "d"], 300)
    ill = np.where(kind == "b", rng.random(300) < 0.8, rng.random(300) < 0.05)
    frame = pd.DataFrame({"kind": kind, "noise": rng.normal(size=300), "ill": ill})
    found = compare_table(frame, "ill", methods=["logistic"], n_folds=3, importances=True)
    first, second = found.importances()[0]["columns"]
    assert (first["column"], second["column"]) == ("kind", "noise")
    # Without its only informative column, a model is no better than the share of the class.
    expected = found.summary()[0]["average precision"]["mean"] - ill.mean()
    assert first["importance"] == pytest.approx(expected, abs=0.1)
    assert abs(second["importance"]) < 0.1


def test_plain_distance_by_independent_computation(found, summary, path):
    assert found.importances() == []  # they were not asked for
    table = read_table(path, "state", ignore=["id"])
    f1, precision = [], []
    splits = StratifiedKFold(3, shuffle=True, random_state=0).split(table.data, table.target)
    for train, test in splits:
        X, y = table.encoder.fit(table.data.iloc[train]).transform(table.data), table.target
        model = GivenMetrics([Euclidean()], pos_label=1, random_state=0)
        model.fit(X[train], y[train])
        f1.append(f1_score(y[test], model.predict(X[test])))
        precision.append(average_precision_score(y[test], model.predict_proba(X[test])[:, 1]))
    row = summary[0]
    assert row["method"] == "plain"
    assert row["F1"]["mean"] == pytest.approx(np.mean(f1))
    assert row["F1"]["std"] == pytest.approx(np.std(f1))
    assert row["average precision"]["mean"] == pytest.approx(np.mean(precision))


def test_all_methods_are_tested_on_the_same_rows_once(found):
    entries = found.entries()
    assert len(entries) == 4
    for results in entries.values():
        tested = np.concatenate([each.test for each in results])
        assert sorted(tested) == list(range(120))
        assert found.confusion(results)[1].sum() == found.y.sum()
        for each, first in zip(results, entries["plain"], strict=True):
            np.testing.assert_array_equal(each.test, first.test)
            assert (each.n_train, each.seconds > 0) == (first.n_train, True)


def test_processes_and_seeds(path, doubled):
    def run(**settings):
        methods = ["gmml", "plain", doubled]
        found = compare_table(path, "state", methods=methods, n_folds=2, ignore=["id"], **settings)
        return [[each.score.tolist() for each in found.entries()[name]] for name in methods]

    one = run()
    assert one == run(n_jobs=2)
    assert one != run(seed=1)
    for plain, twice in zip(one[1], one[2], strict=True):  # doubled distances say the same
        np.testing.assert_allclose(plain, twice)


def test_methods_are_found_by_any_name_and_used_once(path):
    settings = {"n_folds": 2, "ignore": ["id"]}
    found = compare_table(path, "state", methods=["GMML", "plain", "gmml"], **settings)
    assert list(found.entries()) == ["gmml", "plain"]


@pytest.fixture(scope="module")
def long_path(tmp_path_factory):
    """2000 rows, of which 30 are positive and overlap with the others."""
    rng = np.random.default_rng(0)
    rare = np.arange(2000) % 66 == 5
    frame = pd.DataFrame(rng.normal(size=(2000, 3)).round(4), columns=list("abc"))
    frame["a"] += 2.5 * rare
    path = tmp_path_factory.mktemp("long") / "long.csv"
    frame.assign(state=np.where(rare, "ill", "well")).to_csv(path, index=False)
    return path


def test_all_positives_are_learned_from_and_all_rows_are_tested(long_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)
    seen = []
    fit = LogisticRegressions.fit

    def spy(self, X, y, settings, seed, weights=None):
        seen.append(np.bincount(y))
        return fit(self, X, y, settings, seed, weights)

    monkeypatch.setattr(LogisticRegressions, "fit", spy)
    settings = {"methods": ["plain", "logistic"], "n_folds": 3}
    drawn = compare_table(long_path, "state", max_samples=200, **settings)
    n_positive = drawn.y.sum()
    most = np.array([200 - n_positive * 2 // 3, n_positive * 2 // 3])
    largest = np.max(seen, axis=0)  # of the folds
    assert (0.8 * most <= largest).all()
    assert (largest <= most).all()
    whole = compare_table(long_path, "state", **settings)
    for found in (drawn, whole):
        for results in found.entries().values():
            assert found.confusion(results).sum() == 2000
    assert whole.notes == drawn.notes == []
    for row, of_whole in zip(drawn.summary(), whole.summary(), strict=True):
        # Without the correction, one row in three would be predicted as positive.
        n_alerts, n_alerts_whole = (
            np.sum(each["confusion"], axis=0)[1] for each in (row, of_whole)
        )
        assert n_alerts < 2 * n_alerts_whole
        assert row["F1"]["mean"] > 0.7 * of_whole["F1"]["mean"]


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ["forrest"]}, r"Unknown method 'forrest'.* Did you mean 'forest'"),
        ({"methods": ["nowhere:Learner"]}, "'nowhere:Learner' cannot be imported"),
        ({"n_folds": 100}, "examples, too few for 100 folds"),
        ({"max_samples": 3}, "max_samples == 3, must be >= 20"),
    ],
)
def test_mistakes(path, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_table(path, "state", ignore=["id"], **settings)


def test_finished_methods_survive_an_interruption(path):
    settings = {"methods": ["plain", "gmml"], "n_folds": 2, "ignore": ["id"]}

    def stop_after(n_results):
        seen = []

        def on_result(result):
            seen.append(result)
            if len(seen) == n_results:
                raise KeyboardInterrupt  # as Ctrl-C does

        return on_result

    found = compare_table(path, "state", on_result=stop_after(3), **settings)
    assert list(found.entries()) == ["plain"]
    assert not found.is_whole
    assert "Stopped" in found.notes[-1]
    with pytest.raises(KeyboardInterrupt):
        compare_table(path, "state", on_result=stop_after(1), **settings)


@pytest.mark.parametrize(
    ("mean", "test_ratio", "is_marked"),
    # In standard deviations of the differences on five folds. The limits are 2.776 √(1/5 + 1/4) =
    # 1.86 and, if the training sets did not overlap, 2.776 √(1/5) = 1.24.
    [(1.2, 0.25, True), (1.8, 0.25, True), (1.9, 0.25, False), (1.3, 0, False), (1.2, 0, True)],
)
def test_methods_are_marked_by_a_corrected_t_test(mean, test_ratio, is_marked):
    best = np.array([0.5, 0.7, 0.6, 0.4, 0.8])
    spread = np.array([1.0, -1.0, 0.0, 0.5, -0.5])
    spread = 0.1 * spread / np.std(spread, ddof=1)
    scores = {"best": best, "other": best - 0.1 * mean - spread}
    behind, limit = behind_best(scores, test_ratio)["other"]
    assert behind == pytest.approx(0.1 * mean)
    assert (behind <= limit) == is_marked


def test_equal_methods_and_a_constant_difference():
    best = np.array([0.5, 0.7])
    scores = {"a": best, "b": best.copy(), "c": best - 0.01}
    found = behind_best(scores, 1.0)
    assert found["a"] == found["b"] == (0, 0)
    assert found["c"] == pytest.approx((0.01, 0))
    assert behind_best({}, 1.0) == {}
    # For one degree of freedom, the quantile is 12.7.
    scores = {"a": np.array([0.50, 0.40]), "b": np.array([0.40, 0.35])}
    assert behind_best(scores, 1.0)["b"] == pytest.approx(
        (0.075, 12.706 * 1.5**0.5 * 0.05 / 2**0.5), 1e-3
    )


def test_the_grid_marks_the_methods_as_good_as_the_best(found, summary):
    grid = results_grid(found)
    assert len(grid.header) == len(MEASURES) + 3
    marked = [row[1].best for row in grid.rows]
    assert marked == [row["among_best"] for row in summary]
    assert marked[int(np.argmax([row["F1"]["mean"] for row in summary]))]
    assert all(row[1].text.endswith("*") == row[1].best for row in grid.rows)
    assert not any(cell.best for row in grid.rows for cell in row[2:])
    assert "These folds show a difference in F1 from" in grid.notes[0]


def test_the_page_says_how_many_candidates_and_errors_each_method_has(found, summary):
    grid = results_grid(found)
    assert grid.header[-2] == "Candidates"
    # 12 readings of the distances; other metrics of IML and GMML were hopeless after two folds.
    assert [row[-2].text for row in grid.rows] == ["12", "84", "72", "2"]
    assert "tested on the same outer folds" in comparison_page(found)
    counts = confusion_grid(found)
    assert counts.header[1:3] == ["well as well", "well as ill"]
    for row, of_method in zip(counts.rows, summary, strict=True):
        assert [cell.value for cell in row[1:]] == np.ravel(of_method["confusion"]).tolist()


def test_alerts_are_counted_over_all_test_rows(found):
    rows = {each["alerts"]: each for each in found.budgets() if each["method"] == "logistic"}
    assert list(rows) == [10, 20, 50, 100]
    results = found.entries()["logistic"]
    score = np.concatenate([each.score for each in results])
    y = found.y[np.concatenate([each.test for each in results])]
    best = np.argsort(-score)[:20]
    assert rows[20]["found"] == pytest.approx(y[best].sum())
    assert rows[20]["precision"] == pytest.approx(y[best].mean())
    assert rows[20]["recall"] == pytest.approx(y[best].sum() / y.sum())


def test_tied_alerts_count_by_their_share():
    y, score = np.array([1, 1, 0, 0, 0]), np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    assert positives_on_top(y, score, 1) == 1
    assert positives_on_top(y, score, 2) == pytest.approx(1 + 1 / 3)
    assert positives_on_top(y, score, 4) == 2


BROKEN = """
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

class Raises(LogisticRegression):
    def fit(self, X, y):
        raise RuntimeError("no\\nluck")

class Nothing(LogisticRegression):
    def decision_function(self, X):
        return np.full(len(X), np.nan)

class Changes(BaseEstimator):
    def fit(self, X, y):
        X *= 0
        y[:] = 1 - y
        return self

    def transform(self, X):
        X += 1
        return X
"""


@pytest.fixture
def broken(tmp_path, monkeypatch):
    (tmp_path / "broken_learners.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    return [f"broken_learners:{name}" for name in ("Raises", "Nothing", "Changes")]


def test_a_method_that_fails_does_not_lose_the_others(path, broken):
    settings = {"n_folds": 2, "ignore": ["id"]}
    results = []
    methods = [*broken, "plain"]
    found = compare_table(path, "state", methods=methods, on_result=results.append, **settings)
    assert len(results) == 8
    first, second = found.failed()
    assert (first["title"], first["error"]) == ("Raises", "RuntimeError: no luck")
    assert second["title"] == "Nothing"
    alone = compare_table(path, "state", methods=["plain"], **settings)
    assert found.summary()[-1]["confusion"] == alone.summary()[0]["confusion"]
    page = comparison_page(found)
    assert "Raises failed: RuntimeError: no luck" in page
    with pytest.raises(ValueError, match=r"No method could be fitted\. Raises: RuntimeError"):
        compare_table(path, "state", methods=broken[:1], **settings)


def test_the_aim_is_tuned_and_comes_first(path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)
    settings = {"methods": ["logistic"], "n_folds": 2, "ignore": ["id"]}
    found = {each: compare_table(path, "state", scoring=each, **settings) for each in ("f1", "f5")}
    (f1,), (f5,) = (each.summary() for each in found.values())
    assert next(iter(found["f5"].measures)) == found["f5"].aim == "F5"
    assert f5["recall"]["mean"] > f1["recall"]["mean"]
    result = found["f5"].entries()["logistic"]
    own = [fbeta_score(found["f5"].y[r.test], r.predicted, beta=5) for r in result]
    assert f5["F5"]["mean"] == pytest.approx(np.mean(own))
    with pytest.raises(ValueError, match="scoring must be 'f1'"):
        compare_table(path, "state", scoring="best", **settings)


@pytest.mark.parametrize("scoring", ["roc_auc", "neg_brier_score", "jaccard"])
def test_any_scorer_of_scikit_learn_compares_methods(path, scoring):
    settings = {"methods": ["logistic"], "n_folds": 2, "ignore": ["id"]}
    found, default = (
        compare_table(path, "state", scoring=each, **settings) for each in (scoring, "f1")
    )
    (row,), results = found.summary(), found.entries()["logistic"]
    measure = {
        "roc_auc": lambda y, r: roc_auc_score(y, r.score),
        "neg_brier_score": lambda y, r: -brier_score_loss(y, expit(r.score)),
        "jaccard": lambda y, r: jaccard_score(y, r.predicted),
    }[scoring]
    assert found.aim == scoring.replace("_", " ")
    assert row[found.aim]["mean"] == pytest.approx(
        np.mean([measure(found.y[r.test], r) for r in results])
    )
    for ours, theirs in zip(results, default.entries()["logistic"], strict=True):
        np.testing.assert_array_equal(ours.predicted, theirs.predicted)  # tuned for F1
    losses = [log_loss(found.y[r.test], expit(r.score)) for r in results]
    assert row["log-loss"]["mean"] == pytest.approx(np.mean(losses))
    assert "tuned for F1 within" in comparison_page(found)


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
    page = comparison_page(found, "raremetric compare <mine.csv>")
    for title in (">Results<", "Precision and recall", "Confusion matrices"):
        assert title in page
    assert "&lt;mine.csv&gt;" in page
    assert page.count("<svg") == 2
    assert "http://" not in page.replace("http://www.w3.org", "")


def test_names_of_the_user_are_no_markup():
    y = np.array([0, 1] * 6)
    halves = [np.arange(6), np.arange(6, 12)]
    results = [
        FoldResult("logistic", i, half, y[half], y[half].astype(float), 1.0, 6)
        for i, half in enumerate(halves)
    ]
    page = comparison_page(Comparison("a<b>.csv", "c", ["$x", "$y"], y, 2, results))
    assert "a&lt;b&gt;.csv" in page
    assert "<b>" not in page
