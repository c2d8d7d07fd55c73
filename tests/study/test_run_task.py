import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, log_loss
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.utils import Bunch

from raremetric import TableEncoder
from raremetric.contenders import CONTENDERS
from raremetric.study import protocol
from raremetric.study.protocol import encoded, fingerprint, make_split, run_task
from raremetric.study.tasks import LearnerSpec, Task

KNOWN = {name: LearnerSpec.from_dict(name, {}) for name in CONTENDERS}
QUICK = LearnerSpec("IML", "IML", n_candidates=3)


def counts(result):
    return [result.tn, result.fp, result.fn, result.tp]


def f1(result):
    return 100 * result.tp / (result.tp + (result.fp + result.fn) / 2)


@pytest.mark.parametrize(
    ("dataset", "resampling", "paper"), [("wine", "none", 94.9), ("newthyroid", "smote", 87.6)]
)
def test_euclidean_is_the_papers_to_the_decimal(dataset, resampling, paper):
    results = [
        run_task(Task(dataset, None, resampling, split, KNOWN["Euclidean"]))
        for split in range(1, 21)
    ]
    assert np.mean([f1(result) for result in results]) == pytest.approx(paper, abs=0.1)


@pytest.mark.parametrize(
    ("dataset", "learner", "test_size", "n_tested"),
    [
        ("newthyroid", QUICK, None, 151),  # 70 % of 215
        ("newthyroid", KNOWN["GMML"], None, 151),
        # With three positives to learn from.
        ("zoo-3", LearnerSpec("mine", "IML-score", n_candidates=2), 0.5, 51),
        ("zoo-3", LearnerSpec("mine", "SVM-laplacian", n_candidates=2), 0.5, 51),
        ("zoo-3", LearnerSpec("mine", "balanced-forest", n_candidates=2), 0.5, 51),
    ],
)
def test_a_task_is_a_pure_function(dataset, learner, test_size, n_tested):
    task = Task(dataset, None, "none", 1, learner, test_size)
    first, second = run_task(task), run_task(task)
    times = dict.fromkeys(("seconds", "fit_seconds", "predict_microseconds"))
    assert dataclasses.replace(first, **times) == dataclasses.replace(second, **times)
    assert first.fit_seconds > 0
    assert sum(counts(first)) == n_tested
    assert 0 <= first.average_precision <= 1
    assert first.fingerprint == fingerprint(learner)
    assert {"numpy", "scikit-learn", "raremetric", "xgboost"} <= set(first.versions)
    if test_size is None:
        assert len(first.scores) == (3 if learner is QUICK else 21)
    else:
        assert first.candidate["repeats"] == 2


def test_a_variant_is_split_in_halves_and_may_not_exist():
    there = run_task(Task("spectfheart", 0.1, "none", 1, KNOWN["Euclidean"]))
    assert there.exists
    assert sum(counts(there)) == pytest.approx((212 + 23) / 2, abs=1)
    absent = run_task(Task("spectfheart", 0.05, "none", 1, KNOWN["Euclidean"]))
    assert not absent.exists
    assert absent.tp is None


def test_a_learner_that_chooses_a_threshold_is_not_resampled():
    for learner in (KNOWN["SVM-rbf"], LearnerSpec("NB", "sklearn.naive_bayes:GaussianNB")):
        assert not run_task(Task("wine", None, "smote", 1, learner)).exists
    assert run_task(Task("wine", None, "none", 1, learner)).exists


@pytest.mark.parametrize("name", ["ML1", "ML2", "LMNN", "ITML"])
def test_every_learner_of_the_paper_runs(name):
    learner = dataclasses.replace(KNOWN[name], n_candidates=2)
    assert run_task(Task("wine", None, "rus", 1, learner)).exists


def test_one_random_state_for_split_and_folds():
    rng = np.random.RandomState(0)
    X, y = rng.normal(size=(90, 2)), (np.arange(90) < 30).astype(int)
    split = make_split(y, 7, 0.7)
    state = np.random.RandomState(7)
    X_train, X_test, y_train, _ = train_test_split(
        X, y, stratify=y, shuffle=True, test_size=0.7, random_state=state
    )
    np.testing.assert_array_equal(X[split.train], X_train)
    np.testing.assert_array_equal(X[split.test], X_test)
    expected = StratifiedKFold(5, shuffle=True, random_state=state).split(X_train, y_train)
    for ours, theirs in zip(split.folds, expected, strict=True):
        np.testing.assert_array_equal(ours[1], theirs[1])


@pytest.fixture
def mixed():
    """A table with text, missing values and dates, whose rows belong to 60 groups."""
    rng = np.random.default_rng(0)
    groups, y = rng.integers(60, size=300), rng.integers(2, size=300)
    number = np.where(rng.random(300) < 0.1, np.nan, y + rng.normal(size=300))
    date = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(100, size=300), "D")
    text = rng.choice(["a", "b", "c"], size=300)
    data = pd.DataFrame({"number": number, "text": text, "date": date})
    return Bunch(data=data, target=y, groups=groups)


def test_no_group_is_on_two_sides(mixed):
    groups = mixed.groups
    split = make_split(mixed.target, 1, 0.5, groups)
    assert sorted([*split.train, *split.test]) == list(range(300))
    assert len(split.test) == pytest.approx(150, abs=15)
    assert not {*groups[split.train]} & {*groups[split.test]}
    assert len(split.folds) == 5
    for train, validation in split.folds:
        rows = split.train[train], split.train[validation]
        assert sorted(np.concatenate(rows)) == sorted(split.train)
        assert not {*groups[rows[0]]} & {*groups[rows[1]]}
    assert make_split(mixed.target, 2, 0.5, groups).test.tolist() != split.test.tolist()


def test_a_frame_is_encoded_as_its_training_part_says(mixed):
    split = make_split(mixed.target, 1, 0.5, mixed.groups)
    frame = mixed.data
    frame.loc[split.test, "number"] += 1000
    frame.loc[split.test[0], ["number", "text"]] = np.nan, "new"
    train, test = encoded(frame, split)
    assert test[0, 0] == np.nanmedian(frame.loc[split.train, "number"])
    encoder = TableEncoder().fit(frame.loc[split.train])
    assert "text=new" not in encoder.get_feature_names_out()
    np.testing.assert_array_equal(train, encoder.transform(frame.loc[split.train]))
    np.testing.assert_array_equal(test, encoder.transform(frame.loc[split.test]))


def test_a_task_on_a_mixed_table_by_hand(mixed, monkeypatch):
    monkeypatch.setattr(protocol, "load_dataset", lambda name: mixed)
    spec = LearnerSpec("mine", "logistic-regression", grid={"C": [1.0]})
    result = run_task(Task("mixed", None, "none", 1, spec, 0.5))
    split = make_split(mixed.target, 1, 0.5, mixed.groups)
    train, test = encoded(mixed.data, split)
    y, truth = mixed.target[split.train], mixed.target[split.test]
    assert sum(counts(result)) == len(truth)
    contender = spec.contender()
    tuned = contender.fit(
        contender.candidates(1), train, y, seed=1, groups=mixed.groups[split.train]
    )
    p = tuned.model.predict_proba(test)
    assert result.log_loss == pytest.approx(log_loss(truth, p))
    assert result.average_precision == pytest.approx(average_precision_score(truth, p[:, 1]))
    scaled = (test - train.mean(axis=0)) / train.std(axis=0)
    model = LogisticRegression().fit((train - train.mean(axis=0)) / train.std(axis=0), y)
    alone = model.decision_function(scaled)  # where the contender has the models of five folds
    assert result.average_precision == pytest.approx(
        average_precision_score(truth, alone), abs=0.01
    )
    assert result.predict_microseconds > 0
