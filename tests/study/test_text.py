"""Results as text: what goes out comes back."""

import csv
import dataclasses
import gzip
import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pandas as pd
import pytest

from raremetric.study.store import Store, StoreError
from raremetric.study.tasks import LearnerSpec, Result, Study
from raremetric.study.text import export_results, import_results

STUDY = Study(
    "mine",
    ("wine", "glass"),
    (LearnerSpec.from_dict("IML", {}), LearnerSpec("a, b", "GMML", {"t": 0.1}, {"t": [0.0]}, 1)),
    splits=1,
    shares=(None, 0.1),
    test_size=0.5,
    measures=("f1", "average_precision"),
    title="Müller's",
)
DONE = Result(
    1, 2, 3, 4, {"margin": 1 / 3}, {"{}": 0.5}, 0.1 + 0.2, {"split": 1}, {"numpy": "2"}, "abc"
)


def result_of(task, **changes):
    return dataclasses.replace(DONE, average_precision=len(task.id) / 100, **changes)


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "study.sqlite", create=True)
    with store.writing():
        store.record([STUDY, dataclasses.replace(STUDY, name="other", shares=(None,))])
        for task in STUDY.tasks():
            store.save(task, Result() if task == STUDY.tasks()[1] else result_of(task))
        store.save(STUDY.tasks()[2], "Traceback")
    return store


@pytest.fixture
def path(store, tmp_path):
    """The exported results of the store."""
    export_results(store, tmp_path / "results.csv.gz")
    return tmp_path / "results.csv.gz"


def test_round_trip(store, tmp_path, path):
    assert import_results(path, tmp_path / "again.sqlite") == 7  # the failure is left out
    again = Store(tmp_path / "again.sqlite")
    for ours, theirs in zip(again.results(), store.results(), strict=True):
        pd.testing.assert_frame_equal(ours.rows, theirs.rows)
    known = {path.name, "again.sqlite", "study.sqlite", "study.sqlite.lock"}
    assert {each.name for each in tmp_path.iterdir()} == known
    assert again.studies() == store.studies() == [STUDY, again.studies()[1]]
    assert again.details() | {"store": store.path.name} == store.details()
    assert [len(each.rows) for each in again.results()] == [6, 3]
    assert again.missing(STUDY.tasks()) == [STUDY.tasks()[2]]
    assert again.failures(STUDY.tasks()) == {}
    assert export_results(again, tmp_path / "second.csv.gz") == 7
    assert (tmp_path / "second.csv.gz").read_bytes() == path.read_bytes()


RESULTS = Path(__file__).parents[2] / "docs" / "results"


# The tests of paper/ import paper.csv.gz.
PUBLISHED = sorted({*RESULTS.glob("*.csv.gz")} - {RESULTS / "paper.csv.gz"})


@pytest.mark.parametrize("path", PUBLISHED, ids=lambda path: path.name)
def test_the_results_of_the_documentation_can_be_imported(path, tmp_path):
    n_tasks = import_results(path, tmp_path / "study.sqlite")
    assert len(Store(tmp_path / "study.sqlite").statuses()) == n_tasks > 0


def test_other_programs_can_read_it(path):
    rows = pd.read_csv(path, skiprows=1)
    assert rows["status"].value_counts().to_dict() == {"done": 6, "absent": 1}
    with gzip.open(path, "rt") as stream:
        studies = json.loads(stream.readline())["studies"]
    assert [study["name"] for study in studies] == ["mine", "other"]


def split_of(tmp_path, number, **fields):
    """The results of one split of the study, as another computer may have exported them."""
    part = dataclasses.replace(STUDY, first_split=number, **fields)
    other = Store(tmp_path / f"split{number}.sqlite", create=True)
    other.record([part])
    for task in part.tasks():
        other.save(task, result_of(task))
    export_results(other, tmp_path / f"split{number}.csv.gz")
    return tmp_path / f"split{number}.csv.gz"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"test_size": 0.25}, "The study 'mine' .*test_size"),
        ({"learners": (LearnerSpec("a, b", "GMML"),)}, "The study 'mine' .*learner 'a, b'"),
        ({"tp": 5}, r"tp is 5 .* and 4 in"),
        ({"candidate": {"margin": 1.0}}, r"candidate is .*1\.0"),
        ({"seconds": 1.0}, None),  # may differ
    ],
)
def test_a_store_and_a_file_that_contradict_each_other(store, path, tmp_path, changes, message):
    """Nothing is imported, and the store is not changed."""
    if hasattr(STUDY, next(iter(changes))):
        path = split_of(tmp_path, 2, **changes)
    else:
        task = STUDY.tasks()[-1]
        store.save(task, result_of(task, **changes))
    content = store.path.read_bytes()
    if message is None:
        assert import_results(path, store.path) == 0
    else:
        with pytest.raises(StoreError, match=rf"{message}.* Nothing was imported"):
            import_results(path, store.path)
    assert store.path.read_bytes() == content


def test_tasks_that_a_store_lacks_are_added(store, tmp_path):
    path, n_tasks = split_of(tmp_path, 2, title="Later"), len(STUDY.tasks())
    assert import_results(path, store.path) == n_tasks
    whole = store.studies()[0]
    assert (whole.first_split, whole.splits, whole.title) == (1, 2, "Later")
    assert len(store.statuses()) == 2 * n_tasks
    assert len(store.failures(whole.tasks())) == 1
    assert import_results(path, store.path) == 0


def test_results_of_a_store_are_kept_and_failures_replaced(store, tmp_path):
    path, tasks = split_of(tmp_path, 1), STUDY.tasks()
    with pytest.raises(StoreError, match=rf"{tasks[1].id} .*status is 'absent' .* and 'done' in"):
        import_results(path, store.path)
    for number, task in enumerate(tasks):
        if number != 2:
            store.save(task, result_of(task, seconds=float(number)))
    assert import_results(path, store.path) == 1  # task 2 had failed
    assert set(store.statuses().values()) == {"done"}
    times = dict(store.select(["id", "seconds"]))
    assert (times[tasks[2].id], times[tasks[3].id]) == (DONE.seconds, 3.0)


HEAD = b'{"format": "raremetric results, version 1", "studies": []}\n'


def packed(content):
    """The same bytes at any time: they are part of the names of the tests."""
    return gzip.compress(content, mtime=0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,dataset\n", r"cannot be read as exported results"),
        (packed(b"id,dataset\n1,wine\n"), r"cannot be read as exported results"),
        (packed(b'{"format": "other"}\n'), r"its format is 'other'"),
        (packed(HEAD + b"id,dataset\n1,wine\n"), r"cannot be read as exported results"),
        (packed(HEAD * 1000)[:-20], r"cannot be read as exported results"),
        (packed(b"[]\n"), r"its format is \[\]"),
        (packed(b"[" * 100_000), r"cannot be read as exported results"),
        (packed(HEAD.replace(b"[]", b"1")), r"no list of studies"),
        (packed(HEAD.replace(b"[]", b"[1]")), r"is not a table of fields; got 1"),
        (packed(HEAD.replace(b"[]", b"[{}]")), r"no field datasets and learners and name in"),
        (packed(HEAD + b"\xff"), r"can't decode byte"),
        (packed(HEAD)[:12] + b"\xff" * 20, r"cannot be read as exported results"),
        ((1 << 28) + 1, r"would unpack to more than 256 MB"),
    ],
)
def test_files_that_are_no_results(content, message, tmp_path):
    path = tmp_path / "results.csv.gz"
    if isinstance(content, int):  # that many bytes, which are only made here
        content = gzip.compress(bytes(content), compresslevel=1)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        import_results(path, tmp_path / "new.sqlite")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileNotFoundError, match="There is no file"):
        import_results(tmp_path / "none.csv.gz", tmp_path / "new.sqlite")


def edit(path, column=None, value=None, *, study=None):
    """Change a field of the first row of an exported file, or fields of its first study."""
    head, columns, *lines = gzip.decompress(path.read_bytes()).decode().split("\n")
    if study is not None:
        values = json.loads(head)
        values["studies"][0] |= study
        head = json.dumps(values)
    if column is not None:
        row = dict(zip(columns.split(","), next(csv.reader(lines[:1])), strict=True))
        text = io.StringIO()
        csv.writer(text, lineterminator="").writerow((row | {column: value}).values())
        lines[0] = text.getvalue()
    path.write_bytes(gzip.compress("\n".join([head, columns, *lines]).encode()))


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("id", "", r"id must be a name; got ''"),
        ("id", "wine/own@0.5/none/1/IML", r"dataset must be 'wine' according to the id"),
        ("dataset", "heart", r"dataset must be 'glass' according to the id; got 'heart'"),
        ("share", "0.2", r"share must be 0.1 according to the id; got 0.2"),
        ("test_size", "nan", r"test_size must be empty, or between 0 and 1"),
        ("resampling", "ros", r"resampling must be one of"),
        ("split", "0", r"split must be at least 1"),
        ("split", "x", r"invalid literal"),
        ("split", "1_0", r"split must be at least 1; got '1_0'"),
        ("status", "failed", r"status must be done or absent; got 'failed'"),
        ("status", "absent", r"tn of a task that is absent must be empty"),
        ("tn", "", r"tn of a task that is done must be a number of rows"),
        ("fp", "-1", r"fp must be empty, or a number of rows; got '-1'"),
        ("average_precision", "1.5", r"average_precision must be empty, or between 0 and 1"),
        ("seconds", "inf", r"seconds must be a duration; got 'inf'"),
        ("candidate", "[]", r"candidate must be a JSON object"),
        ("seeds", "{", r"line 3 is wrong: Expecting property name"),
        ("finished", "yesterday", r"line 3 is wrong: Invalid isoformat"),
    ],
)
def test_edited_rows(tmp_path, path, column, value, message):
    edit(path, column, value)
    with pytest.raises(StoreError, match=rf"cannot be read as exported results: .*{message}"):
        import_results(path, tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()


def test_rows_that_occur_twice_or_are_cut(store, tmp_path, path):
    text = gzip.decompress(path.read_bytes()).decode()
    for content, message in (
        (text + text.splitlines()[2] + "\n", r"line 10 is wrong: the task .* has two rows"),
        (text + "a,b\n", r"line 10 is wrong: zip"),
        (text.replace("dataset,", "dataset,dataset,", 1), r"its columns are id, dataset, dataset"),
    ):
        path.write_bytes(gzip.compress(content.encode()))
        with pytest.raises(StoreError, match=message):
            import_results(path, tmp_path / "new.sqlite")


@pytest.mark.parametrize(
    ("study", "message"),
    [
        ({"datasets": "wine"}, r"collection must be one of"),
        ({"splits": 10**9}, r"has 8000000000 tasks; there can be at most"),
        ({"learners": {"a": {"kind": 1}}}, r"kind of learner 'a' must be a string"),
        ({"name": "../x"}, r"name in .* without slashes"),
        ({"name": "other"}, r"two studies have the same name"),
        ({"name": "é" * 76}, r"name in .* of at most 150 bytes; it has 152"),
        ({"measures": ["f1", "f1"]}, r"measures in .* contains 'f1' twice"),
    ],
)
def test_edited_studies(tmp_path, path, study, message):
    edit(path, study=study)
    with pytest.raises(StoreError, match=message):
        import_results(path, tmp_path / "new.sqlite")


def test_an_edited_store(store, tmp_path, path):
    for definition, message in (
        ("{", "Expecting property"),
        ("[1]", "not a table of fields"),
        ("[" * 100_000, "contains a study that cannot be read"),
        (json.dumps(STUDY.to_dict() | {"splits": "a"}), "splits in .* must be an integer"),
    ):
        with closing(sqlite3.connect(store.path)) as db, db:
            db.execute("UPDATE studies SET definition = ?", (definition,))
        with pytest.raises(StoreError, match=message):
            Store(store.path).results()
    with closing(sqlite3.connect(store.path)) as db, db:
        db.execute("UPDATE tasks SET versions = '['")
    assert Store(store.path).details()["versions"] == "unknown"


def test_measures_that_earlier_versions_lack(store, tmp_path, path):
    with gzip.open(path, "rt") as stream:
        header = stream.readlines()[1]
    assert "log_loss" not in header  # as in an exported file of an earlier version
    task = STUDY.tasks()[0]
    store.save(task, result_of(task, log_loss=0.25, fit_seconds=3.0))
    export_results(store, path)
    import_results(path, tmp_path / "again.sqlite")
    found = Store(tmp_path / "again.sqlite").select(["id", "log_loss", "fit_seconds"])
    assert (task.id, 0.25, 3.0) in found
    assert sum(loss is None for _, loss, _ in found) == len(found) - 1
