"""The commands compare, fit, predict and explain."""

import json
import os
import re
import signal
import subprocess
import sys
from io import StringIO

import numpy as np
import pandas as pd
import pytest
import typer
from rich.console import Console

from raremetric.cli import app
from raremetric.contenders import CONTENDERS, scored
from raremetric.datasets import load_dataset
from raremetric.table import DEFAULT_METHODS, METHODS, Comparison, load_model, recalibrate
from raremetric.table.commands.options import complete_methods
from raremetric.table.commands.tables import comparison_table
from raremetric.table.results import FoldResult
from raremetric.terminal import progress, user_mistakes
from tests.cli.conftest import COMMAND
from tests.table.conftest import DOUBLED, make_table


def test_fit_predict_explain(run, path, saved, tmp_path):
    out = tmp_path / "found.csv"
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

    result = run("explain", saved, path, "--row", "7")
    assert result.exit_code == 0, result.output
    assert f"Row 7 (r6) of {path}" in result.stdout.replace("\n", "")
    assert "r6" in result.stdout
    assert "the distance to the nearest example is 0" in result.stderr


def test_compare(run, path, tmp_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", page]
    few = ["--methods", "plain,logistic", "--folds", "2"]
    result = run(*words, *few, "--importances")
    assert result.exit_code == 0, result.output
    for name in ("plain distance", "logistic", "log-loss", "MCC", "120 rows"):
        assert name in result.stdout
    assert "4/4 logistic regression, fold 2" in result.stderr
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert "Importances for logistic regression" in result.stdout
    table = re.split("─ *\n", result.stdout.split("Importances for")[1])[1].splitlines()
    assert table[0].split()[0] == "size"
    assert {line.split()[0] for line in table[:4]} == {"size", "weight", "color", "new"}
    section = page.read_text().split('id="importances"')[1]
    assert "Decrease of the average precision, sorted by logistic regression" in section
    found = json.loads(run(*words, *few, "--json").stdout)
    assert found["importances"] == []
    assert 'id="importances"' not in page.read_text()
    titles = ["plain distance", "logistic regression"]
    assert [row["title"] for row in found["methods"]] == titles
    assert set(found["methods"][0]["F1"]) == {"mean", "std"}


def test_compare_prints_its_table_before_the_page_and_ends_with_the_next_step(
    run, path, tmp_path, monkeypatch
):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--folds", "2", "-o", page]
    words += ["--methods", "plain,logistic", "--time", "size", "--top", "15", "--scoring", "f2"]
    result = run(*words, "--positive", "ill")
    assert result.exit_code == 0, result.output
    assert "No method ranks the rows better than chance" not in " ".join(result.stderr.split())
    assert "Marked with *: " in result.stdout
    notes = [line for line in result.stderr.splitlines() if line.startswith("Note: Column 'id' is")]
    assert notes == [
        "Note: Column 'id' is different in every row and seems to be an identifier. Consider "
        "leaving it out (--ignore id)."
    ]
    best = max(("plain", "logistic"), key=result.stdout.splitlines()[-1].find)  # which is named
    assert result.stdout.splitlines()[-1].strip() == (
        f"raremetric fit {path} --target state --positive ill --time size --scoring f2 "
        f"--model {best} -o model.skops"
    )
    text = page.read_text()
    for part in ("Top 15", "tuned for F2", "seems to be an identifier", "sorted by"):
        assert part in text

    def refuse(*_):
        raise OSError("disk full")

    monkeypatch.setattr("raremetric.table.comparison_page.comparison_page", refuse)
    result = run(*words)
    assert result.exit_code == 2
    assert "plain distance" in result.stdout
    assert "disk full" in result.stderr


FAILING = """
from sklearn.linear_model import LogisticRegression

class Failing(LogisticRegression):
    def fit(self, X, y):
        raise RuntimeError("no luck")

class Stopping(LogisticRegression):
    def fit(self, X, y):
        raise KeyboardInterrupt
"""


@pytest.fixture
def own(run, path, tmp_path, monkeypatch):
    """Compare classes of the current directory; the page that is written."""
    (tmp_path / "own_learners.py").write_text(FAILING + DOUBLED)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "own_learners", raising=False)
    page = tmp_path / "page.html"
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", page, "--folds", "2"]
    return lambda *options: run(*words, *options), page


def test_compare_reports_methods_that_fail(own):
    compare, _ = own
    failing = ["--method", "own_learners:Failing"]
    result = compare(*failing, "--methods", "plain", "--json")
    assert result.exit_code == 0, result.output
    assert "Note: Failing failed: RuntimeError: no luck" in result.stderr
    found = json.loads(result.stdout)
    assert [row["method"] for row in found["methods"]] == ["plain"]
    assert [row["error"] for row in found["failed"]] == ["RuntimeError: no luck"]
    assert {each["alerts"] for each in found["budgets"]} == {10, 20, 50, 100}
    result = compare("--methods", "own_learners:Failing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "No method could be fitted. Failing: RuntimeError: no luck" in result.stderr


def test_compare_a_class_of_ones_own(own):
    compare, page = own
    result = compare("--methods", "plain", "--method", "own_learners:Doubled", "--json")
    plain, doubled = json.loads(result.stdout)["methods"]
    assert (plain["method"], doubled["method"]) == ("plain", "own_learners:Doubled")
    assert doubled["F1"] == plain["F1"]
    assert "Doubled" in page.read_text()
    result = compare("--method", "own_learners:Tripled")
    assert result.exit_code == 2
    assert "has no 'Tripled'" in result.stderr


def test_compare_stopped(own):
    compare, page = own
    result = compare("--methods", "own_learners:Stopping")
    assert result.exit_code == 130
    sentence = "Stopped before any method had finished all folds; nothing was written."
    assert result.stderr.splitlines()[-1] == sentence
    assert not page.exists()
    result = compare("--methods", "plain,own_learners:Stopping")
    assert result.exit_code == 130
    assert "only methods that have finished all folds are shown" in result.stderr
    page.write_text("whole")
    for options in ([], ["--json"]):  # does not replace the page
        result = compare("--methods", "plain,own_learners:Stopping", *options)
        assert result.exit_code == 130
        sentence = f"Note: Stopped: {page} is the page of an earlier comparison and was kept."
        assert result.stderr.splitlines()[-1] == sentence
        assert page.read_text() == "whole"
        assert str(page) not in result.stdout
    assert json.loads(result.stdout)["file"] is None


def test_a_terminal_has_bars(run, path, saved, tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    words = ["compare", path, "--target", "state", "--ignore", "id", "-o", tmp_path / "page.html"]
    result = run(*words, "--methods", "plain", "--folds", "2")
    assert result.exit_code == 0, result.output
    assert "plain distance" in result.stderr
    assert "2/2" in result.stderr
    assert "fold 2" not in result.stderr
    fit = ["fit", path, "--target", "state", "--id", "id", "--model", "plain"]
    for words, shown in (
        ([*fit, "-o", tmp_path / "m.skops"], "fitting plain"),
        (["predict", saved, path, "-o", tmp_path / "out.csv"], "predicting"),
        (["explain", saved, path, "--importance"], "permuting"),
        (["review", saved, path, "--top", 3, "-o", tmp_path / "r.html"], "explaining"),
    ):
        assert shown in run(*words).stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["fit", "{path}", "-o", "{out}"], "Which column contains the class?"),
        (["fit", "{path}", "--target", "stat", "-o", "{out}"], "Did you mean 'state'?"),
        (["fit", "none.csv", "--target", "state", "-o", "{out}"], "There is no file 'none.csv'."),
        (["fit", "{path}", "--target", "state"], "Missing option '--out' / '-o'."),
        (["fit", "{path}", "--target", "state", "-o", "/no/x"], "There is no directory '/no'"),
        (["fit", "{path}", "--target", "state", "--model", "x", "-o", "{out}"], "must be one of"),
        (["fit", "{path}", "--target", "state", "--positive", "x", "-o", "{out}"], "no value 'x'"),
        (["compare", "{path}", "--target", "state", "--methods", "x"], "Unknown method 'x'"),
        (["predict", "{path}", "{path}"], "is not a model saved by raremetric"),
        (["explain", "{path}", "{path}"], "Pass either --row N"),
        (["fit", "{path}", "--target", "state", "--seed", "-1", "-o", "{out}"], "--seed"),
        (
            ["fit", "{path}", "--target", "state", "--scoring", "f0", "-o", "{out}"],
            "The beta in",
        ),
        (["compare", "{path}", "--target", "state", "--scoring", "f0"], "The beta in"),
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
    assert "1 of the 4 columns that the model was fitted on are missing: 'size'" in result.stderr
    assert not out.exists()
    result = run("explain", saved, path, "--row", "500")
    assert "there is no row 500; the file has 120 rows" in result.stderr
    make_table().assign(more=1).to_csv(lacking, index=False)
    assert (
        "Note: the model does not use these columns: more." in run("predict", saved, lacking).stderr
    )


def test_help_has_an_example_each(run):
    overview = run("--help").stdout
    assert "Exit codes: 0 success;" in overview
    for name in ("compare", "fit", "predict", "explain", "review", "export", "info", "datasets"):
        assert name in overview
        text = run(name, "--help").stdout
        assert f"Example: raremetric {name}" in text
        assert "--json" in text
    for name in ("run", "status", "report"):
        text = run("study", name, "--help").stdout
        assert f"Example: raremetric study {name}" in text
        assert "--json" in text


def test_the_help_lists_all_methods(run):
    assert tuple(each.alias for each in CONTENDERS.values() if each.alias) == METHODS
    assert set(DEFAULT_METHODS) < set(METHODS)
    text = " ".join(run("compare", "--help").stdout.split()).replace("- ", "-")
    assert f"by default: {', '.join(DEFAULT_METHODS)}. Also available: " in text
    listed = re.search(r"Also available: ([a-z, -]+)\.", text).group(1).split(", ")
    assert sorted([*DEFAULT_METHODS, *listed]) == sorted(METHODS)
    models = " ".join(run("fit", "--help").stdout.split()).replace("- ", "-")
    assert f"Models: {', '.join(METHODS)}." in models
    assert complete_methods("gm") == ["gmml"]
    assert "'gmml'" in run("compare", "x.csv", "--methods", "gmlm").stderr


@pytest.mark.parametrize("words", [["--version"], ["compare", "--help"], ["fit", "--help"]])
def test_help_and_version_are_quick(words):
    """They import neither NumPy nor anything that needs it."""
    code = (
        "import sys\nfrom raremetric.cli import app\n"
        f"try: app({words}, prog_name='raremetric')\n"
        "finally: print(*sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in done.stderr.split()}
    assert "typer" in loaded
    assert loaded.isdisjoint({"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib"})


def complete(words, position):
    """Completions of the shell."""
    environment = {
        **os.environ,
        "_RAREMETRIC_COMPLETE": "complete_bash",
        "COMP_WORDS": f"raremetric {words}",
        "COMP_CWORD": str(position),
    }
    done = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    return done.stdout.split()


def test_completion():
    assert {"compare", "explain", "fit", "predict"} <= {*complete("", 1)}
    assert complete("datasets pageb", 2)[0] == "pageblocks"
    assert complete("fit x.csv --model gm", 4) == ["gmml"]
    assert complete_methods("plain,lo") == ["plain,logistic"]
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


@pytest.mark.parametrize("kind", ["same", "symbolic", "hard"])
def test_no_command_overwrites_its_input(run, path, saved, tmp_path, kind):
    table, fitted, out = tmp_path / "mine.csv", tmp_path / "model.skops", tmp_path / "out"
    table.write_bytes(path.read_bytes())
    fitted.write_bytes(saved.read_bytes())

    def other_name(file):
        if kind == "same":
            return file
        out.unlink(missing_ok=True)
        (out.symlink_to if kind == "symbolic" else out.hardlink_to)(file)
        return out

    before = table.read_bytes(), fitted.read_bytes()
    for words, file in (
        (["fit", table, "--target", "state"], table),
        (["compare", table, "--target", "state", "--methods", "plain"], table),
        (["predict", fitted, table], table),
        (["predict", fitted, table], fitted),
        (["review", fitted, table], table),
        (["review", fitted, table], fitted),
    ):
        result = run(*words, "-o", other_name(file))
        assert result.exit_code == 2
        assert "is also an input, which would be overwritten." in result.stderr.splitlines()[-1]
    assert (table.read_bytes(), fitted.read_bytes()) == before
    assert run("study", "export", fitted, other_name(fitted)).exit_code == 2
    assert fitted.read_bytes() == before[1]


def test_the_output_is_checked_before_the_work(run, path, saved, tmp_path, monkeypatch):
    missing = tmp_path / "no" / "out"
    monkeypatch.setattr("raremetric.table.fit_table", None)  # not called
    monkeypatch.setattr("raremetric.table.load_model", None)
    for words in (["fit", path, "--target", "state"], ["predict", saved, path]):
        assert "There is no directory" in run(*words, "-o", missing).stderr
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda _, mode: mode != os.W_OK)  # also for root
            assert "There is no permission to write to" in run(*words, "-o", tmp_path / "x").stderr


@pytest.fixture
def logistic(run, path, tmp_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 2)
    fitted = tmp_path / "logistic.skops"
    words = ["fit", path, "--target", "state", "--id", "id", "-o", fitted, "--model", "logistic"]
    result = run(*words, "--scoring", "cost:fp=1,fn=20", "--no-ids")
    assert result.exit_code == 0, result.output
    assert "Aim: negative cost per row (tn=0, fp=1, fn=20, tp=0)" in result.stdout
    assert "Cross-validated negative cost per row: -" in result.stdout
    assert "Threshold: 0.0" in result.stdout
    chosen = "an average of 2 of the 2 settings that were tried; the best has C="
    assert f"Method: logistic ({chosen}" in result.stdout
    return fitted


def test_a_class_that_cannot_be_saved_is_refused_before_the_work(
    run, path, tmp_path, doubled, monkeypatch
):
    monkeypatch.setattr("raremetric.table.fit_table", None)  # not called
    out = tmp_path / "m.skops"
    result = run("fit", path, "--target", "state", "-o", out, "--model", doubled)
    assert result.exit_code == 2
    assert "doubled_learner.Doubled cannot be saved: a model file contains" in result.stderr


def test_thresholds_and_budgets(run, path, logistic, tmp_path):
    out = tmp_path / "out.csv"
    result = run("predict", logistic, path, "-o", out, "--top", "5")
    assert "120 rows, 5 predicted as 'ill'" in result.stdout
    lines = run("predict", logistic, path, "--json", "--threshold", "0.5").stdout.splitlines()
    found = pd.DataFrame(map(json.loads, lines))
    assert ((found["class"] == "ill") == (found["probability"] >= 0.5)).all()
    third = found["probability"].nlargest(3).iloc[-1]
    result = run("predict", logistic, path, "-o", out, "--top", "5", "--threshold", third)
    assert "120 rows, 3 predicted as 'ill'" in result.stdout
    assert run("predict", logistic, path, "--threshold", "1.5").exit_code == 2


@pytest.mark.filterwarnings("ignore:No threshold")
def test_recalibrate(run, logistic, tmp_path):
    labeled, out = tmp_path / "labeled.csv", tmp_path / "newer.skops"
    frame = make_table(seed=1, n=400).rename(columns={"state": "found"})
    frame[(frame["found"] == "well") | (np.arange(400) < 200)].to_csv(labeled, index=False)
    result = run("recalibrate", logistic, labeled, "-o", out, "--target", "found")
    assert result.exit_code == 0, result.output
    before = load_model(logistic)
    expected = recalibrate(before, labeled, "found")
    assert load_model(out).threshold == expected.threshold != before.threshold
    assert f"Threshold: {expected.threshold:.4g}" in result.stdout
    assert f"The threshold was {before.threshold:.4g}. Saved to {out}." in result.stdout
    words = ["recalibrate", logistic, labeled, "-o", out, "--target", "found", "--json"]
    card = json.loads(run(*words).stdout)
    assert (card["file"], card["threshold"]) == (str(out), expected.threshold)
    frame.head(30).to_csv(labeled, index=False)
    kept, result = out.read_bytes(), run(*words[:-1])
    assert result.exit_code == 2
    assert "at least 10 rows of each class are needed" in result.stderr
    assert out.read_bytes() == kept


def test_what_fit_says(run, tmp_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    frame, path = make_table(n=60), tmp_path / "three.csv"
    frame.loc[:20, "state"] = "dead"
    frame.to_csv(path, index=False)
    words = ["fit", path, "--target", "state", "--ignore", "id", "-o", tmp_path / "m.skops"]
    result = run(*words, "--model", "logistic", "--positive", "ill", "--threshold", "0.4")
    sentence = "3 classes. They are taken for two, 'ill' (--positive) and 'not ill'."
    assert sentence in result.stderr
    assert "rows are of class 'ill': all figures depend strongly on chance." in result.stderr
    assert "Threshold: 0.4 (chosen by the user)" in result.stdout
    result = run(*words, "--model", "logistic", "--max-rows", "30")
    assert "30 rows were used" in result.stdout
    result = run(*words, "--scoring", "f2", "--min-recall", "0.9")
    assert "Give only one of --scoring, --min-precision and --min-recall." in result.stderr


def test_doubts_are_notes(run, saved, tmp_path):
    new, out = tmp_path / "new.csv", tmp_path / "out.csv"
    make_table().assign(color="violet").to_csv(new, index=False)
    result = run("predict", saved, new, "-o", out)
    sentence = "120 of 120 rows: column 'color' has a level that the training data does not have."
    assert f"Note: {sentence}" in result.stderr
    assert "120 rows are unlike the training data." in result.stdout
    assert pd.read_csv(out)["unlike_training"].str.contains("color").all()
    assert json.loads(run("predict", saved, new, "-o", out, "--json").stdout)["unlike"] == 120


def test_info(run, saved, logistic):
    text = run("info", saved).stdout
    for words in ("# Model of `state`", "24 positive (20.0%)", "## Do not use it for"):
        assert words in text
    markdown = run("info", logistic).stdout
    assert "| `color` | text | `blue`, `green`, `red` | 0.8% |" in markdown
    assert "Names of the training rows: no" in markdown
    assert "This file contains the rows of its training data" in markdown
    card = json.loads(run("info", logistic, "--json").stdout)
    assert card["positive_class"] == "ill"
    assert card["training"]["rows"] == 120
    assert not card["contains_ids"]
    assert card["versions"]["raremetric"]
    assert run("info", "nothing.skops").exit_code == 2


@pytest.mark.parametrize("width", [80, 120])
def test_no_method_is_cut_with_seven_measures(monkeypatch, width):
    rng, y = np.random.default_rng(0), np.tile([0, 0, 1], 40)
    names = ["rare", "logistic", "boosting", "sklearn.ensemble:HistGradientBoostingClassifier"]
    results = [
        FoldResult(name, fold, rows, y[rows], rng.normal(size=60), 12.3, n_train=60)
        for name in names
        for fold, rows in enumerate((np.arange(60), np.arange(60, 120)))
    ]
    found = Comparison("my.csv", "kind", ["no", "yes"], y, 2, results, scoring="f2")
    monkeypatch.setenv("COLUMNS", str(width))
    console = Console(file=StringIO())
    console.print(comparison_table(found))
    printed = console.file.getvalue()
    assert "…" not in printed
    assert max(map(len, printed.splitlines())) <= width
    for word in ("RareClassifier", "logistic", "regression", "gradient", "boosting"):
        assert f" {word} " in printed
    assert printed.count("±") == 1 + (4 if width == 80 else 4 * 7)  # one of them in the title


@pytest.mark.parametrize(
    "words",
    [
        ["compare", "FILE", "--target", "state", "--methods", "plain", "-o", "OUT"],
        ["fit", "FILE", "--target", "state", "--id", "id", "--model", "plain", "-o", "OUT"],
        ["predict", "MODEL", "FILE"],
        ["explain", "MODEL", "FILE", "--row", "7"],
        ["explain", "MODEL", "FILE", "--importance"],
        ["review", "MODEL", "FILE", "--top", "3", "-o", "OUT"],
    ],
    ids=lambda words: words[0] + "importance" * ("--importance" in words),
)
def test_every_command_reads_standard_input(run, path, saved, tmp_path, words):
    def call(file, piped=None):
        names = {"FILE": str(file), "OUT": str(tmp_path / "out"), "MODEL": str(saved)}
        return run(*(names.get(word, word) for word in words), piped=piped)

    expected, found = call(path), call("-", path.read_bytes())
    assert found.exit_code == 0, found.output
    timeless = [
        re.sub(r"\d+\.\d+( s\b|[ ]*$)", "", text.replace(name, ""), flags=re.MULTILINE).split()
        for text, name in ((expected.stdout, str(path)), (found.stdout, "standard input"))
    ]
    if words[0] == "compare":  # the next command names the file, which is - here
        timeless[1].remove("-")
    assert timeless[0] == timeless[1]
    page = (tmp_path / "out").read_bytes() if words[0] in ("compare", "review") else b""
    assert b"standard input" in page or not page
    assert b"/proc/self" not in page
    empty = call("-", b"")
    assert empty.exit_code == 2
    assert "Error: standard input: The file is empty." in empty.stderr


def test_columns_that_say_nothing_are_not_fitted(run, tmp_path, monkeypatch):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    path, page = tmp_path / "noise.csv", tmp_path / "page.html"
    frame.assign(y=rng.random(200) < 0.1).to_csv(path, index=False)
    done = run("compare", path, "--target", "y", "--methods", "plain,logistic", "-o", page)
    assert done.exit_code == 0, done.output
    said = "No method ranks the rows better than chance"
    assert said in " ".join(done.stderr.split())
    assert said in page.read_text()
    assert "Next, fit" not in done.stdout


@pytest.mark.parametrize(("method", "can_be_fitted"), [("svm", True), ("SVM-rbf", False)])
def test_only_methods_that_fit_knows_are_recommended(
    run, tmp_path, monkeypatch, method, can_be_fitted
):
    monkeypatch.setattr(scored.Scored, "n_for_table", 1)
    path = tmp_path / "wine.csv"
    load_dataset("wine", as_frame=True).frame.to_csv(path, index=False)
    words = ["--target", "target", "--methods", method, "--folds", "2", "-o", tmp_path / "page"]
    done = run("compare", path, *words)
    assert done.exit_code == 0, done.output
    assert (f"--model {method}" in done.stdout) == can_be_fitted
