from dataclasses import replace

import pytest

from raremetric.datasets import list_datasets
from raremetric.study.reading import (
    read_study,
    resampling_notes,
    restrict,
)
from raremetric.study.tasks import LearnerSpec, Study, Task

IML, ML1 = (LearnerSpec.from_dict(name, {}) for name in ("IML", "ML1"))


def test_no_resampling_for_learners_with_a_threshold():
    study = Study("table3-smote", ("wine",), (IML,), resampling=("smote",))
    with pytest.raises(ValueError, match=r"SVM-rbf chooses a thr.*table3-smote has smote\. Add"):
        restrict(study, learners=["IML", "SVM-rbf"])
    study = restrict(
        replace(study, resampling=("none", "smote")), learners=["SVM-rbf", "IML-score", "IML"]
    )
    assert resampling_notes(study) == [
        "SVM-rbf, IML-score choose a threshold instead of resampling, and run with resampling "
        "'none' only."
    ]
    assert resampling_notes(Study("mine", ("wine",), (IML,), resampling=("smote",))) == []


def test_ids_are_stable_and_tell_settings_apart():
    task = Task("wine", None, "none", 3, IML)
    assert task.id == "wine/own/none/3/IML"
    assert Task("wine", 0.05, "smote", 3, ML1).id == "wine/0.05/smote/3/ML1"
    mine = LearnerSpec("IML", "IML", {"dissimilar": "fixed"})
    other = LearnerSpec("IML", "IML", {"dissimilar": "fixed"}, n_candidates=5)
    labels = {spec.label for spec in (IML, mine, other)}
    assert len(labels) == 3
    assert mine.label == LearnerSpec("IML", "IML", {"dissimilar": "fixed"}).label


def test_a_class_keeps_its_ids_when_its_module_is_moved():
    for settings in ({}, {"power": 2.0}):
        first, moved = (
            LearnerSpec("Mine", f"{module}:Mine", settings) for module in ("a.module", "other")
        )
        assert first.label == moved.label
    assert LearnerSpec("Mine", "a:Mine").label == "Mine"
    assert LearnerSpec("Mine", "a:Mine", {"power": 2.0}).label != "Mine"
    assert LearnerSpec("Mine", "a:Other").label != "Mine"
    assert LearnerSpec("IML", "a:IML").label != "IML"  # a registered contender has this name
    same_settings = ({"tol": 0.1}, {"tol": [0.1]})
    assert LearnerSpec("IML", "a:IML", *same_settings).label != (
        LearnerSpec("IML", "IML", *same_settings).label
    )


def test_a_part_of_a_study():
    study = Study("table2", ("glass", "wine"), (IML,))
    part = restrict(study, ["wine"], ["IML", "ML2"], 2)
    assert [task.id for task in part.tasks()] == [
        "wine/own/none/1/IML",
        "wine/own/none/1/ML2",
        "wine/own/none/2/IML",
        "wine/own/none/2/ML2",
    ]
    with pytest.raises(ValueError, match=r"Unknown data set 'wien'.*Did you mean 'wine'"):
        restrict(study, ["wien"])
    with pytest.raises(ValueError, match=r"Unknown learner 'iml'.*Did you mean 'IML'"):
        restrict(study, learners=["iml"])
    assert restrict(study, ["wine", "wine"], ["IML", "ML2", "IML"], 2) == part  # each once
    assert restrict(study, "wine", ["IML", "ML2"], 2) == part  # a text is one name
    with pytest.raises(ValueError, match="learners must contain at least one name; got none"):
        restrict(study, learners=[])
    with pytest.raises(ValueError, match=r"splits == 0"):
        restrict(study, splits=0)
    assert restrict(study, splits=99).splits == 99
    with pytest.raises(ValueError, match=r"seeds, of at most 4294967295"):
        restrict(replace(study, first_split=2**32 - 5), splits=6)


TOML = """
datasets = ["wine", "ecoli4"]
splits = 2
resampling = ["none", "smote"]

[learners.IML]

[learners.balanced]
kind = "GMML"
candidates = 3
[learners.balanced.settings]
pairs = "neighbors"
set_weights = "balanced"
[learners.balanced.grid]
t = [0.0, 0.25, 0.5, 0.75, 1.0]
"""


@pytest.mark.parametrize("collection", ["paper", "keel"])
def test_a_collection_and_every_second_data_set_of_it(collection, tmp_path):
    path, names = tmp_path / "mine.toml", list_datasets(collection)
    path.write_text(f"datasets = '{collection}'\n[learners.IML]")
    assert read_study(path).datasets == tuple(names)
    second = f"{{collection = '{collection}', positions = 'even'}}"
    path.write_text(f"datasets = {second}\n[learners.IML]")
    assert read_study(path).datasets == tuple(names[1::2])


def test_a_users_own_study(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TOML)
    study = read_study(path)
    assert study.name == "mine"
    assert study.learners[0] == IML
    assert study.learners[1].kind == "GMML"
    assert len(study.tasks()) == 2 * 2 * 2 * 2
    path.write_text(
        "datasets = ['wine']\ntest_size = 0.5\nsplits = 1\n[learners.RareClassifier-fast]\n"
        "[learners.seconds]\nkind = 'RareClassifier'\nsettings = {budget = 2.0}\n"
    )
    first, second = read_study(path).tasks()
    assert first.id == "wine/own@0.5/none/1/RareClassifier-fast"
    assert second.learner.settings == {"budget": 2.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("datasets = [", r"mine.toml cannot be read as a study"),
        ("a = " + "[" * 10_000, r"cannot be read as a study"),
        ("datasets = ['wine']", r"no field learners in .*mine.toml"),
        ("datasets = ['wine']\nlearners = ['x']", r"learners in .*learners.IML\]; got \['x'\]"),
        ("datasets = ['wine']\nlearners = {}", r"learners in .* must not be empty"),
        ("datasets = ['wine']\nlearners = {IML = 1}", r"Learner 'IML' must be a table"),
    ],
)
def test_files_that_are_no_studies(text, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_study(path)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("rows = 3", r"no field rows in .*the fields are name, title"),
        ("paper_table = '2'", r"no field paper_table"),
        ("datasets = ['wien']", r"Unknown data set 'wien'.*Did you mean 'wine'"),
        ("datasets = 'uci'", r"collection must be one of 'keel', 'large', 'paper'"),
        ("datasets = {positions = 'odd'}", r"datasets in .* must be a list of names"),
        (
            "datasets = {collection = 'keel', positions = 'first'}",
            r"positions must be one of 'even",
        ),
        ("datasets = 1", r"datasets in .* must be a list of names.*got 1\."),
        ("datasets = []", r"datasets in .* must not be empty"),
        ("splits = 0", r"splits == 0"),
        ("splits = 'a'", r"splits in .* must be an integer"),
        (
            f"first_split = {10**20}",
            r"seeds, of at most 4294967295; with first_split = 10{20} and splits = 20, the last",
        ),
        ("test_size = 1", r"test_size in .* between 0 and 1, .*got 1\."),
        ("shares = 0.5", r"shares in .* a list .* got 0.5"),
        ("shares = []", r"shares in .* must not be empty"),
        ("shares = [2.0]", r"shares .* between 0 and 1"),
        ("resampling = 'rus'", r"resampling .* a list"),
        ("resampling = ['ros']", r"resampling in .* must be one"),
        ("measures = 'f1'", r"measures .* a list"),
        ("measures = ['auc']", r"measures in .* must be one of"),
        ("leader = 'GMML'", r"leader must be one of 'IML'"),
        ("name = ''", r"name in .* must not be empty"),
        ("name = 'a/b'", r"name in .* without slashes"),
        ('name = "a\\nb"', r"name in .* without slashes"),
        ("learners.IML.seed = 1", r"no field seed of learner 'IML'"),
        ("learners.Mine = {}", r"kind of learner 'Mine' must be one of"),
        ("learners.a.kind = 'no.module:A'", r"cannot be imported"),
        ("learners.a = {kind = 'IML', settings = {m = 1}}", r"'a' has the unknown settings m; IML"),
        ("learners.IML.candidates = 0", r"of learner 'IML' == 0"),
        ("learners.IML.candidates = 'a'", r"candidates of .* an integer"),
        ("learners.IML.grid = [1]", r"grid of learner 'IML' must be"),
        (
            "learners.IML.grid = {margin = 1.0}",
            r"margin in the grid of learner 'IML' must be a list",
        ),
        (
            "learners.a = {kind = 'GMML', settings = {t = 2024-01-01}}",
            r"'a' must consist of finite",
        ),
        ("learners.a = {kind = 'GMML', grid = {t = [nan]}}", r"'a' must consist of finite numbers"),
        ("resampling = ['smote']\nlearners.IML-score = {}", r"IML-score chooses a threshold"),
    ],
)
def test_fields_of_a_study(field, message, tmp_path):
    lines = [field]
    lines += ["datasets = ['wine']"] * ("datasets" not in field)
    lines += ["learners.IML = {}"] * ("learners.IML" not in field)
    test_files_that_are_no_studies("\n".join(lines), message, tmp_path)


def test_splits_of_a_study_are_extended_and_limited():
    first = Study("mine", ("wine",), (IML,), splits=5)
    later = Study("mine", ("wine",), (ML1,), splits=5, first_split=6)
    both = first.extended(later)
    assert (both.first_split, both.splits) == (1, 10)
    assert Study.from_dict(later.to_dict()) == later
    assert [task.split for task in later.tasks()] == [6, 7, 8, 9, 10]
    with pytest.raises(ValueError, match=r"'mine' has 999999999 tasks; there can be at most"):
        replace(first, splits=999_999_999).tasks()
