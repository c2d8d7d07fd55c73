"""The commands compare, fit, predict and explain."""

import csv
import json
import os
import signal
import subprocess
import sys
import time

import pandas as pd
import pytest
import typer

from raremetric.cli import app, compare, model
from raremetric.cli.common import progress, user_mistakes
from raremetric.contenders import CONTENDERS, scored
from raremetric.table import DEFAULT_METHODS, comparison
from raremetric.table.fitting import model_names
from tests.table.conftest import DOUBLED, make_table
from tests.table.test_comparison import stopping

COMMAND = [sys.executable, "-c", "from raremetric.cli import app; app(prog_name='raremetric')"]


@pytest.fixture(scope="module")
def saved(run, path, tmp_path_factory):
    saved = tmp_path_factory.mktemp("model") / "model.skops"
    result = run("fit", path, "--target", "state", "--id", "id", "-o", saved, "--model", "gmml")
    assert result.exit_code == 0, result.output
    assert "120 rows" in result.stdout
    assert "of class 'ill'" in result.stdout
    assert "4 columns, 7 features" in result.stdout
    assert f"saved to {saved}" in result.stdout
    assert "Feature weights of the metric" in result.stdout
    return saved


def test_fit_predict_explain(run, path, saved, tmp_path):
    out, plot = tmp_path / "found.csv", tmp_path / "why.png"
    result = run("predict", saved, path, "-o", out)
    assert result.exit_code == 0, result.output
    found = pd.read_csv(out)
    n_ill = (found["class"] == "ill").sum()
    assert f"120 rows, {n_ill} predicted as 'ill'; written to {out}" in result.stdout
    printed = run("predict", saved, path)
    assert printed.stdout.replace("\r", "") == out.read_text()
    lines = [json.loads(line) for line in run("predict", saved, path, "--json").stdout.splitlines()]
    assert [line["class"] for line in lines] == found["class"].tolist()
    summary = json.loads(run("predict", saved, path, "-o", out, "--json").stdout)
    assert (summary["rows"], summary["positive"]) == (120, n_ill)

    result = run("explain", saved, path, "--row", "7", "--plot", plot)
    assert result.exit_code == 0, result.output
    assert f"Row 7 (r6) of {path}" in result.stdout.replace("\n", "")
    assert "r6" in result.stdout
    assert "the distance to the nearest example is 0" in result.stderr
    assert plot.read_bytes().startswith(b"\x89PNG")
    reasons = json.loads(run("explain", saved, path, "--row", "7", "--json").stdout)
    assert reasons["exact"]
    for each, parts in zip(reasons["neighbors"], reasons["parts"], strict=True):
        assert sum(parts.values()) == pytest.approx(each["distance"] ** 2, abs=1e-10)


def test_fit_in_json(run, path, tmp_path):
    result = run(
        *("fit", path, "--target", "state", "--ignore", "id,new", "--model", "plain"),
        *("-o", tmp_path / "m.skops", "--json"),
    )
    about = json.loads(result.stdout)
    assert about["columns"] == ["size", "weight", "color"]
    assert about["rows"] == 120
    assert sum(about["weights"].values()) == pytest.approx(1)


def test_compare(run, path, tmp_path, monkeypatch):
    monkeypatch.setattr(scored, "N_QUICK_CANDIDATES", 1)
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", page]
    few = ["--methods", "plain,logistic", "--folds", "2"]
    result = run(*words, *few)
    assert result.exit_code == 0, result.output
    for name in ("plain distance", "logistic", "balanced", "MCC", "120 rows"):
        assert name in result.stdout
    assert "4/4 logistic regression, fold 2" in result.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    found = json.loads(run(*words, *few, "--resampling", "none,smote", "--json").stdout)
    assert [row["title"] for row in found["methods"]] == [
        "plain distance",
        "plain distance + SMOTE",
        "logistic regression",
        "logistic regression + SMOTE",
    ]
    assert set(found["methods"][0]["F1"]) == {"mean", "std"}


def test_compare_a_class_of_ones_own(run, path, tmp_path, monkeypatch):
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "learner_here.py").write_text(DOUBLED)
    monkeypatch.chdir(folder)  # found in the current directory
    monkeypatch.setattr(sys, "path", [*sys.path])
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", page, "--folds", "2"]
    words += ["--methods", "plain", "--method", "learner_here:Doubled"]
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert "Doubled" in result.stdout
    assert "Doubled" in page.read_text()
    found = json.loads(run(*words, "--json").stdout)["methods"]
    assert [row["method"] for row in found] == ["plain", "learner_here:Doubled"]
    assert found[1]["F1"] == found[0]["F1"]
    result = run(*words, "--method", "learner_here:Tripled")
    assert result.exit_code == 2
    assert "has no 'Tripled'" in result.stderr


def test_markup_in_the_users_text_is_printed_as_it_is(run, tmp_path):
    frame = make_table().rename(columns={"size": "[/red]", "color": "[bold]b"})
    frame["state"] = frame["state"].map({"ill": "[/ill]", "well": "[i]"})
    frame["id"] = "[x/" + frame["id"] + "]"
    path, saved, page = tmp_path / "[y].csv", tmp_path / "m.skops", tmp_path / "page.html"
    frame.to_csv(path, index=False)
    words = [path, "--target", "state"]
    result = run("fit", *words, "--id", "id", "--model", "plain", "-o", saved)
    assert "[/red]" in result.stdout
    result = run("explain", saved, path, "--row", "1")
    assert result.exit_code == 0, result.output
    for text in ("[/red]", "[bold]b", "[x/r0]", "[i]"):
        assert text in result.stdout
    few = ["--ignore", "id", "--methods", "plain", "--folds", "2", "-o", page]
    result = run("compare", *words, *few)
    assert result.exit_code == 0, result.output
    assert "[/ill]" in result.stdout


def test_a_terminal_has_bars(run, path, saved, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", tmp_path / "page.html"]
    result = run(*words, "--methods", "plain", "--folds", "2")
    assert result.exit_code == 0, result.output
    assert "plain distance" in result.stderr
    assert "2/2" in result.stderr
    assert "fold 2" not in result.stderr
    assert "predicting" in run("predict", saved, path, "-o", tmp_path / "out.csv").stderr


def test_compare_stopped(run, path, tmp_path, monkeypatch):
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", page, "--folds", "2"]
    monkeypatch.setattr(comparison, "_run", stopping(1))
    result = run(*words)
    assert result.exit_code == 130
    sentence = "Stopped before any method had finished all folds; nothing was written."
    assert result.stderr.splitlines()[-1] == sentence
    assert not page.exists()
    monkeypatch.setattr(comparison, "_run", stopping(3))
    result = run(*words)
    assert result.exit_code == 130
    assert "only methods that have finished all folds are shown" in result.stderr
    assert page.exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "{path}", "-o", "{out}"], "which column contains the class?"),
        (["fit", "{path}", "--target", "stat", "-o", "{out}"], "Did you mean 'state'?"),
        (["fit", "none.csv", "--target", "state", "-o", "{out}"], "There is no file 'none.csv'."),
        (["fit", "{path}", "--target", "state"], "Missing option '--out' / '-o'."),
        (["fit", "{path}", "--target", "state", "-o", "/no/x"], "There is no directory '/no'"),
        (["fit", "{path}", "--target", "state", "--model", "x", "-o", "{out}"], "model must be"),
        (["fit", "{path}", "--target", "state", "--positive", "x", "-o", "{out}"], "no value 'x'"),
        (["compare", "{path}", "--target", "state", "--methods", "x"], "Unknown method 'x'"),
        (["predict", "{path}", "{path}"], "is not a model saved by raremetric"),
        (["explain", "{path}", "{path}"], "Pass either --row N"),
    ],
)
def test_mistakes_are_one_sentence(run, path, tmp_path, words, sentence):
    out = tmp_path / "out"
    result = run(*(word.format(path=path, out=out) for word in words))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert sentence in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_mistakes_with_a_model(run, path, saved, tmp_path):
    lacking, out = tmp_path / "lacking.csv", tmp_path / "out.csv"
    make_table().drop(columns="size").to_csv(lacking, index=False)
    result = run("predict", saved, lacking, "-o", out)
    assert result.exit_code == 2
    assert "1 of the columns that the model was fitted on are missing: 'size'" in result.stderr
    assert not out.exists()
    result = run("explain", saved, path, "--row", "500")
    assert "there is no row 500; the file has 120 rows" in result.stderr
    result = run("explain", saved, path, "--row", "5", "--plot", tmp_path / "x.gif")
    assert result.exit_code == 2
    assert "the name must end in .png, .svg, .pdf" in result.stderr
    make_table().assign(more=1).to_csv(lacking, index=False)
    assert (
        "Note: the model does not use these columns: more." in run("predict", saved, lacking).stderr
    )


def test_help_has_an_example_each(run):
    overview = run("--help").stdout
    assert "Exit codes: 0 success;" in overview
    for name in ("compare", "fit", "predict", "explain", "datasets"):
        assert name in overview
        text = run(name, "--help").stdout
        assert f"Example: raremetric {name}" in text
        assert "--json" in text
    for name in ("run", "status", "report"):
        text = run("study", name, "--help").stdout
        assert f"Example: raremetric study {name}" in text
        assert "--json" in text


def test_a_method_needs_no_more_than_its_line_in_the_registry(run, monkeypatch):
    line = CONTENDERS["GMML"].variant("Another", title="another", alias="another")
    monkeypatch.setitem(CONTENDERS, "Another", line)
    text = " ".join(run("compare", "--help").stdout.split())
    assert f"by default: {', '.join(DEFAULT_METHODS)}. Also available: lmnn, itml, svm, " in text
    assert "another" in text
    models = " ".join(run("fit", "--help").stdout.split())
    assert f"Models: {', '.join(model_names())}." in models
    assert "another" in model_names()
    assert model.complete_model("an") == compare.complete_methods("an") == ["another"]
    assert "'another'" in run("compare", "x.csv", "--methods", "anther").stderr


def test_help_and_version_are_quick():
    """They import neither NumPy nor anything that needs it."""
    code = "import sys, raremetric.cli; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert loaded.isdisjoint({"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib"})


def complete(words, place):
    """Completions of the shell."""
    environment = {
        **os.environ,
        "_RAREMETRIC_COMPLETE": "complete_bash",
        "COMP_WORDS": f"raremetric {words}",
        "COMP_CWORD": str(place),
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_completion():
    assert {"compare", "explain", "fit", "predict"} <= {*complete("", 1)}
    assert complete("datasets pageb", 2)[0] == "pageblocks"
    assert complete("fit x.csv --model gm", 4) == ["gmml"]
    assert compare.complete_methods("plain,lo") == ["plain,logistic"]
    assert app.registered_commands


def test_a_lost_interrupt_stops_at_the_next_step(monkeypatch, capsys):
    class Finalized:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)
    before = signal.getsignal(signal.SIGINT)

    def work():
        with user_mistakes("Stopped."), progress(9, "") as step:
            step(line="one")
            Finalized()
            step(line="two")

    with pytest.raises(typer.Exit) as ended:
        work()
    assert ended.value.exit_code == 130
    assert capsys.readouterr().err.splitlines() == ["1/9 one", "Stopped."]
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_prints_one_sentence(path, tmp_path):
    words = ["compare", path, "--target", "state", "--ignore", "id", "--jobs", "1"]
    process = subprocess.Popen(
        [*COMMAND, *map(str, words)], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    process.stderr.readline()  # the first fold is done
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "Stopped" in errors.splitlines()[-1]
    assert "Traceback" not in errors


def test_a_closed_pipe_is_no_error(path, saved):
    with subprocess.Popen(
        [*COMMAND, "predict", str(saved), str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 0
    assert errors == ""


def test_output_is_csv(run, path, saved):
    rows = list(csv.reader(run("predict", saved, path).stdout.splitlines()))
    assert rows[0][:4] == ["row", "id", "class", "probability"]
    assert {len(row) for row in rows} == {10}
