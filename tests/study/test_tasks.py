import pytest

from raremetric.study.tasks import (
    PAPER_LEARNERS,
    LearnerSpec,
    Task,
    named_study,
    read_study,
    restrict,
)


@pytest.mark.parametrize(
    ("name", "n_tasks"),
    [
        ("table2", 22 * 5 * 20),
        ("table3-smote", 22 * 5 * 20),
        ("imbalance", 22 * 10 * 5 * 20),
        ("ablation", 22 * 10 * 3 * 20),
    ],
)
def test_the_papers_studies_are_enumerated(name, n_tasks):
    (study,) = named_study(name)
    ids = [task.id for task in study.tasks()]
    assert len(ids) == len(set(ids)) == n_tasks


def test_all_is_all():
    assert [study.name for study in named_study("all")] == [
        "table2",
        "table3-smote",
        "table3-rus",
        "imbalance",
        "ablation",
    ]
    with pytest.raises(ValueError, match=r"study must be one of 'ablation'.*got 'table4'"):
        named_study("table4")


def test_ids_are_stable_and_tell_settings_apart():
    task = Task("wine", None, "none", 3, PAPER_LEARNERS["IML"])
    assert task.id == "wine/own/none/3/IML"
    assert Task("wine", 0.05, "smote", 3, PAPER_LEARNERS["ML1"]).id == "wine/0.05/smote/3/ML1"
    mine = LearnerSpec("IML", "IML", {"dissimilar": "fixed"})
    other = LearnerSpec("IML", "IML", {"dissimilar": "fixed"}, n_candidates=5)
    labels = {spec.label for spec in (PAPER_LEARNERS["IML"], mine, other)}
    assert len(labels) == 3
    assert mine.label == LearnerSpec("IML", "IML", {"dissimilar": "fixed"}).label


def test_a_part_of_a_study():
    (study,) = named_study("table2")
    part = restrict(study, ["wine"], ["IML", "ML2"], 2)
    assert [task.id for task in part.tasks()] == [
        "wine/own/none/1/IML",
        "wine/own/none/1/ML2",
        "wine/own/none/2/IML",
        "wine/own/none/2/ML2",
    ]
    with pytest.raises(ValueError, match=r"Unknown data set 'wien'.*Did you mean 'wine'"):
        restrict(study, ["wien"])
    with pytest.raises(ValueError, match=r"learner must be one of .*got 'iml'"):
        restrict(study, learners=["iml"])
    with pytest.raises(ValueError, match=r"splits == 0"):
        restrict(study, splits=0)


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


def test_a_users_own_study(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(TOML)
    study = read_study(path)
    assert study.name == "mine"
    assert study.learners[0] == PAPER_LEARNERS["IML"]
    assert study.learners[1].kind == "GMML"
    assert len(study.tasks()) == 2 * 2 * 2 * 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("datasets = [", r"mine.toml is no study that can be read"),
        ("datasets = ['wine']", r"must have the fields datasets and learners"),
        ("datasets = ['wine']\nrows = 3\n[learners.IML]", r"it has datasets, learners, rows"),
        ("datasets = ['wine']\n[learners.Mine]", r"kind of learner 'Mine' must be one of"),
        ("datasets = ['wine']\n[learners.IML]\nseed = 1", r"unknown fields seed"),
        ("datasets = ['wine']\nresampling = ['ros']\n[learners.IML]", r"resampling must be one"),
    ],
)
def test_a_study_that_is_not_one(text, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_study(path)
