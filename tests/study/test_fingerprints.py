"""The fingerprint covers the code that runs in a task, and nothing that cannot change a result."""

import dataclasses
import sys
from pathlib import Path

import pytest

import raremetric
from raremetric.contenders import CONTENDERS
from raremetric.study.execution import computing_files, fingerprint, hash_of_code, run_task
from raremetric.study.tasks import LearnerSpec, Task

ROOT = Path(raremetric.__file__).parent
KNOWN = {name: LearnerSpec.from_dict(name, {}) for name in CONTENDERS}
# They choose where to run, import, or check; they cannot change a number.
NEUTRAL = {
    *("study/tasks.py", "extras.py", "partitions.py"),
    *("voting/readings.py", "features/landmarks.py"),
}


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
    return {Path(f).relative_to(ROOT).as_posix() for f in seen if f.startswith(str(ROOT))}


@pytest.mark.parametrize("resampling", ["none", "smote"])
@pytest.mark.parametrize("name", ["Euclidean", "LMNN", "ITML", "GMML", "IML"])
def test_every_file_that_runs_counts(name, resampling):
    learner = dataclasses.replace(KNOWN[name], name="few candidates", n_candidates=1)
    ran = files_that_run(Task("hayes", None, resampling, 1, learner))
    assert "contenders/neighbor_vote.py" in ran
    assert ran - NEUTRAL <= set(computing_files(KNOWN[name].contender()))


def test_scores_depend_on_more_code_than_votes():
    vote, score = (set(computing_files(CONTENDERS[name])) for name in ("IML", "SVM-laplacian"))
    assert "rare/ensemble.py" in score - vote
    assert not any(name.startswith(("table/", "report/", "cli/")) for name in vote | score)
    assert fingerprint(KNOWN["IML"]) == fingerprint(KNOWN["LMNN"]) != fingerprint(KNOWN["SVM-rbf"])


def test_moved_modules_have_the_same_fingerprint():
    first = b"from a.b import (\n    f,\n)\n\n\ndef g():\n    import c\n\n    return f() + c.one\n"
    moved = b"from d import f\n\n\ndef g():\n    import e.c as c\n\n    return f() + c.one\n"
    second = b"one = 1\n"
    assert hash_of_code([first, second]) == hash_of_code([second, moved])
    edited = moved.replace(b"f() + c.one", b"f() - c.one")
    assert hash_of_code([first, second]) != hash_of_code([second, edited])
    assert hash_of_code([first]) != hash_of_code([first, second])


def test_a_changed_file_changes_the_fingerprint_of_what_it_computes(tmp_path, monkeypatch):
    from raremetric.study import execution

    before = {name: fingerprint(KNOWN[name]) for name in ("IML", "SVM-rbf")}
    for name in computing_files(CONTENDERS["IML"]) + computing_files(CONTENDERS["SVM-rbf"]):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    monkeypatch.setattr(raremetric, "__file__", str(tmp_path / "__init__.py"))
    execution._hash_of_files.cache_clear()
    assert {name: fingerprint(KNOWN[name]) for name in before} == before
    with (tmp_path / "rare" / "ensemble.py").open("a") as file:
        file.write("# changed")
    execution._hash_of_files.cache_clear()
    after = {name: fingerprint(KNOWN[name]) for name in before}
    assert after["IML"] == before["IML"]
    assert after["SVM-rbf"] != before["SVM-rbf"]
    execution._hash_of_files.cache_clear()
