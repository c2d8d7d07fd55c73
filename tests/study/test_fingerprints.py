"""The fingerprint covers the code that runs in a task, and nothing that cannot change a result."""

import dataclasses
import sys
from pathlib import Path

import pytest

from raremetric.contenders import CONTENDERS
from raremetric.study.protocol import (
    ROOT,
    computing_files,
    fingerprint,
    hash_of_code,
    package_fingerprint,
    run_task,
)
from raremetric.study.tasks import LearnerSpec, Task

KNOWN = {name: LearnerSpec.from_dict(name, {}) for name in CONTENDERS}


def files_that_run(task):
    """The files of the package in which a function is called during a task."""
    seen = set()

    def look(frame, event, _):
        if event == "call":
            seen.add(frame.f_code.co_filename)

    sys.setprofile(look)
    try:
        run_task(task)
    finally:
        sys.setprofile(None)
    return {Path(name) for name in seen if name.startswith(str(ROOT))}


@pytest.mark.parametrize(("name", "resampling"), [("IML", "smote"), ("SVM-rbf", "none")])
def test_every_file_that_runs_counts(name, resampling):
    learner = dataclasses.replace(KNOWN[name], name="few candidates", n_candidates=1)
    ran = files_that_run(Task("hayes", None, resampling, 1, learner))
    assert ROOT / "contenders" / "base.py" in ran
    assert ran - {ROOT / "study" / "tasks.py"} <= set(computing_files(ROOT))


def test_what_shows_results_does_not_count():
    names = {path.relative_to(ROOT).as_posix() for path in computing_files(ROOT)}
    assert {"study/protocol.py", "rare/policy.py", "datasets/registry.csv"} <= names
    assert not any(name.startswith(("table/", "study/report/", "cli")) for name in names)


def test_moved_modules_have_the_same_fingerprint():
    first = b"from a.b import (\n    f,\n)\n\n\ndef g():\n    import c\n\n    return f() + c.one\n"
    moved = b"from d import f\n\n\ndef g():\n    import e.c as c\n\n    return f() + c.one\n"
    second = b"one = 1\n"
    assert hash_of_code([first, second]) == hash_of_code([second, moved])
    edited = moved.replace(b"f() + c.one", b"f() - c.one")
    assert hash_of_code([first, second]) != hash_of_code([second, edited])
    assert hash_of_code([first]) != hash_of_code([first, second])


def test_a_changed_file_changes_the_fingerprint(tmp_path):
    folders = tmp_path / "copied", tmp_path / "edited"
    for folder in folders:
        for path in computing_files(ROOT):
            copy = folder / path.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    with (tmp_path / "edited" / "rare" / "ensemble.py").open("a") as file:
        file.write("# changed")
    copied, edited = map(package_fingerprint, folders)
    assert copied == fingerprint(KNOWN["IML"]) != edited
