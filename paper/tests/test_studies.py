"""The studies of this folder: what they consist of and how they are reported."""

from dataclasses import replace
from pathlib import Path

import pytest

import paper
from paper.printed import paper_datasets
from raremetric.datasets import list_datasets
from raremetric.study import read_study

FILES = {path.stem: path for path in Path(paper.__file__).parent.glob("*.toml")}
N_TASKS = {
    "table2": 22 * 8 * 20,
    "table3-smote": 22 * 5 * 20,
    "table3-rus": 22 * 5 * 20,
    "imbalance": 22 * 10 * 5 * 20,
    "ablation": 22 * 10 * 3 * 20,
    "beyond": 22 * 9 * 20,
    "rare-regime-odd": 50 * 9 * 5,
    "rare-regime-even": 50 * 9 * 5,
    "rare-regime-even-again": 50 * 4 * 5,
    "large-chosen": 6 * 4 * 5,
    "large-other": 9 * 4 * 5,
    "large-fars": 2 * 4 * 2,
    "real-choose": 9 * 9 * 2,
    "real-report": 8 * 9 * 2,
}


@pytest.fixture(scope="module")
def studies():
    return {name: read_study(path) for name, path in FILES.items()}


def test_their_tasks_are_enumerated(studies):
    found = {name: [task.id for task in study.tasks()] for name, study in studies.items()}
    assert {name: len(ids) for name, ids in found.items()} == N_TASKS
    for ids in found.values():
        assert len(ids) == len(set(ids))


def test_the_papers_data_sets_are_in_the_order_of_its_tables(studies):
    for name in ("table2", "table3-smote", "table3-rus", "imbalance", "ablation", "beyond"):
        assert studies[name].datasets == tuple(paper_datasets())


def test_rivals_have_the_names_that_published_results_have(studies):
    rivals = [spec for spec in studies["table2"].learners if spec.is_custom]
    assert [spec.label for spec in rivals] == ["DMBK", "IterativeLMNN"]
    assert [len(spec.contender().candidates(1)) for spec in rivals] == [21, 8]


def test_the_rare_regime_is_keels_list_in_two_parts(studies):
    odd, even, again = (studies[f"rare-regime-{end}"] for end in ("odd", "even", "even-again"))
    names = list_datasets("keel")
    assert odd.datasets[:2] == (names[0], names[2])
    assert even.datasets[:2] == (names[1], names[3])
    assert sorted([*odd.datasets, *even.datasets]) == names
    assert odd.tasks()[0].id == f"{names[0]}/own@0.5/none/1/Euclidean"
    assert odd.tasks()[0].test_size == 0.5
    assert again.datasets == even.datasets
    assert {task.split for task in again.tasks()} == {6, 7, 8, 9, 10}


def test_the_large_tables_are_each_in_one_study(studies):
    parts = (studies[f"large-{end}"] for end in ("chosen", "other", "fars"))
    assert sorted(name for study in parts for name in study.datasets) == list_datasets("large")


def test_the_halves_of_the_real_tables_are_studied_in_the_same_way(studies):
    choose, report = studies["real-choose"], studies["real-report"]
    assert sorted([*choose.datasets, *report.datasets]) == list_datasets("real")
    same = {"title": "", "name": "", "datasets": ()}
    assert replace(choose, **same) == replace(report, **same)


def test_beyond_shares_the_papers_tasks(studies):
    ids = {name: {task.id for task in studies[name].tasks()} for name in ("table2", "beyond")}
    assert len(ids["table2"] & ids["beyond"]) == 2 * 22 * 20
