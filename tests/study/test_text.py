"""Results as text: what goes out comes back."""

import dataclasses
import gzip
import json

import pandas as pd
import pytest

from raremetric.study.store import Store, StoreError
from raremetric.study.tasks import LearnerSpec, Result, Study
from raremetric.study.text import COLUMNS, export_results, import_results

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


WRONG_STATUS = ",".join(COLUMNS) + "\n" + ",".join("1" for _ in COLUMNS) + "\n"
HEAD = b'{"format": "raremetric results, version 1", "studies": []}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"id,dataset\n", r"cannot be read as exported results"),
        (gzip.compress(b"id,dataset\n1,wine\n"), r"cannot be read as exported results"),
        (gzip.compress(b'{"format": "other"}\n'), r"its format is 'other'"),
        (gzip.compress(HEAD + b"id,dataset\n1,wine\n"), r"cannot be read as exported results"),
        (gzip.compress(HEAD * 1000)[:-20], r"cannot be read as exported results"),
        (gzip.compress(HEAD + WRONG_STATUS.encode()), r"CHECK constraint failed"),
    ],
    ids=["not compressed", "no head", "another format", "missing columns", "cut short", "status"],
)
def test_files_that_are_no_results(content, message, tmp_path):
    path = tmp_path / "results.csv.gz"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=message):
        import_results(path, tmp_path / "new.sqlite")
    assert list(tmp_path.iterdir()) == [path]
