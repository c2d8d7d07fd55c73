"""A learner that is not part of the package: one line in the registry, or its import path."""

import importlib
import sys
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor
from typer.testing import CliRunner

from raremetric.cli import app
from raremetric.contenders import CONTENDERS, find_contender
from raremetric.contenders.neighbor_vote import NeighborVote
from raremetric.study import Store

MODULE = '''
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin


class WithinClassWhitening(TransformerMixin, BaseEstimator):
    """Distances in units of the spread within the classes."""

    def __init__(self, shrinkage=0.5):
        self.shrinkage = shrinkage

    def fit(self, X, y):
        centered = np.vstack([X[y == c] - X[y == c].mean(axis=0) for c in np.unique(y)])
        S = centered.T @ centered / len(X)
        S = (1 - self.shrinkage) * S + self.shrinkage * np.eye(X.shape[1])
        self.components_ = np.linalg.inv(np.linalg.cholesky(S))
        return self

    def transform(self, X):
        return X @ self.components_.T
'''
STUDY = """
title = "Learners of my own"
datasets = ["wine", "newthyroid"]
splits = 2

[learners.Euclidean]
"""


@pytest.fixture
def learner(tmp_path, monkeypatch):
    """The class, in a module in the current directory."""
    (tmp_path / "whitening.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    get_reusable_executor().shutdown(wait=True)  # processes of other tests have another path
    yield importlib.import_module("whitening").WithinClassWhitening
    del sys.modules["whitening"]


def run(*words):
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    return result


def run_and_report(learners, *options):
    """Rows of a study of these learners, and the page of its report."""
    Path("mine.toml").write_text(STUDY + learners)
    run("study", "run", "mine.toml", "--store", "mine.sqlite", *options)
    run("study", "report", "--store", "mine.sqlite", "--out", "out")
    (results,) = Store(Path("mine.sqlite")).results()
    return results.rows, Path("out/report.html").read_text()


def test_results_of_an_edited_class_are_kept_with_a_note(learner):
    mine = '[learners.mine]\nkind = "whitening:WithinClassWhitening"'
    Path("mine.toml").write_text(STUDY + mine)
    command = ["study", "run", "mine.toml", "--store", "mine.sqlite"]
    assert "other code" not in run(*command).stderr
    assert "other code" not in run(*command).stderr
    Path("whitening.py").write_text(MODULE.replace("shrinkage=0.5", "shrinkage=0.25"))
    importlib.reload(sys.modules["whitening"])
    again = run(*command)
    assert "Note: 4 finished tasks of mine were computed with other code" in again.stderr
    assert "use another store" in again.stderr
    assert "8 tasks, 0 to do" in again.stderr


def test_an_import_path_or_one_line_of_the_registry(learner, monkeypatch):
    by_path = """
        [learners.mine]
        kind = "whitening:WithinClassWhitening"
        grid = { shrinkage = [0.1, 0.5, 0.9] }
    """
    rows, page = run_and_report(by_path, "--jobs", 2)
    mine = rows[rows["learner"] == "mine"]
    assert rows["learner"].value_counts().to_dict() == {"Euclidean": 4, "mine": 4}
    assert page.count("mine") > 1
    assert "Learners of my own" in page
    assert find_contender("whitening:WithinClassWhitening").name == "WithinClassWhitening"
    # The same learner, registered: the same counts.
    line = NeighborVote(name="mine", learner=learner, grid={"shrinkage": [0.1, 0.5, 0.9]})
    monkeypatch.setitem(CONTENDERS, "mine", line)
    registered, _ = run_and_report("[learners.mine]")
    counts = ["dataset", "split", "tn", "fp", "fn", "tp"]
    again = registered[registered["learner"] == "mine"]
    assert again[counts].to_numpy().tolist() == mine[counts].to_numpy().tolist()
