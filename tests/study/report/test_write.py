"""The files of a report: their content for complete, incomplete and unusual studies."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from raremetric import pages
from raremetric.pages import Grid, Section, name_cell
from raremetric.study.report import figures, write_report
from raremetric.study.report.ranks import compare_ranks
from raremetric.study.report.tables import summarize
from raremetric.study.tasks import StudyResults
from tests.study.report.conftest import DETAILS
from tests.study.report.synthetic import (
    LEARNERS,
    counts,
    rare_regime,
    results_of,
    row,
    share_rows,
    study_like,
    whole_paper,
)

TABLES = ["table2", "table3-smote", "table3-rus", "imbalance", "ablation"]
CELL_COLUMNS = ["dataset", "learner", "n_splits", "mean", "std"]
FEW = ["iono", "pima", "wine"]
NASTY = '<script>alert("$x^$")</script>|_&%'


def write(results, out, title="A study"):
    return write_report(results, out, title=title, details=DETAILS)


class Elements(HTMLParser):
    """The elements of a page with their attributes, and its visible text."""

    def __init__(self, page):
        super().__init__()
        self.elements, self.text, self.inside = [], "", []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.text += data


def read(path):
    return path.read_text("utf-8")


def test_exactly_the_expected_files(whole):
    expected = {"report.html"}
    for name in TABLES:
        expected |= {f"{name}.csv", f"{name}.md"}
    drawn = [f"{name}-ranks" for name in TABLES[:3]]
    drawn += [f"{name}-mean" for name in TABLES[3:]]
    expected |= {f"{name}.svg" for name in drawn}
    expected |= {f"{name}-tests.csv" for name in TABLES[:3]}
    assert {path.name for path in whole.iterdir()} == expected
    for path in whole.glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")


def test_cells_from_the_confusion_counts(whole):
    rows, cells = whole_paper()[0].rows, pd.read_csv(whole / "table2.csv")
    assert list(cells.columns) == CELL_COLUMNS
    for cell in cells.itertuples():
        part = rows[(rows["dataset"] == cell.dataset) & (rows["learner"] == cell.learner)]
        f1 = [200 * r.tp / (2 * r.tp + r.fp + r.fn) for r in part.itertuples()]
        assert cell.n_splits == len(f1) == 4
        assert cell.mean == pytest.approx(np.mean(f1), abs=1e-4)
        assert cell.std == pytest.approx(np.std(f1), abs=1e-4)
    cells = pd.read_csv(whole / "imbalance.csv")
    assert list(cells.columns)[:6] == ["dataset", "share", "learner", "n_splits", "mean", "std"]
    assert set(cells.loc[cells["dataset"] == "spectfheart", "share"]) == {0.5, 0.4, 0.3, 0.2, 0.1}


def test_markdown(whole):
    lines = read(whole / "table2.md").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("| Data set"))
    assert lines[first] == "| Data set | Splits | Euclidean | LMNN | ITML | GMML | IML |"
    assert re.match(
        r"\| abalone \| 4 \|( (\*\*)?\d\d\.\d(\*\*)? ± \d\.\d \|){5}$", lines[first + 2]
    )
    labels = [line.split(" | ")[0] for line in lines if " over 22 data sets" in line]
    assert labels[:2] == ["| Mean over 22 data sets", "| Average rank over 22 data sets"]


def test_page_is_standalone(whole):
    text = read(whole / "report.html")
    page = Elements(text)
    for tag, attributes in page.elements:
        assert tag not in ("iframe", "object", "embed", "img")
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    style = text.partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)
    for part in ("A study", "pytest", "22 data sets", "3–4 splits", "Friedman's test"):
        assert part in page.text


def test_same_rows_same_files(tmp_path):
    results = study_like(n_splits=2, datasets=FEW)
    shuffled = StudyResults(results.study, results.rows.sample(frac=1, random_state=1))
    paths = write([results], tmp_path / "a")
    write([shuffled], tmp_path / "b")
    for path in paths:
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes(), path.name


def test_same_rows_same_diagram_in_another_process():
    code = (
        "import sys; from raremetric.study.report import figures, ranks, tables;"
        "from tests.study.report.synthetic import study_like;"
        "(table,) = tables.summarize([study_like(n_splits=1)]).tables;"
        "sys.stdout.buffer.write(figures.draw_ranks(table, ranks.compare_ranks(table)).svg)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1"}
    other = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    (table,) = summarize([study_like(n_splits=1)]).tables
    here = figures.draw_ranks(table, compare_ranks(table)).svg
    assert here.startswith(b"<?xml")
    assert here == other.stdout


@pytest.mark.usefixtures("empty_figures")
def test_incomplete_study(tmp_path):
    results = study_like(n_splits=3, datasets=FEW)
    rows = results.rows
    late = (rows["split"] == 3) & (rows["learner"] == "IML") & (rows["dataset"] == "pima")
    absent = (rows["dataset"] == "iono") & (rows["learner"] == "LMNN")
    write([StudyResults(results.study, rows[~late & ~absent])], tmp_path)
    lines = read(tmp_path / "table2.md").splitlines()
    iono = next(line for line in lines if line.startswith("| iono"))
    assert iono.split(" | ")[3] == "–"
    pima = next(line for line in lines if line.startswith("| pima"))
    assert pima.split(" | ")[1] == "2–3"
    assert [f"({n})" in pima for n in (2, 3)] == [True, True]
    assert any(line.startswith("| Mean over 2 data sets | 2–3 |") for line in lines)
    cells = pd.read_csv(tmp_path / "table2.csv").set_index("dataset")
    assert sorted(cells.loc["iono", "learner"]) == sorted({*LEARNERS} - {"LMNN"})
    assert "no finished task yet" in read(tmp_path / "report.html")


def single():
    return results_of([row("wine", "IML", 1, counts(0.9, 50, 90))])


def test_a_single_row_and_a_study_that_has_not_started(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    later = results_of(single().rows, "later").study
    paths = write([single(), StudyResults(later, single().rows[:0])], tmp_path)
    assert {path.name for path in paths} == {"report.html", "mine.csv", "mine.md"}
    page = read(tmp_path / "report.html")
    assert "needs at least three learners" in page
    assert "No finished task yet: later." in page
    assert read(tmp_path / "README.md") == "mine"


@pytest.mark.usefixtures("empty_figures")
def test_half_finished_shares(tmp_path):
    rows = share_rows(learners=("Euclidean", "IML"), n_datasets=3)
    rows = rows[~((rows["share"] == 0.5) & (rows["learner"] == "IML"))]
    write([results_of(rows)], tmp_path)
    assert "| 50 % | 0 | – | – | – |" in read(tmp_path / "mine.md")


def nasty_study(name, resamplings, share=np.nan):
    """A study of a user, with names that every format must escape."""
    rng = np.random.RandomState(0)
    rows = [
        row(dataset, learner, split, counts(f1, 50, 150), resampling=resampling, share=share)
        for dataset in (NASTY, "mine", "yours")
        for learner in ("{Forest}", "$k$NN", NASTY)
        for resampling in resamplings
        for split, f1 in enumerate(rng.uniform(0.4, 0.8, size=2), start=1)
    ]
    return results_of(rows, name, title=NASTY, leader=NASTY)


def test_names_of_a_users_study_are_escaped_and_the_paper_is_not_mentioned(tmp_path):
    name = "script-alert-x-script"
    studies = [nasty_study(NASTY, ["none", "rus"]), nasty_study("shares", ["smote"], 0.25)]
    paths = write(studies, tmp_path, title=NASTY)
    assert {f"{name}.csv", f"{name}-rus.csv", "shares.csv"} <= {path.name for path in paths}
    for path in paths:
        if path.suffix in (".html", ".md", ".svg"):
            assert "<script>alert" not in read(path), path.name
        if path.suffix in (".html", ".md"):
            assert "paper" not in read(path), path.name
        if path.suffix == ".svg":
            ElementTree.parse(path)
    page = Elements(read(tmp_path / "report.html"))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert NASTY in page.text
    for line in read(tmp_path / f"{name}.md").splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) in (6, 10, 11)


def test_many_learners_with_long_names(tmp_path):
    learners = [f"{number} {'is a learner ' * 6}" for number in range(11)] + ["_hidden"]

    def study(name, shares):
        rows = [
            row(dataset, learner, 1, counts(0.5 + 0.03 * number, 100, 300), share=share)
            for dataset in ("a", "b")
            for number, learner in enumerate(learners)
            for share in shares
        ]
        return results_of(rows, name)

    # Matplotlib warns if something does not fit, and warnings are errors.
    write([study("whole", [np.nan]), study("shares", [0.5, 0.1])], tmp_path)


@pytest.mark.parametrize("known", [[], ["IML"], list(pages.STYLES)])
def test_no_two_learners_look_the_same(known):
    learners = [*known, *map(str, range(28))]
    assert len(set(pages.styles(learners).values())) == len(learners)
    colors = [color for color, _ in pages.styles(learners[:10]).values()]
    assert len(set(colors)) == 10
    assert all(pages.styles(learners)[name] == pages.STYLES[name] for name in known)


@pytest.mark.parametrize("step", ["figures.save", "write.to_html"])
def test_a_step_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step):
    (tmp_path / "report.html").write_text("before")

    def fail(*args, **kwargs):
        raise RuntimeError("no more")

    monkeypatch.setattr(f"raremetric.study.report.{step}", fail)
    with pytest.raises(RuntimeError, match="no more"):
        write([study_like(n_splits=1, datasets=FEW)], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert read(tmp_path / "report.html") == "before"


def test_writing_that_fails_leaves_no_temporary_files(tmp_path):
    (tmp_path / "report.html").mkdir()  # cannot be replaced by a file
    with pytest.raises(OSError, match=r"report\.html"):
        write([single()], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_reports_that_are_refused_write_nothing(tmp_path):
    study, rows = single().study, single().rows
    with pytest.raises(ValueError, match="no finished task"):
        write([StudyResults(study, rows[:0])], tmp_path / "out")
    same_files = [results_of(rows, name) for name in ("a b", "a-b")]
    with pytest.raises(ValueError, match=r"written to 'a-b\.csv'.*rename the study"):
        write(same_files, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").write_text("")
    with pytest.raises(NotADirectoryError, match="written to a directory"):
        write([single()], tmp_path / "out")


def test_names_of_studies_that_are_ids_of_the_page(tmp_path):
    names = ("theme", "effort", "x", "x-title", "differences")
    write([results_of(single().rows, name) for name in names], tmp_path)
    ids = [a["id"] for _, a in Elements(read(tmp_path / "report.html")).elements if a.get("id")]
    assert len(ids) == len(set(ids))
    assert set(names) <= set(ids)


@pytest.mark.usefixtures("empty_figures")
def test_leads_and_few_positives(tmp_path):
    names = {path.name for path in write([rare_regime(["glass5", "pima"])], tmp_path)}
    assert names >= {f"rare{end}.csv" for end in ("-few", "-precision-few", "-lead", "-tests")}
    text = read(tmp_path / "rare-precision.md")
    assert "Average precision of the positive class in percent" in text
    assert "plain 3-NN (Euclidean)." in text
    assert "RareClassifier-thorough minus each learner" in text
    assert 'id="rare-precision"' in read(tmp_path / "report.html")


def test_a_report_can_be_extended(tmp_path):
    def extend(tables):
        assert [table.name for table in tables] == ["mine"]
        grid = Grid("More", ["Name"], [[name_cell("an added row")]])
        return [Section("more", "One more section", [grid])], {"more.txt": b"added"}

    options = {"title": "A study", "details": DETAILS}
    write_report([single()], tmp_path, **options, extend=extend)
    assert (tmp_path / "more.txt").read_bytes() == b"added"
    page = Elements(read(tmp_path / "report.html"))
    assert "One more section" in page.text
    assert "an added row" in page.text
    with pytest.raises(
        ValueError, match=r"Two parts of the report would be written to 'mine\.csv'"
    ):
        write_report([single()], tmp_path, **options, extend=lambda tables: ([], {"mine.csv": b""}))


def test_import_is_light():
    code = "from raremetric.study.report import write_report; import sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert not {"matplotlib", "jinja2", "scikit_posthocs"} & set(done.stdout.split())
