"""The report of the paper's experiments, and the results that are published with it."""

import ast
import doctest
import gzip
import re
from importlib import import_module
from pathlib import Path

import pandas as pd
import pytest

import paper
from paper.report import report_store
from raremetric.study import Store, export_results, import_results, read_study

FOLDER = Path(paper.__file__).parent
RESULTS = FOLDER.parent / "docs" / "results"
PUBLIC = (
    "raremetric",
    "raremetric.datasets",
    "raremetric.pages",
    "raremetric.study",
    "raremetric.study.report",
)


def imports_of(path):
    """Modules and names that a file imports from raremetric."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("raremetric"):
            yield from ((node.module, each.name) for each in node.names)
        if isinstance(node, ast.Import):
            assert not any(each.name.startswith("raremetric") for each in node.names)


@pytest.mark.parametrize("path", sorted([*FOLDER.glob("*.py"), *FOLDER.glob("rivals/*.py")]))
def test_only_what_is_public_is_used(path):
    for module, name in imports_of(path):
        assert module in PUBLIC
        assert name in import_module(module).__all__


@pytest.mark.parametrize("name", ["printed", "rivals.dmbk", "rivals.iterative_lmnn"])
def test_docstrings(name):
    found = doctest.testmod(import_module(f"paper.{name}"))
    assert found.attempted > 0
    assert found.failed == 0


@pytest.mark.long
def test_files_besides_those_of_any_study(whole):
    more = {"cells.csv", "cells.md", "cells.svg", "faithfulness.md"}
    more.add("imbalance-others-spectfheart.svg")
    names = {path.name for path in whole.iterdir()}
    assert more <= names
    assert "imbalance-spectfheart.svg" in names  # the data set of the paper's figure


@pytest.mark.long
def test_the_layout_is_the_papers(whole):
    lines = (whole / "table2.md").read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| Data set"))
    assert lines[first] == "| Data set | Splits | Euclidean | LMNN | ITML | GMML | IML |"
    assert lines[first + 2].startswith("| splice | 4 |")


@pytest.fixture(scope="module")
def imported(tmp_path_factory):
    """The published results of the paper's experiments, in a store."""
    path = tmp_path_factory.mktemp("s") / "paper.sqlite"
    import_results(RESULTS / "paper.csv.gz", path)
    return Store(path)


def test_every_published_row_belongs_to_its_study(imported):
    """Also those of the rivals, which were part of the package when they were computed."""
    rows = {each.study.name: each.rows for each in imported.results()}
    found = {task.id for study in imported.studies() for task in study.tasks()}
    assert set(imported.statuses()) <= found
    learners = rows["table2"]["learner"].value_counts()
    assert (learners == 22 * 20).all()
    assert {"DMBK", "IterativeLMNN"} <= set(learners.index)


def test_nothing_published_is_run_again(imported):
    for name in ("table2", "table3-smote", "table3-rus"):
        assert imported.missing(read_study(FOLDER / f"{name}.toml").tasks()) == []


def test_published_results_survive_another_export(imported, tmp_path):
    export_results(imported, tmp_path / "again.csv.gz")
    import_results(tmp_path / "again.csv.gz", tmp_path / "again.sqlite")
    assert Store(tmp_path / "again.sqlite").studies() == imported.studies()
    old, new = (
        gzip.decompress(path.read_bytes()).split(b"\n", 1)[1]
        for path in (RESULTS / "paper.csv.gz", tmp_path / "again.csv.gz")
    )
    assert old == new


@pytest.mark.long
@pytest.mark.usefixtures("empty_figures")
def test_the_published_pages_are_those_of_the_published_results(imported, tmp_path):
    """Without figures: their bytes depend on the version of Matplotlib."""
    report_store(imported.path, tmp_path)
    for name in ("faithfulness.md", "cells.md", "table2.md", "table3-smote.md", "imbalance.csv"):
        assert (tmp_path / name).read_bytes() == (RESULTS / name).read_bytes()
    assert "<title>The paper, reproduced</title>" in (tmp_path / "report.html").read_text("utf-8")


def test_published_results_name_the_commits_that_computed_them():
    text = (RESULTS / "README.md").read_text("utf-8")
    line = r"^\| `(\w+)` \| `([0-9a-f]{16})` \| (?:[0-9a-f]{7}|not known) \|"
    named = re.findall(line, text, re.MULTILINE)
    found = {
        (path.name.removesuffix(".csv.gz"), fingerprint)
        for path in RESULTS.glob("*.csv.gz")
        for fingerprint in pd.read_csv(path, skiprows=1)["fingerprint"].dropna().unique()
    }
    assert set(named) == found
