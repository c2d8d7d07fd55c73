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


def test_the_fingerprint_is_of_contents_and_not_of_names(tmp_path):
    for path in computing_files(ROOT):
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    moved = (tmp_path / "rare" / "ensemble.py").rename(tmp_path / "rare" / "moved.py")
    assert package_fingerprint.__wrapped__(tmp_path) == fingerprint(KNOWN["IML"])
    with moved.open("a") as file:
        file.write("# changed")
    assert package_fingerprint.__wrapped__(tmp_path) != fingerprint(KNOWN["IML"])
