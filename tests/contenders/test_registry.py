import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from raremetric import RareClassifier
from raremetric.contenders import CONTENDERS, find_contender, make_contender
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.contenders.rare import MetricScore, describe_scores
from raremetric.contenders.scored import ScoredEstimator
from raremetric.rare.candidates import KERNEL, LINEAR, LOG_ODDS, LOGISTIC
from raremetric.table import METHODS
from tests.conftest import make_problem

NCA = "sklearn.neighbors:NeighborhoodComponentsAnalysis"
NAIVE_BAYES = "sklearn.naive_bayes:GaussianNB"


class Tripled(TransformerMixin, BaseEstimator):
    """A transformer without any parameter."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return 3 * X


class Silent(BaseEstimator):
    """Predicts, but gives no scores."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture(scope="module")
def data():
    X, y = make_problem(1, n_samples=60)
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X[:40], y[:40]))
    return X[:40], y[:40], X[40:], folds


def test_short_names_for_the_command_line():
    aliases = {each.alias: name for name, each in CONTENDERS.items() if each.alias}
    assert set(aliases) == {*METHODS}
    assert aliases["iml"] == "IML-score"
    titles = [CONTENDERS[name].title for name in aliases.values()]
    assert len(set(titles)) == len(titles)
    assert find_contender("svm") == find_contender("SVM") == CONTENDERS["SVM-laplacian"]
    with pytest.raises(ValueError, match=r"Unknown method 'bosting'.*Did you mean 'boosting'"):
        find_contender("bosting")
    with pytest.raises(ValueError, match=r"Unknown method 'qqq'; .*They are .*, SVM-rbf, .*, svm"):
        find_contender("qqq")


def test_each_method_has_one_name_for_ones_own_table():
    for name in ("IML-score", "iml-score"):
        with pytest.raises(ValueError, match=f"Method '{name}' is called 'iml' for one's own"):
            find_contender(name)
    assert find_contender("SVM-rbf") == CONTENDERS["SVM-rbf"]  # has no short name
    with pytest.raises(ValueError, match="Unknown method 'IML-30'"):  # for studies only
        find_contender("IML-30")


def test_candidates_are_drawn_by_the_split():
    for name in ("SVM-rbf", "logistic-regression"):
        contender = CONTENDERS[name]
        drawn = contender.candidates(1)
        assert len({each.name for each in drawn}) == 20
        assert drawn == contender.candidates(1)
        assert drawn != contender.candidates(2)
    assert CONTENDERS["IML-score"].candidates(3) == CONTENDERS["IML"].candidates(3)[:10]
    assert CONTENDERS["IML-30"].candidates(3) == CONTENDERS["IML"].candidates(3)[:30]
    mine = make_contender("SVM-rbf", "mine", grid={"width": [1.0], "C": [1.0, 2.0]})
    assert [each.params["C"] for each in mine.candidates(1)] == [1.0, 2.0]


def test_rare_classifier_is_what_a_user_gets(data, few_candidates):
    X, y, queries, _ = data
    tuned = find_contender("rare").fit([], X, y, folds=[], seed=2)
    answer = tuned.answer(queries)
    model = RareClassifier("fast", pos_label=1, random_state=2).fit(X, y)
    np.testing.assert_array_equal(answer.predicted, model.predict(queries))
    np.testing.assert_allclose(answer.scores, model.decision_function(queries))
    assert tuned.chosen["threshold"] == pytest.approx(model.threshold_, abs=1e-6)
    assert list(tuned.chosen["members"]) == list(model.ensemble_.weights)
    n_tried, n_kept = len(model.cv_results_["weight"]), len(model.ensemble_.weights)
    assert tuned.words == f"an average of {n_kept} of the {n_tried} settings that were tried"
    assert sum(tuned.chosen["members"].values()) == pytest.approx(1, abs=1e-4)
    assert json.loads(json.dumps(tuned.chosen)) == tuned.chosen


def test_plain_scores_beside_the_neighbors_in_words():
    groups = np.array([KERNEL, LOGISTIC, LOG_ODDS, LINEAR, LOGISTIC])
    found = describe_scores({"group": groups, "weight": np.array([0.4, 0.1, 0.0, 0.3, 0.2])})
    assert found == ": 70% nearest examples, 30% logistic regressions"


def test_iml_scores_average_five_of_metrics_and_readings(data):
    X, y, queries, _ = data
    contender = make_contender("IML-score", "mine", {"max_iter": 20}, n_candidates=3)
    tuned = contender.fit(contender.candidates(1), X, y, folds=[], seed=1)
    assert len(tuned.chosen["members"]) == 5
    assert all(name.startswith("standard, IML(") for name in tuned.chosen["members"])
    assert list(tuned.validation) == ["average"]
    assert set(tuned.model.predict(queries)) <= {0, 1}
    assert tuned.model.kneighbors(queries)[1].shape == (len(queries), 3)


def test_a_users_transformer_is_judged_by_its_neighbors(data):
    X, y, queries, folds = data
    contender = make_contender(NCA, "NCA", {"max_iter": 5}, {"n_components": [1, 2]})
    assert isinstance(contender, NeighborVote)
    tuned = contender.fit(contender.candidates(1), X, y, folds=folds, seed=0)
    assert set(tuned.validation) == {"{'n_components': 1}", "{'n_components': 2}"}
    assert set(tuned.answer(queries).scores) <= {0, 1 / 3, 2 / 3, 1}
    of_table = find_contender(NCA)
    assert isinstance(of_table, MetricScore)
    assert (of_table.name, of_table.kind) == ("NeighborhoodComponentsAnalysis", NCA)
    assert of_table.learner is NeighborhoodComponentsAnalysis


@pytest.mark.parametrize(
    ("path", "grid", "n_candidates"),
    [
        (NAIVE_BAYES, None, 1),  # probabilities only
        ("sklearn.linear_model:LogisticRegression", {"C": [0.1, 1.0, 10.0]}, 3),
        ("sklearn.tree:DecisionTreeClassifier", {"max_depth": [1, 2]}, 2),  # certain, and random
    ],
)
def test_a_users_classifier_is_judged_by_its_scores(path, grid, n_candidates, data):
    X, y, queries, _ = data
    contender = make_contender(path, "mine", grid=grid)
    assert isinstance(contender, ScoredEstimator)
    assert contender.has_threshold
    tried = contender.candidates(1)
    first, second = (contender.fit(tried, X, y, folds=[], seed=1) for _ in "ab")
    assert len(first.validation) == n_candidates + 1
    assert first.validation["average"] > 0.5
    scores = first.answer(queries).scores
    np.testing.assert_array_equal(scores, second.answer(queries).scores)
    assert np.isfinite(scores).all()


class Offering(LogisticRegression):
    """A class that says which candidates to try on a split."""

    @staticmethod
    def candidates(split):
        return [{"tol": 1.0, "C": float(C)} for C in range(1, split + 2)]


@pytest.mark.parametrize("is_transformer", [False, True])
def test_a_class_may_offer_its_candidates(is_transformer, monkeypatch):
    if is_transformer:
        monkeypatch.setattr(Tripled, "candidates", Offering.candidates, raising=False)
    path = f"{__name__}:{'Tripled' if is_transformer else 'Offering'}"
    first, *_, last = find_contender(path).candidates(3)
    assert (first.name, last.params) == ("{'tol': 1.0, 'C': 1.0}", {"tol": 1.0, "C": 4.0})
    assert len(make_contender(path, "few", n_candidates=2).candidates(3)) == 2
    if not is_transformer:
        assert len(make_contender(path, "mine", grid={"C": [1.0]}).candidates(3)) == 1


def test_a_class_that_takes_any_argument(data):
    """XGBClassifier passes most parameters through ``**kwargs``."""
    pytest.importorskip("xgboost")
    X, y, queries, _ = data
    settings = {"max_depth": 2, "n_estimators": 3, "n_jobs": 1}
    contender = make_contender("xgboost:XGBClassifier", "mine", settings, {"max_leaves": [2, 3]})
    tuned = contender.fit(contender.candidates(1), X, y, folds=[], seed=1)
    assert tuned.model.family.estimator.get_params()["max_depth"] == 2
    assert np.isfinite(tuned.answer(queries).scores).all()


class Scaled(Tripled):
    """A transformer with a required argument."""

    def __init__(self, factor):
        self.factor = factor

    def transform(self, X):
        return self.factor * X


def test_required_arguments_are_settings():
    path = f"{__name__}:Scaled"
    assert make_contender(path, "mine", {"factor": 2.0}).settings == {"factor": 2.0}
    with pytest.raises(ValueError, match=r"'Scaled' cannot be created with no settings: .*factor"):
        find_contender(path)
    with pytest.raises(ValueError, match=r"required arguments of VotingClassifier must be given"):
        find_contender("sklearn.ensemble:VotingClassifier")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("no_such_module:Learner", r"'no_such_module:Learner' cannot be imported: No module named"),
        ("sklearn.svm:Learner", r"cannot be imported: module sklearn.svm has no 'Learner'"),
        ("sklearn.metrics:f1_score", r"'sklearn.metrics:f1_score' is not an estimator class"),
        ("fractions:Fraction", r"is not an estimator class: it must have fit, get_params"),
        (":x", r"^':x' is not an import path such as mypackage.module:MyLearner\.$"),
        ("x:", r"^'x:' is not an import path such as"),
        (".x:X", r"^'.x:X' is not an import path such as"),
        (f"{__name__}:Silent", r"predict with decision_function or predict_proba"),
    ],
)
def test_what_is_not_an_estimator(path, message):
    with pytest.raises(ValueError, match=message):
        find_contender(path)


@pytest.mark.parametrize(
    ("kind", "settings", "grid", "message"),
    [
        ("IML", {"margn": 1.0}, None, r"'mine' has the unknown settings margn; IML takes .*margin"),
        (NCA, {"k": 3}, None, r"unknown settings k; NeighborhoodComponentsAnalysis takes"),
        (NCA, {}, {"k": [3]}, r"unknown grid parameters k; NeighborhoodComponentsAnalysis takes"),
        (NAIVE_BAYES, {"k": 3}, None, r"unknown settings k; GaussianNB takes priors"),
        (NAIVE_BAYES, {}, {"k": [3]}, r"unknown grid parameters k; GaussianNB takes"),
        ("SVM-rbf", {"C": 1.0}, None, r"unknown settings C; SVM-rbf takes none"),
        ("RareClassifier", {"seed": 1}, None, r"unknown settings seed; RareClassifier takes"),
        ("RareClassifier", {}, {"budget": [1]}, r"unknown grid parameters budget"),
        ("IML-score", {"seed": 1}, None, r"unknown settings seed; IML takes"),
        ("Mine", {}, None, r"kind of learner 'mine' must be one of .*mypackage.module:MyLearner"),
    ],
)
def test_unknown_settings_are_refused(kind, settings, grid, message):
    with pytest.raises(ValueError, match=message):
        make_contender(kind, "mine", settings, grid)


class ChangingTransformer(TransformerMixin, BaseEstimator):
    """Changes what it is given; its distances are the plain ones."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def fit(self, X, y):
        X *= 0
        y[:] = 1 - y
        self.fitted_ = True
        return self

    def transform(self, X):
        X += 7
        return X[:, ::-1]


class ChangingClassifier(LogisticRegression):
    """Learns as its parent does, but spoils the labels afterwards."""

    def fit(self, X, y):
        super().fit(X, y)
        y[:] = 1 - y
        return self


@pytest.mark.parametrize(
    ("own", "plain", "grid"),
    [
        ("ChangingTransformer", CONTENDERS["Euclidean"], {"factor": [1.0, 2.0, 3.0]}),
        ("ChangingTransformer", find_contender("plain"), None),
        ("ChangingClassifier", find_contender("sklearn.linear_model:LogisticRegression"), None),
    ],
)
def test_a_class_that_changes_its_arguments_spoils_no_other_candidate(data, own, plain, grid):
    X, y, queries, folds = data
    before = X.copy(), y.copy()
    path = f"{__name__}:{own}"
    contender = make_contender(path, "mine", grid=grid) if grid else find_contender(path)
    tuned, expected = (
        each.fit(each.candidates(1), X, y, folds=folds, seed=1) for each in (contender, plain)
    )
    if grid:
        assert len({*tuned.validation.values()}) == 1
        assert min(tuned.validation.values()) > 0.5
    np.testing.assert_allclose(tuned.answer(queries).scores, expected.answer(queries).scores)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
