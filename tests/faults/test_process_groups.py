"""Ctrl-C in a terminal reaches all processes of a command."""

import os
import signal
import subprocess

import pytest

from raremetric.study.store import Store
from tests.cli.conftest import COMMAND
from tests.table.conftest import path  # noqa: F401

pytestmark = pytest.mark.fault

STUDY = """
datasets = ["wine", "newthyroid", "glass"]
splits = 3
[learners.Euclidean]
[learners.IML]
candidates = 2
"""


def start(*words, cwd):
    """Start a command in a new process group, as a shell does."""
    return subprocess.Popen(
        [*COMMAND, *map(str, words)],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for_line(process, text):
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"{text!r} was not printed")


@pytest.mark.parametrize(
    "jobs", [["--jobs", "1"], ["--jobs", "2"], ["--jobs", "2", "--dask", "local"]]
)
def test_ctrl_c_in_a_study(tmp_path, jobs):
    (tmp_path / "mine.toml").write_text(STUDY)
    words = ["study", "run", "mine.toml", "--store", "out.sqlite", *jobs]
    process = start(*words, cwd=tmp_path)
    wait_for_line(process, "1/18")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "Stopped; " in errors.splitlines()[-1]
    left = {each.name for each in tmp_path.iterdir()}
    assert left <= {"mine.toml", "out.sqlite", "out.sqlite.lock"}
    n_done = len(Store(tmp_path / "out.sqlite").statuses())
    assert 1 <= n_done < 18
    assert set(Store(tmp_path / "out.sqlite").statuses().values()) == {"done"}
    resumed = start(*words, cwd=tmp_path)
    _, errors = resumed.communicate(timeout=900)
    assert f"18 tasks, {18 - n_done} to do" in errors
    assert set(Store(tmp_path / "out.sqlite").statuses().values()) == {"done"}


def test_ctrl_c_in_a_comparison(tmp_path, path):  # noqa: F811
    options = "--target state --ignore id --jobs 2 --methods iml,plain,rare -o out.html"
    process = start("compare", path, *options.split(), cwd=tmp_path)
    wait_for_line(process, "1/15")
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert "Stopped" in errors.splitlines()[-1]
    assert {each.name for each in tmp_path.iterdir()} <= {"out.html"}
