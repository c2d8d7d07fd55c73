import dataclasses
import json

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, confusion_matrix
from sklearn.model_selection import train_test_split

from raremetric import RareClassifier
from raremetric.datasets import load_dataset
from raremetric.study.contenders import contend, contender_candidates
from raremetric.study.protocol import candidates
from raremetric.study.run_task import run_task
from raremetric.study.tasks import LEARNERS, LearnerSpec, Task
from tests.conftest import make_problem


def counts(result):
    return [result.tn, result.fp, result.fn, result.tp]


@pytest.mark.filterwarnings("ignore:IML")
def test_rare_classifier_is_what_a_user_gets():
    X, y = load_dataset("zoo-3", return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=2)
    model = RareClassifier("fast", pos_label=1, random_state=2).fit(X, y)
    result = run_task(Task("zoo-3", None, "none", 2, LEARNERS["RareClassifier-fast"], 0.5))
    assert counts(result) == confusion_matrix(y_test, model.predict(X_test)).ravel().tolist()
    assert result.average_precision == pytest.approx(
        average_precision_score(y_test, model.predict_proba(X_test)[:, 1])
    )
    assert result.candidate["threshold"] == pytest.approx(model.threshold_, abs=1e-6)
    assert list(result.candidate["members"]) == [each.name for each in model.ensemble_.members]
    assert sum(result.candidate["members"].values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("kind", ["IML-score", "SVM-laplacian", "balanced-forest"])
def test_a_contender_is_a_pure_function_with_three_positives_to_learn_from(kind):
    settings = {"thorough": True} if kind == "SVM-laplacian" else {}
    learner = LearnerSpec("mine", kind, settings, n_candidates=2)
    task = Task("zoo-3", None, "none", 1, learner, 0.5)
    first, second = run_task(task), run_task(task)
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)
    assert sum(counts(first)) == 51
    assert 0 <= first.average_precision <= 1
    assert first.candidate["repeats"] == (4 if settings else 2)
    assert json.loads(json.dumps(first.candidate)) == first.candidate


def test_candidates_are_drawn_by_the_split():
    for kind in ("SVM-rbf", "logistic-regression"):
        drawn = contender_candidates(kind, None, None, 1)
        assert len({each.printed for each in drawn}) == 20
        assert drawn == contender_candidates(kind, None, None, 1)
        assert drawn != contender_candidates(kind, None, None, 2)
    assert contender_candidates("IML-score", None, None, 3) == candidates("IML", 3)[:10]
    own = contender_candidates("SVM-rbf", {"width": [1.0], "C": [1.0, 2.0]}, None, 1)
    assert [each.params["C"] for each in own] == [1.0, 2.0]


def test_iml_scores_average_five_of_metrics_and_readings():
    X, y = make_problem(1, n_samples=40)
    tried = candidates("IML", 1)[:3]
    answer = contend("IML-score", {"max_iter": 20}, tried, X, y, X[:5], 1)
    assert len(answer.candidate["members"]) == 5
    assert set(answer.called) <= {0, 1}
    assert list(answer.validation) == ["average"]


def test_voting_neighbors_have_an_average_precision_too():
    result = run_task(Task("wine", None, "none", 1, LEARNERS["Euclidean"]))
    assert 0.5 < result.average_precision <= 1
    halved = run_task(Task("wine", None, "none", 1, LEARNERS["Euclidean"], 0.5))
    assert sum(counts(halved)) == 89
    assert np.isfinite(halved.average_precision)
