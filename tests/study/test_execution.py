import contextlib
import dataclasses
import sqlite3

import pytest

from raremetric.study.execution import run_missing
from raremetric.study.store import Store
from raremetric.study.tasks import LearnerSpec, Study

LEARNERS = (
    LearnerSpec("Euclidean", "Euclidean"),
    LearnerSpec("IML", "IML", n_candidates=2),
    LearnerSpec("GMML", "GMML", {"random_state": 1}, n_candidates=3),
    LearnerSpec("SVM-rbf", "SVM-rbf", n_candidates=2),
)
STUDY = Study("quick", ("wine", "newthyroid"), LEARNERS, splits=2)
WHAT_COUNTS = (
    "SELECT id, status, tn, fp, fn, tp, average_precision, candidate, scores, seeds, versions, "
    "fingerprint FROM tasks ORDER BY id"
)


def contents(path):
    """All rows, less the times."""
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        return db.execute(WHAT_COUNTS).fetchall()


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "study.sqlite"
    run_missing(Store(path, create=True), [STUDY])
    return contents(path)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("dask", [None, "local"])
def test_processes_and_a_dask_cluster_give_the_same_rows(uninterrupted, tmp_path, dask):
    path = tmp_path / "study.sqlite"
    run_missing(Store(path, create=True), [STUDY], n_jobs=2, dask=dask)
    assert contents(path) == uninterrupted


def test_only_what_is_missing_is_done(tmp_path):
    store, tasks = Store(tmp_path / "study.sqlite", create=True), STUDY.tasks()
    seen = []

    def on_result(task, outcome):
        seen.append(task.id)

    run_missing(store, [dataclasses.replace(STUDY, splits=1)], on_result=on_result)
    assert len(seen) == len(tasks) / 2
    run_missing(store, [STUDY], on_result=on_result)
    assert sorted(seen) == sorted(task.id for task in tasks)
    assert store.studies() == [STUDY]
    assert store.seconds_left([]) == 0
    assert store.seconds_left(tasks[:2]) > 0


def test_a_failure_keeps_its_traceback_and_stops_nothing(tmp_path):
    store = Store(tmp_path / "study.sqlite", create=True)
    broken = LearnerSpec("broken", "GMML", {"t": 7.0}, {"random_state": [1, 2]})
    study = Study("quick", ["wine"], [broken, LEARNERS[0]], splits=1)
    run_missing(store, [study])
    ((task_id, traceback),) = store.failures(study.tasks()).items()
    assert task_id.startswith("wine/own/none/1/broken#")
    assert traceback.strip().splitlines()[-1].startswith("ValueError: t == 7.0")
    assert list(store.statuses().values()).count("done") == 1
    assert store.missing(study.tasks()) == []
    assert len(store.missing(study.tasks(), retry_failed=True)) == 1


def interrupted(task):
    """What a compiled function raises after Ctrl-C."""
    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt as error:
        raise SystemError("returned a result with an exception set") from error


def test_ctrl_c_in_a_compiled_function_is_not_a_failure_of_the_task(tmp_path):
    store = Store(tmp_path / "study.sqlite", create=True)
    with pytest.raises(KeyboardInterrupt):
        run_missing(store, [STUDY], run=interrupted)
    assert store.statuses() == {}
