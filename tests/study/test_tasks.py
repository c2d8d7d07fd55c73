import pytest

from raremetric.datasets import list_datasets
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
        ("beyond", 22 * 11 * 20),
        ("rare-regime-odd", 50 * 10 * 5),
        ("rare-regime-even", 50 * 10 * 5),
    ],
)
def test_the_known_studies_are_enumerated(name, n_tasks):
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


def test_the_rare_regime_is_keels_list_in_two_parts():
    odd, even = named_study("rare-regime")
    names = list_datasets("keel")
    assert odd.datasets[:2] == [names[0], names[2]]
    assert even.datasets[:2] == [names[1], names[3]]
    assert sorted([*odd.datasets, *even.datasets]) == names
    assert odd.tasks()[0].id == f"{names[0]}/own@0.5/none/1/Euclidean"
    assert odd.tasks()[0].test_size == 0.5


def test_beyond_shares_the_papers_tasks():
    ids = {
        name: {task.id for task in named_study(name)[0].tasks()} for name in ("table2", "beyond")
    }
    assert len(ids["table2"] & ids["beyond"]) == 2 * 22 * 20


def test_no_resampling_for_learners_with_a_threshold():
    (study,) = named_study("table3-smote")
    with pytest.raises(ValueError, match=r"SVM-rbf put a threshold .*table3-smote has smote"):
        restrict(study, learners=["IML", "SVM-rbf"])


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
    with pytest.raises(ValueError, match=r"Unknown learner 'iml'.*Did you mean 'IML'"):
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


def test_a_users_own_study_beyond_the_paper(tmp_path):
    path = tmp_path / "mine.toml"
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
        ("datasets = [", r"mine.toml is no study that can be read"),
        ("datasets = ['wine']", r"must have the fields datasets and learners"),
        ("datasets = ['wine']\nrows = 3\n[learners.IML]", r"it has datasets, learners, rows"),
        ("datasets = ['wine']\n[learners.Mine]", r"kind of learner 'Mine' must be one of"),
        ("datasets = ['wine']\n[learners.IML]\nseed = 1", r"unknown fields seed"),
        ("datasets = ['wine']\ntest_size = 1\n[learners.IML]", r"test_size must be .*got 1\."),
        ("datasets = ['wine']\ntest_size = 'half'\n[learners.IML]", r"test_size must be .*'half'"),
        (
            "datasets = ['wine']\nresampling = ['smote']\n[learners.IML-score]",
            r"IML-score put a threshold",
        ),
        ("datasets = ['wine']\nresampling = ['ros']\n[learners.IML]", r"resampling must be one"),
    ],
)
def test_a_study_that_is_not_one(text, message, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_study(path)
