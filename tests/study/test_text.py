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


@pytest.fixture
def store(tmp_path):
    store = Store(tmp_path / "study.sqlite", create=True)
    with store.writing():
        store.record([STUDY, dataclasses.replace(STUDY, name="other", shares=(None,))])
        for number, task in enumerate(STUDY.tasks()):
            result = dataclasses.replace(DONE, average_precision=number / 7)
            store.save(task, Result() if number == 1 else result)
        store.save_failure(STUDY.tasks()[2], "Traceback")
    return store


def test_round_trip(store, tmp_path):
    path = tmp_path / "results.csv.gz"
    assert export_results(store, path) == 7  # the failure is left out
    again = import_results(path, tmp_path / "again.sqlite")
    for ours, theirs in zip(again.results(), store.results(), strict=True):
        pd.testing.assert_frame_equal(ours.rows, theirs.rows)
    assert {each.name for each in tmp_path.iterdir()} == {
        "again.sqlite",
        "results.csv.gz",
        "study.sqlite",
        "study.sqlite.lock",
    }
    assert again.studies() == store.studies() == [STUDY, again.studies()[1]]
    assert again.provenance() == store.provenance()
    assert [len(each.rows) for each in again.results()] == [6, 3]
    failed = STUDY.tasks()[2]
    assert again.missing(STUDY.tasks()) == [failed]
    assert again.failures(STUDY.tasks()) == {}


RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.csv.gz")), ids=lambda path: path.name)
def test_the_results_of_the_documentation_can_be_imported(path, tmp_path):
    assert import_results(path, tmp_path / "study.sqlite").statuses()


def test_equal_results_give_equal_bytes(store, tmp_path):
    first, second = tmp_path / "first.csv.gz", tmp_path / "second.csv.gz"
    export_results(store, first)
    export_results(import_results(first, tmp_path / "again.sqlite"), second)
    assert first.read_bytes() == second.read_bytes()


def test_other_programs_can_read_it(store, tmp_path):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    rows = pd.read_csv(path, skiprows=1)
    assert rows["status"].value_counts().to_dict() == {"done": 6, "absent": 1}
    with gzip.open(path, "rt") as stream:
        studies = json.loads(stream.readline())["studies"]
    assert [study["name"] for study in studies] == ["mine", "other"]


def test_a_store_is_not_overwritten(store, tmp_path):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    with pytest.raises(StoreError, match=r"study\.sqlite exists already"):
        import_results(path, store.path)


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
        (packed(HEAD.replace(b"[]", b"[{}]")), r"must have the fields datasets and"),
        (packed(HEAD + b"\xff"), r"can't decode byte"),
        (packed(HEAD)[:12] + b"\xff" * 20, r"cannot be read as exported results"),
        (packed(bytes((1 << 28) + 1)), r"would unpack to more than 256 MB"),
    ],
)
def test_files_that_are_no_results(content, message, tmp_path):
    path = tmp_path / "results.csv.gz"
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
        ("id", "", r"id must not be empty"),
        ("id", "wine/own@0.5/none/1/IML", r"dataset must be 'wine' according to the id"),
        ("dataset", "heart", r"dataset must be 'glass' according to the id; got 'heart'"),
        ("share", "0.2", r"share must be 0.1 according to the id; got 0.2"),
        ("share", "2", r"share must be between 0 and 1"),
        ("test_size", "nan", r"test_size must be between 0 and 1"),
        ("resampling", "ros", r"resampling must be one of"),
        ("split", "0", r"split must be at least 1"),
        ("split", "x", r"invalid literal"),
        ("split", "1_0", r"split must be an integer; got '1_0'"),
        ("learner", "", r"learner must not be empty"),
        ("status", "failed", r"status must be one of 'absent', 'done'"),
        ("status", "absent", r"tn of a task that is absent must be empty"),
        ("tn", "", r"tn of a task that is done must be a number of rows"),
        ("fp", "-1", r"fp of a task that is done must be a number of rows"),
        ("tp", "9" * 30, r"tp of a task that is done must be a number of rows"),
        ("average_precision", "1.5", r"average_precision must be between 0 and 1"),
        ("seconds", "inf", r"seconds must be between 0 and"),
        ("candidate", "[]", r"candidate must be a JSON object"),
        ("versions", "", r"versions must be a JSON object"),
        ("seeds", "{", r"line 3 is wrong: Expecting property name"),
        ("finished", "yesterday", r"line 3 is wrong: Invalid isoformat"),
        ("finished", "", r"finished must not be empty"),
    ],
)
def test_edited_rows(store, tmp_path, column, value, message):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    edit(path, column, value)
    with pytest.raises(StoreError, match=rf"cannot be read as exported results: .*{message}"):
        import_results(path, tmp_path / "new.sqlite")
    assert not (tmp_path / "new.sqlite").exists()


def test_rows_that_occur_twice_or_are_cut(store, tmp_path):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
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
        ({"datasets": "wine"}, r"datasets in .* must be a list of names"),
        ({"datasets": [1]}, r"datasets in .* must be a list of names"),
        ({"splits": 10**9}, r"has 8000000000 tasks; there can be at most"),
        ({"shares": ["a"]}, r"shares in .* must be between 0 and 1"),
        ({"learners": {}}, r"learners in .* must not be empty"),
        ({"learners": {"a": {"kind": 1}}}, r"kind of learner 'a' must be a string"),
        ({"name": "../x"}, r"name in .* without slashes"),
        ({"name": "other"}, r"two studies have the same name"),
        ({"other": 1}, r"must have the fields"),
        ({"name": "é" * 76}, r"name in .* of at most 150 bytes; it has 152"),
        ({"measures": ["f1", "f1"]}, r"measures in .* contains 'f1' twice"),
    ],
)
def test_edited_studies(store, tmp_path, study, message):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    edit(path, study=study)
    with pytest.raises(StoreError, match=message):
        import_results(path, tmp_path / "new.sqlite")


def test_fields_of_earlier_versions_are_ignored(store, tmp_path):
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    edit(path, study={"paper_table": "table2"})
    again = import_results(path, tmp_path / "new.sqlite")
    assert again.studies() == store.studies()


def test_classes_that_a_file_names_are_not_imported(store, tmp_path, monkeypatch):
    (tmp_path / "trap.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    path = tmp_path / "results.csv.gz"
    export_results(store, path)
    edit(path, study={"learners": {"a": {"kind": "trap:Trap"}}})
    again = import_results(path, tmp_path / "new.sqlite")
    assert again.studies()[0].learners[0].kind == "trap:Trap"
    assert [len(each.rows) for each in again.results()] == [0, 3]


def test_an_edited_store(store, tmp_path):
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
