import dataclasses

import numpy as np
import pytest

from raremetric.study.run_task import fingerprint, run_task
from raremetric.study.tasks import PAPER_LEARNERS, LearnerSpec, Task

QUICK = LearnerSpec("IML", "IML", n_candidates=3)


def f1(result):
    return 100 * result.tp / (result.tp + (result.fp + result.fn) / 2)


@pytest.mark.parametrize(
    ("dataset", "resampling", "paper"), [("wine", "none", 94.9), ("newthyroid", "smote", 87.6)]
)
def test_euclidean_is_the_papers_to_the_decimal(dataset, resampling, paper):
    results = [
        run_task(Task(dataset, None, resampling, split, PAPER_LEARNERS["Euclidean"]))
        for split in range(1, 21)
    ]
    assert np.mean([f1(result) for result in results]) == pytest.approx(paper, abs=0.1)


@pytest.mark.parametrize("learner", [QUICK, PAPER_LEARNERS["GMML"]])
def test_a_task_is_a_pure_function(learner):
    task = Task("newthyroid", None, "none", 1, learner)
    first, second = run_task(task), run_task(task)
    assert dataclasses.replace(first, seconds=0) == dataclasses.replace(second, seconds=0)
    assert first.tn + first.fp + first.fn + first.tp == 151  # 70 % of 215
    assert len(first.scores) == (3 if learner is QUICK else 21)
    assert first.fingerprint == fingerprint()
    assert {"numpy", "scikit-learn", "raremetric"} <= set(first.versions)


def test_a_variant_is_split_in_halves_and_may_not_exist():
    there = run_task(Task("spectfheart", 0.1, "none", 1, PAPER_LEARNERS["Euclidean"]))
    assert there.exists
    assert there.tn + there.fp + there.fn + there.tp == pytest.approx((212 + 23) / 2, abs=1)
    absent = run_task(Task("spectfheart", 0.05, "none", 1, PAPER_LEARNERS["Euclidean"]))
    assert not absent.exists
    assert absent.tp is None


@pytest.mark.parametrize("name", ["ML1", "ML2", "LMNN", "ITML"])
def test_every_learner_of_the_paper_runs(name):
    learner = dataclasses.replace(PAPER_LEARNERS[name], n_candidates=2)
    assert run_task(Task("wine", None, "rus", 1, learner)).exists
