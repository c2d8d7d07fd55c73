"""What SECURITY.md says about files from strangers."""

import re
import sys
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from raremetric.cli import app
from raremetric.study.store import Store
from raremetric.study.tasks import Result, Study
from raremetric.table import contents

TEXT = (Path(__file__).parent.parent / "SECURITY.md").read_text()
STUDY = """
name = "theirs"
datasets = ["wine"]
splits = 1
[learners.plain]
kind = "Euclidean"
[learners.other]
kind = "stranger:Learner"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current directory, with a module that leaves a trace when it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    (tmp_path / "stranger.py").write_text("open('trace', 'w').close()\n")
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_commands_that_read_a_store_do_not_import_its_learners(folder):
    learners = {"Euclidean": {}, "other": {"kind": "stranger:Learner"}}
    study = Study.from_dict(
        {"name": "theirs", "datasets": ["wine"], "learners": learners, "splits": 1}
    )
    with closing(Store(folder / "study.sqlite", create=True)) as store:
        store.record([study])
        for task in study.tasks():
            versions = {"numpy": "2"}
            result = Result(tn=50, fp=3, fn=4, tp=20, versions=versions, fingerprint="ab+cd")
            store.save(task, result)
    for words in (
        ["study", "status"],
        ["study", "report", "--out", "report"],
        ["study", "export", "study.sqlite", "results.csv.gz"],
        ["study", "import", "results.csv.gz", "again.sqlite"],
        ["study", "status", "--store", "again.sqlite"],
    ):
        result = run(*words)
        assert result.exit_code == 0, result.output
        assert not (folder / "trace").exists(), words


def test_reading_a_study_file_imports_its_learners(folder):
    (folder / "theirs.toml").write_text(STUDY)
    result = run("study", "run", "theirs.toml")
    assert "has no 'Learner'" in result.output
    assert (folder / "trace").exists()


def test_the_limits_of_model_files_are_those_of_the_code():
    assert contents.MAX_BYTES == 1 << 30
    assert f"{contents.MAX_RATIO} times" in TEXT


def test_the_versions_that_run_code_from_parquet_files_are_excluded():
    root = Path(__file__).parent.parent
    bound = int(re.search(r'"pyarrow>=(\d+)', (root / "pyproject.toml").read_text()).group(1))
    assert bound >= 15
    assert f"pyarrow ({bound})" in TEXT
