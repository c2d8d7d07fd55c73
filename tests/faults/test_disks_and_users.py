"""A full disk, a directory that must not be written to, another user, and killed workers."""

import os
import shutil
import signal
import sqlite3
import tempfile
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from raremetric.study.execution import run_missing
from raremetric.study.protocol import run_task
from raremetric.study.store import Store
from raremetric.study.tasks import LearnerSpec, Study
from raremetric.study.text import export_results
from tests.cli.conftest import COMMAND, run, saved  # noqa: F401
from tests.faults.forks import Forks
from tests.faults.signals import prepare
from tests.table.conftest import path  # noqa: F401

pytestmark = pytest.mark.long
STUDY = Study("mine", ("wine",), (LearnerSpec.from_dict("Euclidean", {}),), splits=2)
NOBODY = 65534
TIMES = ("seconds", "fit_seconds", "predict_microseconds", "finished")


@pytest.fixture(scope="module")
def forks():
    with Forks() as forks:
        yield forks


@pytest.fixture
def finished(tmp_path):
    """A store with finished tasks."""
    store = Store(tmp_path / "study.sqlite", create=True)
    run_missing(store, [STUDY])
    return store


# A full disk


@pytest.mark.parametrize(
    "words",
    [
        "fit {path} --target state --id id --model plain -o out",
        "predict {saved} {path} -o out",
        "predict {saved} - -o out",
        "review {saved} {path} --top 3 -o out",
        "compare {path} --target state --ignore id --folds 2 --methods plain -o out",
        "datasets wine --export out",
        "study import {results} out",
        "study report --store {store} --out folder",
        "study run {study} --store out",
    ],
)
def test_a_full_disk(tmp_path, path, saved, words, forks):  # noqa: F811
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "tmp").mkdir()
    shutil.copy(path, tmp_path / "table.csv")
    names = {"path": path, "saved": saved, "study": tmp_path / "mine.toml"}
    names["study"].write_text('datasets = ["wine"]\nsplits = 1\n[learners.Euclidean]')
    if "{store}" in words or "{results}" in words:
        store = Store(tmp_path / "study.sqlite", create=True)
        long = LearnerSpec("long", "GMML", {"random_state": 1}, {"t": [0.0] * 3000})
        with store.writing():
            store.record([STUDY, Study("long", ("wine",), (long,), splits=1)])
        run_missing(store, [STUDY])
        export_results(store, tmp_path / "results.csv.gz")
        names |= {"store": store.path, "results": tmp_path / "results.csv.gz"}
    if " out" in words and "study" not in words:
        (work / words.split()[-1]).write_text("old")
    words = words.format(**names)
    code, errors = forks.run(words, tmp_path, work=work, n_bytes=4096)
    assert code == 2, errors
    last = errors.splitlines()[-1]
    assert last.startswith("Error: "), errors
    assert "File too large" in last or "full" in last or "disk I/O error" in last
    assert "Traceback" not in errors
    assert "study" in words or "out" in last, "the file is not named"
    left = {each.name: each for each in work.iterdir()}
    if "study run" in words or "study import" in words:  # the store can be used once there is space
        assert left.keys() <= {"out", "out-journal", "out.lock"}
        code, errors = forks.run(words, tmp_path, work=work)
        assert code == 0, errors
    elif "study report" in words:
        assert list((work / "folder").iterdir()) == []
    elif "study" in words:
        assert left == {}
    else:
        (old,) = left.values()
        assert old.read_text() == "old"


# Read-only files, and an unprivileged user


REFUSED = [
    "fit {0}/table.csv --target state --id id --model plain -o {0}/out",
    "predict {0}/model.skops {0}/table.csv -o {0}/out",
    "predict {0}/model.skops {0}/table.csv -o {0}/old",
    "datasets wine --export {0}/out",
    "study run {0}/mine.toml --store {0}/study.sqlite",
    "study report --store {0}/study.sqlite --out {0}/report",
    "study import results.csv.gz {0}/out",
    "compare {0}/secret --target state -o out.html",
]
ALLOWED = [
    "fit {0}/table.csv --target state --id id --model plain -o out.skops",
    "predict out.skops {0}/table.csv -o out.csv",
    "info {0}/model.skops --json",
    "study status --store {0}/study.sqlite --json",
    "study report --store {0}/study.sqlite --out report",
    "study export {0}/study.sqlite results.csv.gz",
    "study import results.csv.gz new.sqlite",
]


def test_another_user_reads_but_does_not_write(forks):
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory() as name:
        folder, locked = Path(name), Path(name, "locked")
        prepare(locked)
        (folder / "open").mkdir()
        shutil.copy(locked / "table.csv", folder / "open")
        for each in (folder, folder / "open"):
            each.chmod(0o755)
        os.chown(folder / "open", NOBODY, NOBODY)
        (locked / "old").write_text("old")
        (locked / "secret").write_text("a,state\n1,b\n")
        (locked / "secret").chmod(0o600)
        before = {each.name: each.read_bytes() for each in locked.iterdir() if each.is_file()}
        # The modules are loaded: they may be in a directory that the other user cannot read.
        for words in ALLOWED:
            code, errors = forks.run(words.format(locked), folder / "open", user=NOBODY)
            assert code == 0, (words, errors)
        for words in REFUSED:
            code, errors = forks.run(words.format(locked), folder / "open", user=NOBODY)
            assert code == 2, (words, errors)
            assert "ermission" in errors or "readonly" in errors, (words, errors)
            assert len(errors.splitlines()) == 1, errors
        assert before == {
            each.name: each.read_bytes() for each in locked.iterdir() if each.is_file()
        }
        made = ("out.skops", "out.csv", "report", "results.csv.gz", "new.sqlite")
        assert {(folder / "open" / each).stat().st_uid for each in made} == {NOBODY}


# Workers


def rows_without_times(store):
    with sqlite3.connect(store.path) as db:
        columns = [name for _, name, *_ in db.execute("PRAGMA table_info(tasks)")]
        kept = [name for name in columns if name not in TIMES]
        return db.execute(f"SELECT {', '.join(kept)} FROM tasks ORDER BY id").fetchall()


def die_once(marker, task):
    """Kill the worker that runs the first task, once."""
    with suppress(FileExistsError):
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
        os.kill(os.getpid(), signal.SIGKILL)
    return run_task(task)


@pytest.mark.fault
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("dask", [None, "local"])
def test_a_worker_is_killed(tmp_path, finished, dask):
    store = Store(tmp_path / "other.sqlite", create=True)
    run_missing(store, [STUDY], n_jobs=2, dask=dask, run=partial(die_once, tmp_path / "marker"))
    assert (tmp_path / "marker").exists()
    assert rows_without_times(store) == rows_without_times(finished)
