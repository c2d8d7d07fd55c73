import dataclasses
import sqlite3
import subprocess
import sys

import pytest

from raremetric.study.run_task import Result
from raremetric.study.store import Store, StoreError
from raremetric.study.tasks import PAPER_LEARNERS, Task

TASKS = [Task("wine", None, "none", split, PAPER_LEARNERS["IML"]) for split in (1, 2, 3, 4)]
DONE = Result(1, 2, 3, 4, {"margin": 1.0}, {"{}": 0.5}, 1.5, {"split": 1}, {"numpy": "2"}, "abc")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "study.sqlite"


def test_round_trip_and_what_is_missing(path):
    store = Store(path, create=True)
    assert store.missing(TASKS) == TASKS
    store.save(TASKS[0], DONE)
    store.save(TASKS[1], Result())
    store.save_failure(TASKS[2], "Traceback ...\nValueError: no")
    store.close()
    store = Store(path)
    assert store.missing(TASKS) == [TASKS[3]]
    assert store.missing(TASKS, retry_failed=True) == [TASKS[2], TASKS[3]]
    rows = store.rows()
    assert len(rows) == 1  # neither absent nor failed
    assert rows.iloc[0][["tn", "fp", "fn", "tp"]].tolist() == [1, 2, 3, 4]
    assert rows.iloc[0].candidate == '{"margin": 1.0}'
    assert store.failures() == [(TASKS[2].id, "Traceback ...\nValueError: no")]
    assert store.mean_seconds() == {("wine", "IML"): 1.5}
    store.save(TASKS[2], DONE)
    assert store.failures() == []
    assert store.provenance()[0][0::2] == ("abc", 2)


def columns(path):
    with sqlite3.connect(path) as db:
        return [name for _, name, *_ in db.execute("PRAGMA table_info(tasks)")]


def test_a_store_from_before_average_precision(path):
    store = Store(path, create=True)
    store.save(TASKS[0], DONE)
    store.close()
    with sqlite3.connect(path) as db:
        for name in ("average_precision", "test_size"):
            db.execute(f"ALTER TABLE tasks DROP COLUMN {name}")
    before = path.read_bytes()
    store = Store(path)
    assert store.rows()["average_precision"].isna().all()
    assert path.read_bytes() == before  # reading leaves it as it is
    half = Task("wine", None, "none", 1, PAPER_LEARNERS["IML"], 0.5)
    with store.writing():
        store.save(half, dataclasses.replace(DONE, average_precision=0.75))
    assert columns(path)[-2:] == ["average_precision", "test_size"]
    rows = store.rows().set_index("test_size")
    assert rows.loc[0.5, "average_precision"] == 0.75
    assert rows["average_precision"].isna().tolist().count(True) == 1
    assert store.missing([*TASKS, half]) == TASKS[1:]


def test_no_store_without_being_asked(path):
    with pytest.raises(StoreError, match=r"There is no store .*study\.sqlite"):
        Store(path)
    assert not path.exists()


def test_damaged_files_are_left_alone(path):
    store = Store(path, create=True)
    for split in range(1, 400):
        store.save(Task("wine", None, "none", split, PAPER_LEARNERS["IML"]), DONE)
    store.close()
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], whole[:50], b"id,dataset\n1,wine\n" * 100):
        path.write_bytes(content)
        with pytest.raises(StoreError, match=r"damaged|not a store|cannot be used"):
            Store(path, create=True).statuses()
        assert path.read_bytes() == content


def test_a_database_of_somebody_else(path):
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE tasks (id)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is not a store of raremetric"):
        Store(path, create=True)
    assert path.read_bytes() == before


def test_a_store_of_another_version(path):
    Store(path, create=True).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreError, match=r"version 99; this raremetric reads version 1"):
        Store(path)


def test_one_coordinator_at_a_time(path):
    store = Store(path, create=True)
    with store.writing():
        code = (
            "import sys; from pathlib import Path; from raremetric.study.store import Store\n"
            "with Store(Path(sys.argv[1])).writing(): pass"
        )
        other = subprocess.run(
            [sys.executable, "-c", code, path], capture_output=True, text=True, check=False
        )
        assert "in use by another study run" in other.stderr
    with store.writing():
        pass


def test_a_file_locked_by_another_program(path, monkeypatch):
    store = Store(path, create=True)
    store._db.execute("PRAGMA busy_timeout = 50")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(StoreError, match=r"cannot be used now \(database is locked\)"):
        store.save(TASKS[0], DONE)
    other.execute("ROLLBACK")
    store.save(TASKS[0], DONE)
    assert store.missing(TASKS[:1]) == []
