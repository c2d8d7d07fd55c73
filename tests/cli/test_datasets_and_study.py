"""The command line: what it prints, and how it ends."""

import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from raremetric import __version__
from raremetric.datasets import list_datasets, load_dataset
from raremetric.table import read_table


def test_lists_all_or_one_collection(run):
    result = run("datasets")
    assert result.exit_code == 0
    assert {*list_datasets()} <= {*result.stdout.split()}
    (line,) = [line for line in result.stdout.splitlines() if " wine " in line]
    cells = ["wine", "178", "13", "59", "33.15%", "UCI 109"]
    assert [cell.strip() for cell in line.split("│")[1:7]] == cells
    assert "155 data sets" in result.stdout
    for name, number in (("paper", 22), ("keel", 100), ("large", 17)):
        assert f"{number} data sets" in run("datasets", "--collection", name).stdout


def test_shows_one(run):
    result = run("datasets", "pageblocks")
    assert result.exit_code == 0
    for words in ("5472", "230 (4.20%)", "3, 4, 5", "not in the paper's order", "CC BY 4.0"):
        assert words in result.stdout
    assert "paper's order" not in run("datasets", "glass0").stdout


def test_json(run):
    found = json.loads(run("datasets", "--json").stdout)
    assert [row["name"] for row in found] == list_datasets()
    one = json.loads(run("datasets", "wine", "--json").stdout)
    assert (one["n_samples"], one["n_features"], one["n_positive"]) == (178, 13, 59)
    assert one["share"] == pytest.approx(59 / 178)


def test_export(run, tmp_path):
    path = tmp_path / "wine.csv"
    result = run("datasets", "wine", "--export", path)
    assert result.exit_code == 0, result.output
    assert f"Try: raremetric compare {path} --target class --positive 0" in result.stdout
    table = read_table(path, "class", "0")
    assert table.data.shape == (178, 13)
    assert table.target.sum() == 59
    np.testing.assert_array_equal(table.data.to_numpy(), load_dataset("wine", return_X_y=True)[0])
    found = json.loads(run("datasets", "pageblocks", "--export", path, "--json").stdout)
    assert found == {"file": str(path), "target": "class", "positive": [3, 4, 5]}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["datasets", "--export", "x.csv"], "Which data set? For example: raremetric datasets"),
        (["datasets", "wine", "--export", "/no/where/x.csv"], "There is no directory '/no/where'"),
        (["datasets", "wime"], "Did you mean 'wine'"),
        (["datasets", "--collection", "uci"], "collection must be one of 'keel', 'large', 'paper'"),
        (["dataset"], "No such command 'dataset'."),
        (["datasets", "--jsn"], "No such option"),
    ],
)
def test_mistakes_end_with_2_and_a_sentence(run, words, sentence):
    result = run(*words)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_version_and_help(run):
    assert run("--version").stdout.strip() == __version__
    assert "datasets" in run("--help").stdout


def test_without_the_study_extra():
    code = "import sys; sys.modules['typer'] = None; import raremetric.cli"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    sentence = "The raremetric command needs typer, but it is not installed: pip install"
    assert done.stderr == f'{sentence} ".[study]" in a clone of raremetric\n'


@pytest.fixture
def study(tmp_path):
    """The file of a study."""
    path = tmp_path / "mine.toml"
    path.write_text(
        'datasets = ["wine", "bupa"]\nsplits = 5\ntitle = "My study"\n'
        "[learners.Euclidean]\n[learners.GMML]\n"
    )
    return path


def test_a_study_from_start_to_status(run, study, tmp_path):
    store = str(tmp_path / "study.sqlite")
    part = ["--datasets", "wine", "--learners", "Euclidean", "--splits", "2", "--store", store]
    first = run("study", "run", study, *part)
    assert first.exit_code == 0, first.output
    assert "2 tasks, 2 to do" in first.output
    assert "2/2 wine/own/none/2/Euclidean" in first.output
    again = run("study", "run", study, *part, "--json")
    assert "2 tasks, 0 to do" in again.stderr
    assert json.loads(again.stdout) == {"store": store, "tasks": 2, "run": 0, "failed": []}
    for files, n_left in (([], 0), ([study], 18)):  # the part that was run, and the whole study
        status = run("study", "status", *files, "--store", store, "--json")
        (found,) = json.loads(status.output)["studies"]
        assert (found["done"], found["failed"], found["left"]) == (2, 0, n_left)
    assert "mine" in run("study", "status", "--store", store).output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "table2"], r"table2 cannot be read as a study"),
        (["run", "other.toml"], r"other.toml cannot be read as a study"),
        (["run", "mine.toml", "--datasets", "wien"], r"Did you mean 'wine'"),
        (["status"], r"There is no store"),
    ],
)
@pytest.mark.usefixtures("study")
def test_mistakes_in_a_study_are_one_sentence(run, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    store = ["--store", str(tmp_path / "none.sqlite")]
    result = run("study", *arguments, *store)
    assert result.exit_code == 2
    assert re.search(message, result.output)
    assert "Traceback" not in result.output
    assert not (tmp_path / "none.sqlite").exists()


def test_two_studies_from_start_to_report(run, study, tmp_path):
    store, out = str(tmp_path / "study.sqlite"), tmp_path / "out"
    (tmp_path / "second.toml").write_text(
        'datasets = ["iris0"]\nsplits = 1\ntest_size = 0.5\nfew_positives = true\n'
        'measures = ["f1", "average_precision"]\nresampling = ["none", "rus"]\n'
        "[learners.Euclidean]\n[learners.GMML]\ncandidates = 1\n"
        '[learners.NB]\nkind = "sklearn.naive_bayes:GaussianNB"\n'
    )
    assert run("study", "run", study, "--splits", "2", "--store", store).exit_code == 0
    report = ["study", "report", "--store", store, "--out", str(out)]
    assert run(*report).exit_code == 0
    assert "My study" in (out / "report.html").read_text()
    done = run("study", "run", tmp_path / "second.toml", "--store", store)
    assert done.exit_code == 0, done.output
    assert "Note: NB chooses a threshold instead of resampling, and runs with" in done.stderr
    assert "6 tasks, 6 to do" in done.stderr
    assert run("study", "status", "--store", store, "--json").stdout.count('"left": 0') == 2
    result = run(*report, "--json")
    assert {*json.loads(result.stdout)["files"]} == {str(path) for path in out.iterdir()}
    for name in ("mine.csv", "mine.md", "second.md", "second-precision.csv"):
        assert ("iris0" if "second" in name else "wine") in (out / name).read_text()
    assert "Results of 2 studies" in (out / "report.html").read_text()
    # A learner that chooses a threshold is only in the table without resampling.
    tables = (pd.read_csv(out / f"second{end}.csv")["learner"].tolist() for end in ("", "-rus"))
    assert [*tables] == [["Euclidean", "GMML", "NB"], ["Euclidean", "GMML"]]


def test_results_as_text_and_back(run, study, tmp_path):
    first, second = tmp_path / "first.sqlite", tmp_path / "second.sqlite"
    text = tmp_path / "results.csv.gz"
    part = ["--datasets", "wine", "--learners", "Euclidean", "--splits", "2"]
    assert run("study", "run", study, *part, "--store", first).exit_code == 0
    assert run("study", "export", first, text).stdout == f"2 tasks written to {text}.\n"
    assert run("study", "import", text, second).stdout == f"2 tasks added to {second}.\n"
    assert run("study", "import", text, second).stdout == f"0 tasks added to {second}.\n"
    more = run("study", "run", study, "--datasets", "wine", "--splits", "1", "--store", first)
    assert more.exit_code == 0, more.output
    run("study", "export", first, text)
    added = run("study", "import", text, second, "--json").stdout
    assert json.loads(added) == {"store": str(second), "tasks": 1}
    status = json.loads(run("study", "status", "--store", second, "--json").stdout)
    (found,) = status["studies"]  # the store knows its studies
    assert (found["study"], found["done"], found["left"]) == ("mine", 3, 1)
