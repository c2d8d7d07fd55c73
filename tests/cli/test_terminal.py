"""Text from the user, encodings, closed pipes and signals, in all commands."""

import json
import os
import signal
import stat
import subprocess
import sys

import pytest
import typer
from typer.testing import CliRunner

from raremetric.cli import app
from raremetric.files import atomic_write
from raremetric.terminal import user_mistakes
from tests.cli.conftest import COMMAND
from tests.table.conftest import make_table

COLUMNS = {"size": "price [/unit]", "color": "[bold]", "weight": "weight [kg]", "new": ":apple:"}


def start(*words, **options):
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


# Text that looks like markup or like the name of an emoji


@pytest.fixture(scope="module")
def brackets(tmp_path_factory):
    """A file whose name, columns, classes and row names look like markup."""
    frame = make_table().rename(columns=COLUMNS)
    frame["state"] = frame["state"].map({"ill": "[/yes]", "well": "[i]"})
    frame["id"] = "[x/" + frame["id"] + "]"
    path = tmp_path_factory.mktemp("brackets") / "[x].csv"
    frame.to_csv(path, index=False)
    return path


def test_text_that_looks_like_markup(run, brackets, tmp_path):
    model, out = tmp_path / "[bold].skops", tmp_path / "[bold].csv"
    words = ["--target", "state", "--id", "id", "--model", "plain", "-o", model]
    shown = run("fit", brackets, *words).stdout
    assert all(text in shown for text in ("[x].csv", "`[/yes]`", "[bold].skops"))
    shown = run("explain", model, brackets, "--row", "1").stdout
    texts = ("[x].csv", *COLUMNS.values(), "[x/r0]", "[i]", "'[/yes]'")
    assert all(text in shown for text in texts)
    words = ["compare", brackets, "--target", "state", "--ignore", "id", "--folds", "2"]
    shown = run(*words, "--methods", "plain", "-o", tmp_path / "[bold].html").stdout
    joined = "".join(shown.split())  # the title may be wrapped
    assert all(text in joined for text in ("ofclass'[/yes]'", "[x].csv", "[bold].html"))
    shown = run("predict", model, brackets, "-o", out).stdout
    assert "as '[/yes]'; written to" in shown
    assert "[bold].csv" in shown
    assert run("datasets", "wine", "--export", out).stdout.count("[bold].csv") == 2
    for wrong, text in (
        ([*words, "--methods", "[/plain]"], "'[/plain]'"),
        (["explain", model, "[no].csv", "--row", "1"], "Error: There is no file '[no].csv'.\n"),
        (["predict", model, tmp_path / "[none].csv"], "[none].csv"),
        (["datasets", "[/wine]"], "'[/wine]'"),
    ):
        result = run(*wrong)
        assert result.exit_code == 2
        assert text in result.stderr


# Encodings that lack characters


MANY = """
import json, sys
from raremetric.cli import app

codes = []
for words in json.loads(sys.argv[1]):
    try:
        app(words, prog_name="raremetric")
    except SystemExit as end:
        codes.append(end.code)
sys.stderr.write(f"{codes}")
"""


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_encodings(path, saved, tmp_path, encoding):
    mine = tmp_path / "€.csv"
    make_table().rename(columns={"size": "größe €"}).to_csv(mine, index=False)
    page = ["--ignore", "id", "--folds", "2", "--methods", "plain", "--jobs", "1"]
    page += ["-o", tmp_path / "page.html"]
    commands = [
        ["datasets"],
        ["datasets", "wine"],
        ["explain", saved, path, "--row", "1"],
        ["compare", mine, "--target", "state", *page],
        ["compare", mine, "--target", "€", *page],
    ]
    done = subprocess.run(
        [sys.executable, "-c", MANY, json.dumps(commands, default=str)],
        env={**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": encoding},
        capture_output=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == b"[0, 0, 0, 0, 2]"
    assert b"Mean" in done.stdout


def test_json_is_exact_in_any_encoding(tmp_path):
    path = tmp_path / "€ ß.csv"
    locale = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "1"}
    for encoding in ("ascii", "latin-1"):
        words = ["datasets", "wine", "--export", path, "--json"]
        process = start(*words, env=locale | {"PYTHONIOENCODING": encoding})
        output, _ = process.communicate(timeout=120)
        assert json.loads(output.decode(encoding))["file"] == str(path)


# Closed pipes and signals


@pytest.mark.parametrize("command", ["datasets", "info", "predict"])
def test_a_closed_pipe_is_no_error(path, saved, command):
    words = {"datasets": [], "info": [saved], "predict": [saved, path]}[command]
    with start(command, *words) as process:
        process.stdout.close()
        errors = process.stderr.read()
        assert process.wait(timeout=120) == 0
    assert errors == b""


@pytest.mark.parametrize(
    ("closed", "sentence"),
    [
        (">&-", b"Error: Standard output is closed. Redirect it to a file, or to /dev/null.\n"),
        ("<&-", b"Error: Standard input is closed. Give the name of a file instead of '-'.\n"),
    ],
)
def test_closed_streams(saved, closed, sentence):
    """As with `raremetric predict ... >&-`: Python has no sys.stdout then."""
    words = ["sh", "-c", f'exec "$@" {closed}', "sh", *COMMAND, "predict", str(saved), "-"]
    done = subprocess.run(words, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (2, sentence)


@pytest.mark.parametrize("columns", ["0", "-5", "19"])
def test_impossible_widths_of_the_terminal(saved, columns):
    shown = CliRunner().invoke(app, ["info", str(saved)], env={"COLUMNS": columns}).stdout
    assert shown == CliRunner().invoke(app, ["info", str(saved)], env={"COLUMNS": "80"}).stdout
    assert "gmml" in shown


@pytest.mark.parametrize("error", [SystemError, ImportError, ValueError])
def test_an_error_that_follows_a_signal(capsys, error):
    """A compiled function that is stopped ends in a SystemError, and an import in ImportError."""

    def stopped():
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt:
            raise error("half") from None

    with pytest.raises(typer.Exit) as caught, user_mistakes():
        stopped()
    assert caught.value.exit_code == 130
    assert capsys.readouterr().err == "Stopped; nothing was written.\n"
    with pytest.raises(SystemError, match="a bug"), user_mistakes():
        raise SystemError("a bug")


def test_signals_outside_of_the_work_of_a_command(monkeypatch, run):
    """While arguments are parsed, and while results are printed."""

    def interrupt(*_):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr("raremetric.cli.print_rendered", interrupt)
    result = run("datasets", "wine")
    assert (result.exit_code, result.stderr) == (130, "Stopped.\n")
    monkeypatch.setattr(typer.core.TyperGroup, "parse_args", interrupt)
    result = run("datasets", "wine")
    assert (result.exit_code, result.stderr) == (130, "Stopped.\n")


WRITING = """
import os, sys, time
from raremetric.terminal import user_mistakes
from raremetric.files import atomic_write

if sys.argv[1] == "named" and hasattr(os, "O_TMPFILE"):
    del os.O_TMPFILE
with user_mistakes(), atomic_write("out") as stream:
    stream.write(b"half" * 10_000)
    print("ready", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("kind", ["unnamed", "named"])
def test_a_signal_leaves_no_temporary_file(tmp_path, number, kind):
    if kind == "unnamed" and not hasattr(os, "O_TMPFILE"):
        pytest.skip("this system has no files without a name")
    (tmp_path / "out").write_text("old")
    command = [sys.executable, "-c", WRITING, kind]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, **pipes) as process:
        process.stdout.readline()
        process.send_signal(number)
        assert process.wait(timeout=60) == (1 if number == signal.SIGINT else -number)
    left = [each.name for each in tmp_path.iterdir() if each.name != "out"]
    assert len(left) == (kind == "named" and number != signal.SIGINT)
    assert (tmp_path / "out").read_text() == "old"
    with atomic_write(tmp_path / "out") as stream:  # a file that is left does not matter
        stream.write(b"new")
    assert (tmp_path / "out").read_text() == "new"


def test_pipes_are_not_replaced(run, path, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run("fit", path, "--target", "state", "-o", pipe, "--model", "plain")
    assert result.exit_code == 2
    assert "is a device, a pipe or a loop of links" in result.stderr
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_is_not_replaced(run, path, saved, tmp_path):
    """Programs before and after this one may append to the same file."""
    out, study = "/dev/stdout", tmp_path / "mine.toml"
    study.write_text('datasets = ["wine"]\n[learners.Euclidean]')
    for words in (
        ["predict", saved, path, "-o", out],
        ["fit", path, "--target", "state", "--model", "plain", "-o", out],
        ["review", saved, path, "-o", out],
        ["datasets", "wine", "--export", out],
        ["study", "run", study, "--store", out],
    ):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (2, "")
        assert "redirect the output of the command instead" in result.stderr
        assert len(result.stderr.splitlines()) == 1


def test_a_directory_that_does_not_exist_is_not_written_as_a_file(run, path, saved, tmp_path):
    result = run("predict", saved, path, "-o", f"{tmp_path}/new/")
    assert result.exit_code == 2
    assert "ends like the name of a directory" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "unbuffered"), [("predict", ""), ("info", "1"), ("fit", ""), ("fit", "1")]
)
def test_no_space_for_standard_output(path, saved, tmp_path, command, unbuffered):
    words = {
        "predict": [saved, path],
        "info": [saved],
        "fit": [path, "--target", "state", "--model", "plain", "-o", tmp_path / "out"],
    }[command]
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        done = subprocess.run(
            [*COMMAND, command, *map(str, words)],
            stdout=full,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(b"Error: Standard output, or a temporary file,")
    assert b"Traceback" not in done.stderr


def test_long_messages_and_labels_are_shortened(run, tmp_path, capsys):
    with pytest.raises(typer.Exit), user_mistakes():
        raise ValueError(f"The version {'9' * 100_000} is unknown. Install another.")
    sentence = f"Error: The version {'9' * 200}… is unknown. Install another.\n"
    assert capsys.readouterr().err == sentence
    with pytest.raises(typer.Exit), user_mistakes():
        raise ValueError("many words " * 1_000)
    assert len(capsys.readouterr().err) < 2_100
    frame, table = make_table(), tmp_path / "long.csv"
    frame["state"] = frame["state"].map({"ill": "x" * 10_000, "well": "well"})
    frame.to_csv(table, index=False)
    words = ["--target", "state", "--id", "id", "--model", "plain", "-o", tmp_path / "out"]
    result = run("fit", table, *words)
    assert "Predicts: `xxx" in result.stdout
    assert len(result.stdout) < 3_000
