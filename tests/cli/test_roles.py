"""Groups, times, weights and aims on the command line; progress; files at the edges."""

import json

import numpy as np
import pytest

from raremetric import terminal
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
    card = run("info", tmp_path / "m.skops", "--markdown").stdout
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


# Progress bars, on a terminal.


@pytest.fixture
def recorded(monkeypatch):
    """The steps of each progress bar, the last one last."""
    made = []

    class Recorder(terminal.Step):
        def __init__(self, *args):
            super().__init__(*args)
            self.steps = []
            made.append(self)

        def __call__(self, description=None, line=None):
            self.steps.append("step")

        def reach(self, n_done, n_steps):
            self.steps.append((n_done, n_steps))

    monkeypatch.setattr(terminal, "Step", Recorder)
    return made


@pytest.mark.parametrize("name", ["logistic", "gmml"])
def test_fit_reports_its_steps(run, path, tmp_path, recorded, name):
    out = tmp_path / "m.skops"
    run("fit", path, "--target", "state", "-o", out, "--model", name, "--ignore", "id")
    steps = recorded[-1].steps
    assert len(steps) > 3
    assert steps[-1][0] == steps[-1][1]
    assert [done for done, _ in steps] == sorted(done for done, _ in steps)


def test_other_commands_report_their_steps(run, path, saved, tmp_path, recorded):
    assert run("predict", saved, path).exit_code == 0  # to standard output
    assert recorded[-1].steps == ["step"]
    assert recorded[-1].total == 1
    assert run("explain", saved, path, "--importance").exit_code == 0
    assert recorded[-1].steps == [(i + 1, 21) for i in range(21)]  # 4 columns, 5 times
    assert run("review", saved, path, "--top", 3, "-o", tmp_path / "r.html").exit_code == 0
    assert recorded[-1].steps == ["step"] * 4  # one piece, three rows
    assert recorded[-1].total == 4


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
