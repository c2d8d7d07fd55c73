"""Groups, times, weights and aims on the command line; progress; files at the edges."""

import json

import numpy as np
import pytest

from raremetric.contenders import scored
from tests.table.conftest import make_table


@pytest.fixture(autouse=True)
def few(monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)


@pytest.fixture(scope="module")
def roles_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("roles") / "roles.csv"
    frame = make_table(n=160).drop(columns="id")
    rng = np.random.default_rng(0)
    frame["day"] = rng.permutation(160)
    frame["customer"] = [f"c{i}" for i in rng.integers(0, 120, 160)]
    frame.assign(times=rng.integers(1, 4, 160)).to_csv(path, index=False)
    return path


def test_fit_with_time_group_and_weight(run, roles_path, tmp_path):
    words = ["fit", roles_path, "--target", "state", "-o", tmp_path / "m.skops"]
    words += ["--model", "logistic", "--time", "day", "--group", "customer", "--weight", "times"]
    done = run(*words)
    assert done.exit_code == 0, done.output
    assert "5 columns" in done.stdout  # the day, too
    assert "each part is validated by models of earlier rows, by 'day'" in done.stdout
    assert "no value of 'customer' is on both sides" in done.stdout
    assert "Weights of the rows: `times`, also in all measures" in done.stdout
    about = json.loads(run(*words, "--json").stdout)
    assert about["training"]["weight"] == "times"
    card = run("info", tmp_path / "m.skops").stdout
    assert "- Weights of the rows: `times`" in card
    assert "- Folds of the cross-validation: each part is validated" in card


def test_compare_with_every_role_and_the_next_step(run, roles_path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ["--group", "customer", "--weight", "times", "--min-precision", "0.6"]
    settings = ["--methods", "plain,logistic", "--folds", "2", "--ignore", "day"]
    done = run("compare", roles_path, "--target", "state", *words, *settings)
    assert done.exit_code == 0, done.output
    assert "recall at" in " ".join(done.stdout.split())
    end = " ".join(done.stdout.split())
    assert "--ignore day --group customer --weight times --scoring 'precision>=0.6'" in end
    page = (tmp_path / "comparison.html").read_text()
    assert "tuned for recall at precision 0.6" in page
    assert "No value of &#39;customer&#39;" in page or "No value of 'customer'" in page
    assert "Top 10" in page
    assert "Alerts at the threshold" in page
    assert "is that of the best threshold for each test fold" in page


# Files and tables at the edges.


def test_a_header_without_rows(run, path, saved, tmp_path):
    (tmp_path / "empty.csv").write_text(path.read_text().splitlines()[0] + "\n")
    done = run("predict", saved, tmp_path / "empty.csv", "-o", tmp_path / "out.csv")
    assert done.exit_code == 0, done.output
    assert "0 rows" in done.stdout
    assert "Note: " in done.stderr
    assert "no rows" in done.stderr
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert len(lines) == 1
    whole = run("predict", saved, path).stdout.splitlines()
    assert lines[0] == whole[0]


def test_a_directory_is_no_model_and_not_a_table_if_it_is_empty(run, saved, tmp_path):
    for words, message in (
        (["predict", tmp_path, saved], "is a directory"),
        (["predict", saved, tmp_path, "-o", tmp_path / "out"], "contains no table"),
        (["fit", tmp_path, "--target", "x", "-o", tmp_path / "m.skops"], "contains no table"),
    ):
        done = run(*words)
        assert done.exit_code == 2
        assert message in done.stderr
