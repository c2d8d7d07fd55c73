"""Nested cross-validation on a table: its figures, its page, and interruptions."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from raremetric.contenders import CONTENDERS, scored
from raremetric.contenders.base import positive_scores
from raremetric.datasets import read_table
from raremetric.report.comparison import RECALLS, _curve, comparison_page, results_grid
from raremetric.table import DEFAULT_METHODS, Comparison, compare_table, comparison
from raremetric.table.fitting import fit_method
from raremetric.table.results import MEASURES, FoldResult
from tests.table.conftest import make_table


@pytest.fixture(scope="module")
def found(path):
    methods = ["plain", "iml", "gmml", "logistic"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scored, "N_QUICK_CANDIDATES", 2)
        return compare_table(
            path, "state", methods=methods, resamplings=["none", "rus"], n_folds=3, ignore=["id"]
        )


@pytest.fixture(scope="module")
def summary(found):
    return found.summary()


def test_plain_distance_by_independent_computation(summary, path):
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
    row = summary[0]
    assert (row["method"], row["resampling"]) == ("plain", "none")
    assert row["F1"]["mean"] == pytest.approx(np.mean(f1))
    assert row["F1"]["std"] == pytest.approx(np.std(f1))
    assert row["average precision"]["mean"] == pytest.approx(np.mean(precision))


def test_each_method_tests_each_row_once(found):
    assert len(found.entries()) == 8
    for results in found.entries().values():
        tested = np.concatenate([each.test for each in results])
        assert sorted(tested) == list(range(120))
        assert found.confusion(results).sum() == 120
        assert found.confusion(results)[1].sum() == found.y.sum()
        assert all(each.seconds > 0 for each in results)


def test_rows_have_the_order_of_the_methods(found, summary):
    assert [row["title"] for row in summary] == [
        "plain distance",
        "plain distance + under-sampling",
        "IML",
        "IML + under-sampling",
        "GMML",
        "GMML + under-sampling",
        "logistic regression",
        "logistic regression + under-sampling",
    ]
    assert found.class_names == ["well", "ill"]


def test_processes_and_seeds(path, doubled):
    def run(**settings):
        methods = ["gmml", "plain", doubled]
        found = compare_table(path, "state", methods=methods, n_folds=2, ignore=["id"], **settings)
        return [[each.score.tolist() for each in found.entries()[name, "none"]] for name in methods]

    one = run()
    assert one == run(n_jobs=2)
    assert one != run(seed=1)
    assert one[1] == one[2]  # doubled distances have the same neighbors


def test_classes_outside_the_package(path, doubled):
    classifier = "sklearn.naive_bayes:GaussianNB"
    methods = ["plain", doubled, classifier]
    found = compare_table(path, "state", methods=methods, n_folds=2, ignore=["id"])
    plain, own, bayes = found.summary()
    assert (own["method"], own["title"]) == (doubled, "Doubled")
    assert {name: own[name] for name in MEASURES} == {name: plain[name] for name in MEASURES}
    assert (bayes["method"], bayes["title"]) == (classifier, "GaussianNB")
    assert bayes["average precision"]["mean"] > 0.5
    page = comparison_page(found, found.summary())
    assert "Doubled" in page
    assert "GaussianNB" in page


@pytest.mark.parametrize("name", [each.alias for each in CONTENDERS.values() if each.alias])
def test_every_method_fits(name, models, monkeypatch):
    X, y = models["iml"].X, models["iml"].y
    if name in models:
        model = models[name].classifier
    else:
        monkeypatch.setattr(scored, "N_QUICK_CANDIDATES", 2)  # they are slow
        model = fit_method(name, X, y, resampling="smote").model
    assert f1_score(y, model.predict(X)) > 0.5
    assert positive_scores(model, X).shape == (120,)


def test_default_methods_are_known():
    aliases = {each.alias for each in CONTENDERS.values()}
    assert set(DEFAULT_METHODS) < aliases


def test_methods_are_found_by_any_name_and_used_once(path):
    settings = {"n_folds": 2, "ignore": ["id"]}
    found = compare_table(path, "state", methods=["GMML", "plain", "gmml"], **settings)
    assert list(found.entries()) == [("gmml", "none"), ("plain", "none")]


def test_a_longer_table_is_sampled_with_a_remark(path):
    found = compare_table(path, "state", methods=["plain"], n_folds=2, max_rows=60, ignore=["id"])
    assert len(found.y) == 60
    assert found.remark == "60 of 120 rows, drawn at random with the same share of positives."
    share = make_table()["state"].eq("ill").mean()
    assert found.y.mean() == pytest.approx(share, abs=1 / 60)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"methods": ["forrest"]}, r"Unknown method 'forrest'.* Did you mean 'forest'"),
        ({"methods": ["nowhere:Learner"]}, "'nowhere:Learner' cannot be imported"),
        ({"resamplings": ["adasyn"]}, "resampling must be one of 'none', 'rus', 'smote'"),
        ({"n_folds": 100}, "examples, too few for 100 folds"),
        ({"max_rows": 3}, "max_rows == 3, must be >= 20"),
    ],
)
def test_mistakes(path, settings, sentence):
    with pytest.raises(ValueError, match=sentence):
        compare_table(path, "state", ignore=["id"], **settings)


def stopping(n_results):
    """Yield some results, then interrupt as Ctrl-C does."""

    def run(tasks, n_jobs):
        for function, arguments, keywords in tasks[:n_results]:
            yield function(*arguments, **keywords)
        raise KeyboardInterrupt

    return run


def test_finished_methods_survive_an_interruption(path, monkeypatch):
    settings = {"methods": ["plain", "gmml"], "n_folds": 2, "ignore": ["id"]}
    monkeypatch.setattr(comparison, "_run", stopping(3))
    found = compare_table(path, "state", **settings)
    assert list(found.entries()) == [("plain", "none")]
    assert not found.is_whole
    assert "Stopped" in found.remark
    monkeypatch.setattr(comparison, "_run", stopping(1))
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
