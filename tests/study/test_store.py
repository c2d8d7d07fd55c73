import dataclasses
import multiprocessing
import sqlite3
import sys
import threading
import time
from contextlib import closing

import pytest

from raremetric.study.store import Store, StoreError
from raremetric.study.tasks import MEASURED, REPORTED, LearnerSpec, Result, Study, Task

IML = LearnerSpec.from_dict("IML", {})
STUDY = Study("mine", ("wine",), (IML,), splits=4, title="Mine")
TASKS = STUDY.tasks()
DONE = Result(1, 2, 3, 4, {"margin": 1.0}, {"{}": 0.5}, 1.5, {"split": 1}, {"numpy": "2"}, "abc")


def finished(store):
    """The finished tasks, one row per task."""
    with closing(sqlite3.connect(store.path)) as db:
        db.row_factory = sqlite3.Row
        return db.execute("SELECT * FROM tasks WHERE status = 'done' ORDER BY id").fetchall()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "results" / "study.sqlite"


def test_round_trip_and_what_is_missing(path):
    store = Store(path, create=True)
    assert store.missing(TASKS) == TASKS
    store.save(TASKS[0], DONE)
    store.save(TASKS[1], Result())
    store.save(TASKS[2], "Traceback ...\nValueError: no")
    store.close()
    store = Store(path)
    assert store.missing(TASKS) == [TASKS[3]]
    assert store.missing(TASKS, retry_failed=True) == [TASKS[2], TASKS[3]]
    (row,) = finished(store)  # neither absent nor failed
    assert [row[name] for name in ("tn", "fp", "fn", "tp")] == [1, 2, 3, 4]
    assert row["candidate"] == '{"margin": 1.0}'
    assert store.select(["id", "fingerprint"]) == [(TASKS[0].id, "abc"), (TASKS[1].id, "")]
    assert store.failures(TASKS) == {TASKS[2].id: "Traceback ...\nValueError: no"}
    assert store.failures(TASKS[:2]) == {}  # not of other studies
    assert store.seconds_left(TASKS[2:]) == 2 * 1.5
    store.save(TASKS[2], DONE)
    assert store.failures(TASKS) == {}
    assert store.details() == {"store": path.name, "versions": "numpy 2"}


def test_a_store_can_be_collected_in_any_thread(path, monkeypatch):
    ignored = []
    monkeypatch.setattr(sys, "unraisablehook", ignored.append)
    stores = [Store(path, create=True)]
    thread = threading.Thread(target=stores.clear)
    thread.start()
    thread.join()
    assert not ignored


def test_results_are_the_finished_tasks_of_each_study(path):
    store = Store(path, create=True)
    other = dataclasses.replace(STUDY, name="other", datasets=("wine", "glass"), splits=1)
    store.record([STUDY, other])
    for task in (*TASKS, *other.tasks(), Task("heart", None, "none", 1, IML)):
        store.save(task, DONE)
    store.save(TASKS[3], "Traceback")
    first, second = store.results()
    assert (first.study, second.study) == (STUDY, other)
    assert first.rows["split"].tolist() == [1, 2, 3]
    assert sorted(second.rows["dataset"]) == ["glass", "wine"]
    assert list(first.rows) == list(REPORTED)
    assert len(finished(store)) == 5


def test_a_study_that_is_run_in_parts_is_recorded_as_one(path):
    store = Store(path, create=True)
    tuned = LearnerSpec("tuned", "IML", {"max_iter": 5}, {"margin": [1.0, 2.0]}, 1)
    again = dataclasses.replace(tuned, n_candidates=2)
    part = dataclasses.replace(STUDY, datasets=("glass",), learners=(tuned,), splits=2)
    for each in (STUDY, part, dataclasses.replace(STUDY, learners=(again,), title="Again")):
        store.record([each])
    (whole,) = store.studies()
    assert whole.datasets == ("wine", "glass")
    assert whole.learners == (IML, again)
    assert (whole.splits, whole.title) == (4, "Again")
    changed = dataclasses.replace(part, test_size=0.5)
    store.record([changed])
    assert store.studies() == [changed]


def changed_by(statement):
    """What SQLite makes of a store, or of nothing."""

    def change(whole):
        with closing(sqlite3.connect(":memory:")) as db:
            db.deserialize(whole)
            db.execute(statement)
            db.commit()
            return db.serialize()

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda whole: whole[: len(whole) // 2], r"damaged|not a store|cannot be used"),
        (lambda whole: whole[:50], r"damaged|not a store|cannot be used"),
        (lambda whole: b"id,dataset\n1,wine\n" * 100, r"damaged|not a store|cannot be used"),
        (changed_by("PRAGMA application_id = 0"), r"is not a store of raremetric"),
        (changed_by("PRAGMA user_version = 1"), r"version 1; this raremetric reads version 2"),
        (changed_by("PRAGMA user_version = 99"), r"version 99; this raremetric reads version 2"),
    ],
)
def test_files_that_are_no_stores_are_left_alone(path, change, message):
    store = Store(path, create=True)
    long = dataclasses.replace(DONE, scores=dict.fromkeys(map(str, range(2000)), 0.5))
    for task in TASKS:
        store.save(task, long)
    store.close()
    content = change(path.read_bytes())
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        Store(path, create=True).statuses()
    assert path.read_bytes() == content


def test_a_store_is_made_only_when_asked(path):
    with pytest.raises(StoreError, match=r"There is no store .*study\.sqlite"):
        Store(path)
    assert not path.exists()
    path.parent.mkdir()
    path.touch()  # what a killed process left
    with pytest.raises(StoreError, match=r"is not a store of raremetric"):
        Store(path)
    assert Store(path, create=True).statuses() == {}


def test_one_coordinator_at_a_time(path):
    store = Store(path, create=True)
    in_use = pytest.raises(StoreError, match="in use by another study run")
    with store.writing(), in_use, Store(path).writing():
        pass
    with store.writing():
        pass


def first_runs(folder, task, barrier):
    """Save a task to twenty stores, each of which another process creates at the same time."""
    for number in range(20):
        barrier.wait()
        store = Store(folder / str(number) / "study.sqlite", create=True)
        while True:
            try:
                with store.writing():
                    store.save(task, DONE)
                break
            except StoreError as error:
                if "in use by another study run" not in str(error):
                    raise
                time.sleep(0.01)


def test_two_first_runs_at_once_share_the_store(tmp_path):
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2, timeout=60)
    processes = [
        context.Process(target=first_runs, args=(tmp_path, task, barrier)) for task in TASKS[:2]
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    for path in tmp_path.iterdir():
        assert len(finished(Store(path / "study.sqlite"))) == 2
        assert {each.name for each in path.iterdir()} == {"study.sqlite", "study.sqlite.lock"}


def test_no_locks_on_this_system(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    store = Store(path, create=True)
    with pytest.raises(StoreError, match=r"only be run on a POSIX system"), store.writing():
        pass


def test_a_file_locked_by_another_program(path, monkeypatch):
    store = Store(path, create=True)
    store._db.execute("PRAGMA busy_timeout = 50")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match=r"cannot be used now \(database is locked\)"):
            store.save(TASKS[0], DONE)
    store.save(TASKS[0], DONE)
    assert store.missing(TASKS[:1]) == []


def test_a_store_of_an_earlier_version_is_read_and_completed(path):
    Store(path, create=True).save(TASKS[0], DONE)
    with closing(sqlite3.connect(path)) as db:
        for name in MEASURED:
            db.execute(f"ALTER TABLE tasks DROP COLUMN {name}")
    before = path.read_bytes()
    assert Store(path).select(["split", *MEASURED]) == [(1, None, None, None)]
    assert path.read_bytes() == before
    store = Store(path, create=True)
    times = {"fit_seconds": 1.0, "predict_microseconds": 2.0}
    store.save(TASKS[1], dataclasses.replace(DONE, log_loss=0.5, **times))
    assert store.select(["split", *MEASURED]) == [(1, None, None, None), (2, 0.5, 1.0, 2.0)]
