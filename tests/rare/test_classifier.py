import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.metrics import average_precision_score, f1_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from raremetric import BoostedLeaves, RareClassifier
from raremetric.rare.candidates import LOG_ODDS, TREES
from tests.conftest import make_problem
from tests.rare.conftest import SOON, rare_problem


def test_it_learns(fitted):
    model, _, _ = fitted
    X, y = rare_problem(seed=1, n_samples=80, n_positive=20)
    truth = np.where(y == 1, "fraud", "fine")
    assert f1_score(truth, model.predict(X), pos_label="fraud") > 0.6
    assert average_precision_score(y, model.predict_proba(X)[:, 1]) > 0.7


def test_probabilities_decisions_threshold_and_predictions_agree(fitted):
    model, X, _ = fitted
    assert model.classes_.tolist() == ["fine", "fraud"]
    assert model.pos_label_ == "fraud"
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    called = p[:, 1] >= model.threshold_
    np.testing.assert_array_equal(model.predict(X) == "fraud", called)
    np.testing.assert_array_equal(model.decision_function(X) > 0, called)
    assert 0 < called.sum() < len(X)


def test_many_features_are_selected_in_each_fold():
    X, y = rare_problem(n_samples=120, n_positive=30)
    noise = np.random.RandomState(1).normal(size=(len(X), 60))
    wide = np.hstack([X, noise])
    model = RareClassifier(SOON, max_features=X.shape[1] + 2, random_state=0).fit(wide, y)
    assert all("differingfeatures" in each.pipeline.named_steps for each in model.ensemble_.members)
    assert model.metric_[0].support_.sum() == X.shape[1] + 2
    assert average_precision_score(y, model.predict_proba(wide)[:, 1]) > 0.7
    assert model.kneighbors(wide[:1], 1)[1].item() == 0
    # If features were selected with the rows of all folds, noise would seem to predict the class.
    random = RareClassifier(SOON, max_features=2, random_state=0).fit(noise, y)
    assert random.validation_["average_precision"] < 0.5


def test_threads_and_the_global_output_format_do_not_matter(fitted):
    model, X, words = fitted
    with config_context(transform_output="pandas"):
        other = RareClassifier(SOON, random_state=0, n_jobs=2).fit(X, words)
        p, Z = other.predict_proba(X), other.metric_.transform(X)
    np.testing.assert_array_equal(p, model.predict_proba(X))
    np.testing.assert_array_equal(Z, model.metric_.transform(X))
    np.testing.assert_array_equal(model.cv_results_["log_loss"], other.cv_results_["log_loss"])
    assert model.threshold_ == other.threshold_


@pytest.mark.usefixtures("few_candidates")
def test_probabilities_from_sampled_rows_are_those_for_the_whole_table():
    X, y = rare_problem(n_samples=600, n_positive=30)
    model = RareClassifier(SOON, max_samples=120, random_state=0).fit(X, y)
    drawn = model.ensemble_.rows
    assert len(drawn) == 120
    assert y[drawn].sum() == 30
    distances, rows = model.kneighbors(X[drawn[:9]], 1)
    np.testing.assert_array_equal(rows[:, 0], drawn[:9])
    np.testing.assert_allclose(distances, 0, atol=1e-9)
    reason = model.explain(X[:1])[0][0]
    assert y[reason["positive"]["rows"]].all()
    assert not y[reason["negative"]["rows"]].any()
    # A quarter of the sampled rows are positive, but only one in twenty of all rows.
    X, y = rare_problem(seed=1, n_samples=1000, n_positive=50)
    p = model.predict_proba(X)[:, 1]
    assert p.mean() == pytest.approx(0.05, abs=0.02)
    assert 30 < model.predict(X).sum() < 90
    assert f1_score(y, model.predict(X)) > 0.5


def test_three_positives_and_no_warnings():
    X, y = rare_problem(n_samples=30, n_positive=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the user did not choose the learners that would warn
        model = RareClassifier(SOON, random_state=0).fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.long
def test_noise_is_not_learned():
    # With a share π of positives, no rule on noise has an expected F1 above 2π/(1 + π), which is
    # that of predicting all positive. Over ten seeds the difference had a standard deviation of
    # 0.04, so 0.06 is 2.6 standard errors of a mean over three seeds. The members were chosen on
    # the same folds as the out-of-fold score, which is 0.04 too high on average, with a standard
    # deviation of 0.05.
    differences = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(380, 4)), rng.permutation(np.arange(380) % 4 == 0)
        model = RareClassifier(SOON, random_state=0).fit(X[:80], y[:80])
        f1 = np.array([f1_score(y[80:], model.predict(X[80:])), model.best_score_])
        shares = np.array([y[80:].mean(), y[:80].mean()])
        differences.append(f1 - 2 * shares / (1 + shares))
    new, held_out = np.mean(differences, axis=0)
    assert new < 0.06
    assert held_out < 0.04 + 0.08


@pytest.mark.usefixtures("few_candidates")
class TestWithFewCandidates:
    def test_the_threshold_depends_on_the_scoring(self):
        X, y = rare_problem(shift=0.8)
        thresholds = []
        scorings = ("f0.5", "f1", "f2", [[0, 1], [50, 0]], "balanced_accuracy", "average_precision")
        for scoring in scorings:
            model = RareClassifier(SOON, scoring=scoring, random_state=0).fit(X, y)
            called = model.predict_proba(X)[:, 1] >= model.threshold_
            np.testing.assert_array_equal(model.predict(X) == 1, called)
            thresholds.append(model.threshold_)
        assert thresholds[:4] == sorted(thresholds[:4], reverse=True)
        assert thresholds[0] > thresholds[3]

    @pytest.mark.parametrize("pos_label", ["fine", "fraud"])
    def test_either_class_can_be_the_positive_one(self, pos_label):
        X, y = rare_problem()
        words = np.where(y == 1, "fraud", "fine")
        model = RareClassifier(SOON, pos_label=pos_label, random_state=0).fit(X, words)
        column = ["fine", "fraud"].index(pos_label)
        called = model.predict_proba(X)[:, column] >= model.threshold_
        np.testing.assert_array_equal(model.predict(X) == pos_label, called)
        first = model.explain(X[:1])[0][0]
        assert set(words[first["positive"]["rows"]]) == {pos_label}
        assert f1_score(words, model.predict(X), pos_label=pos_label) > 0.6

    def test_a_positive_class_that_comes_first(self):
        X, y = rare_problem()
        model, other = (RareClassifier(SOON, random_state=0).fit(X, each) for each in (1 - y, y))
        assert model.pos_label_ == 0
        np.testing.assert_array_equal(model.predict(X), 1 - other.predict(X))
        np.testing.assert_allclose(model.decision_function(X), -other.decision_function(X))

    def test_budgets(self):
        X, y = rare_problem()
        fast, thorough, soon, late = (
            RareClassifier(budget, random_state=0).fit(X, y)
            for budget in ("fast", "thorough", SOON, 600)
        )
        repeats = [model.n_repeats_ for model in (soon, fast, thorough, late)]
        assert repeats == [1, 2, 4, 4]
        np.testing.assert_array_equal(late.predict_proba(X), thorough.predict_proba(X))

    def test_three_classes(self):
        X, y = make_problem(1, n_samples=60, n_classes=3)
        words = np.array(["a", "b", "c"])[y]
        model = RareClassifier(SOON, random_state=0).fit(X, words)
        values, p = model.decision_function(X), model.predict_proba(X)
        assert model.predict(X).tolist() == model.classes_[values.argmax(axis=1)].tolist()
        np.testing.assert_allclose(p.sum(axis=1), 1)
        assert set(model.cv_results_["class"]) == {"a", "b", "c"}
        first = model.explain(X[:1], label="b")[0][0]
        assert set(words[first["positive"]["rows"]]) == {"b"}
        assert model.kneighbors(X[:2], label="c", return_distance=False).shape == (2, 3)
        for name in ("metric_", "validation_", "threshold_", "pos_label_", "ensemble_"):
            assert not hasattr(model, name)
            assert hasattr(model.estimators_[0], name)
            sentence = rf"{name} exists .* its 3 classes: use estimators_\[i\]\.{name}, where"
            with pytest.raises(AttributeError, match=sentence):
                getattr(model, name)
        with pytest.raises(AttributeError, match="object has no attribute 'nothing_'"):
            model.nothing_  # noqa: B018
        with pytest.raises(NotFittedError):
            RareClassifier().metric_  # noqa: B018
        with pytest.raises(ValueError, match=r"label must be one of \['a', 'b', 'c'\]; got None"):
            model.kneighbors(X)

    def test_pandas_pipelines_and_scorers(self):
        X, y = rare_problem()
        table = pd.DataFrame(X, columns=["a", "b", "c"])
        model = RareClassifier(SOON, random_state=0).fit(table, pd.Series(y))
        assert model.feature_names_in_.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(model.predict(table[["b", "a", "c"]]), model.predict(table))
        piped = make_pipeline(MinMaxScaler(), RareClassifier(SOON, random_state=0))
        assert cross_val_score(piped, table, y, scoring="average_precision", cv=2).min() > 0.5

    @pytest.mark.parametrize(
        "change",
        [
            lambda X: X[:, :1],
            lambda X: np.column_stack([X, np.ones(len(X))]),
            lambda X: np.round(X),
            lambda X: np.ones_like(X),
        ],
        ids=["one feature", "a constant", "duplicates", "all rows identical"],
    )
    def test_odd_features(self, change):
        X, y = rare_problem()
        X = change(X)
        model = RareClassifier("thorough", random_state=0).fit(X, y)
        assert np.isfinite(model.predict_proba(X)).all()
        assert np.isfinite(model.decision_function(X)).all()

    @pytest.mark.parametrize("n", [40, 400])  # more than are kept for feature_importances_
    @pytest.mark.parametrize("missing", [None, np.nan])
    def test_labels_that_are_missing_among_strings(self, n, missing):
        y = np.array(["a", "b"] * (n // 2), dtype=object)
        y[3] = missing
        with pytest.raises(ValueError, match=r"None in position 3\. Leave out rows|NaN"):
            RareClassifier().fit(np.arange(3.0 * n).reshape(n, 3), y)

    @pytest.mark.parametrize(
        ("parameters", "error", "message"),
        [
            (
                {"budget": "slow"},
                ValueError,
                r"budget must be 'fast', 'thorough' or .*; got 'slow'",
            ),
            ({"budget": 0.0}, ValueError, r"budget == 0.0, must be > 0"),
            ({"budget": True}, ValueError, r"'thorough' or a number of seconds; got True"),
            ({"scoring": "roc"}, ValueError, r"scoring must be 'f1', .* got 'roc'"),
            ({"pos_label": 7}, ValueError, r"one of the classes \[0, 1\]; got 7"),
            ({"max_samples": 3}, ValueError, r"max_samples == 3, must be >= 4"),
            ({"max_samples": "all"}, TypeError, r"max_samples must be an instance of int"),
        ],
    )
    def test_bad_parameters(self, parameters, error, message):
        with pytest.raises(error, match=message):
            RareClassifier(**parameters).fit(*rare_problem())

    def test_bad_data(self):
        X, y = rare_problem()
        with pytest.raises(ValueError, match=r"2 examples of each class .* class 1 has 1"):
            RareClassifier().fit(*rare_problem(n_positive=1))
        with pytest.raises(ValueError, match=r"two classes only; there are 3"):
            RareClassifier(pos_label=1).fit(X, np.arange(60) % 3)
        with pytest.raises(ValueError, match=r"RareClassifier needs .* only one class: 0"):
            RareClassifier().fit(X, 0 * y)
        X[3, 1] = np.nan
        with pytest.raises(ValueError, match=r"contains NaN"):
            RareClassifier(encoder=None).fit(X, y)


def test_a_second_fit_with_more_classes_forgets_the_first(few_candidates):
    X, y = make_problem(0, n_samples=60, n_classes=3)
    model = RareClassifier(budget=1e-6, random_state=0).fit(X, y == 0)
    assert hasattr(model, "ensemble_")
    model.fit(X, y)
    for name in ("ensemble_", "threshold_", "pos_label_", "best_score_", "n_repeats_"):
        assert not hasattr(model, name)
    assert not hasattr(model.fit(X, y == 0), "estimators_")


def test_without_xgboost_the_other_groups_are_used_and_a_warning_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "xgboost", None)
    X, y = make_problem(0, n_samples=60)
    with pytest.warns(UserWarning, match=r"xgboost is not installed. pip install .*\[trees\]"):
        model = RareClassifier(random_state=0).fit(X, y)
    assert set(model.cv_results_["group"]) == {"importance, laplacian", "linear", "logistic"}


@pytest.mark.long
def test_trees_win_where_borders_are_parallel_to_the_axes():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(1500, 8))
    y = ((X[:, 0].astype(int) + X[:, 1].astype(int)) % 4 == 0).astype(int)
    model = RareClassifier(random_state=0).fit(X[:1000], y[:1000])
    weights = model.cv_results_["weight"]
    assert weights[np.isin(model.cv_results_["group"], (TREES, LOG_ODDS))].sum() > 0.4
    assert f1_score(y[1000:], model.predict(X[1000:])) > 0.8


@pytest.mark.long
def test_log_odds_of_trees_are_averaged_where_trees_learn_from_many_more_rows():
    """Steps of the log-odds, parallel to the axes, that few neighbors do not show."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 4, size=(9000, 10))
    steps = X[:, :4].astype(int).sum(axis=1) - 6
    y = (rng.uniform(size=9000) < expit(1.2 * steps - 4)).astype(int)
    model = RareClassifier(max_samples=1000, random_state=0).fit(X[:6000], y[:6000])
    weights = model.cv_results_["weight"]
    assert weights[model.cv_results_["group"] == LOG_ODDS].sum() > 0.1
    assert model.metric_[-1].components_.shape[1] > 1
    p = model.predict_proba(X[6000:])[:, 1]
    trees = BoostedLeaves(max_leaves=5, random_state=0).fit(X[:6000], y[:6000])
    best = average_precision_score(y[6000:], trees.transform(X[6000:]).sum(axis=1))
    assert average_precision_score(y[6000:], p) > 0.97 * best
    total = [sum(part["weight"] * part["score"] for part in row) for row in model.explain(X[:9])]
    np.testing.assert_allclose(model.ensemble_.calibration(total), model.predict_proba(X[:9])[:, 1])
