"""The files of a report: what is in them, for whole, half and foreign studies."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from raremetric.extras import import_optional
from raremetric.report import figures, render, write_report
from tests.report.synthetic import counts, paper_like_study, row, share_study, whole_study

DETAILS = {"Machine": "a test", "Command": "pytest"}
TABLES = ["table2", "table3-smote", "table3-rus", "imbalance", "ablation"]
COLUMNS = ["dataset", "share", "resampling", "split", "learner"]
COLUMNS += ["tn", "fp", "fn", "tp", "candidate", "seconds", "average_precision", "test_size"]
CELL_COLUMNS = ["dataset", "learner", "n_splits", "mean", "std", "paper_mean", "paper_std"]
NASTY = '<script>alert("$x^$")</script>|_&%'


def write(rows, out, title="A study"):
    return write_report(rows, out, title=title, details=DETAILS)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "made" / "by the report"
    write(whole_study(), out)
    return out


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


def test_all_files_are_there_and_no_others(whole):
    expected = {"results.csv", "report.html", "differences.csv", "differences.md"}
    for name in TABLES:
        expected |= {f"{name}.csv", f"{name}-wide.csv", f"{name}.md", f"{name}.tex"}
    drawn = [f"{name}-ranks" for name in TABLES[:3]]
    drawn += ["imbalance-spectfheart", "imbalance-mean", "ablation-mean"]
    expected |= {f"{name}.{kind}" for name in drawn for kind in ("svg", "png")}
    expected |= {f"{name}-tests.csv" for name in TABLES[:3]}
    assert {path.name for path in whole.iterdir()} == expected


def test_cells_from_the_confusion_counts(whole):
    rows, cells = pd.read_csv(whole / "results.csv"), pd.read_csv(whole / "table2.csv")
    assert list(rows.columns) == COLUMNS
    assert list(cells.columns) == CELL_COLUMNS
    plain = rows[rows["share"].isna() & (rows["resampling"] == "none")]
    for cell in cells.itertuples():
        part = plain[(plain["dataset"] == cell.dataset) & (plain["learner"] == cell.learner)]
        f1 = [200 * r.tp / (2 * r.tp + r.fp + r.fn) for r in part.itertuples()]
        assert cell.n_splits == len(f1) == 4
        assert cell.mean == pytest.approx(np.mean(f1), abs=1e-4)
        assert cell.std == pytest.approx(np.std(f1), abs=1e-4)


def test_share_tables_have_the_share(whole):
    cells = pd.read_csv(whole / "imbalance.csv")
    assert list(cells.columns)[:6] == ["dataset", "share", "learner", "n_splits", "mean", "std"]
    assert cells["paper_mean"].isna().all()
    assert set(cells.loc[cells["dataset"] == "spectfheart", "share"]) == {0.5, 0.4, 0.3, 0.2, 0.1}


def test_wide_table(whole):
    wide, cells = pd.read_csv(whole / "table2-wide.csv"), pd.read_csv(whole / "table2.csv")
    assert wide["dataset"].tolist() == cells["dataset"].drop_duplicates().tolist()
    np.testing.assert_allclose(
        wide["IML_difference"], wide["IML_mean"] - wide["IML_paper_mean"], atol=2e-4
    )


def test_markdown_has_the_papers_layout(whole):
    lines = read(whole / "table2.md").splitlines()
    tables = [i for i, line in enumerate(lines) if line.startswith("| Data set")]
    assert lines[tables[0]] == "| Data set | Splits | Euclidean | LMNN | ITML | GMML | IML |"
    assert re.match(
        r"\| splice \| 4 \|( (\*\*)?\d\d\.\d(\*\*)? ± \d\.\d \|){5}$", lines[tables[0] + 2]
    )
    labels = [line.split(" | ")[0] for line in lines if " over 22 data sets" in line]
    assert labels[:3] == [
        "| Mean over 22 data sets",
        "| Average rank over 22 data sets",
        "| Average rank over 22 data sets and the Mean row",
    ]
    beside = next(line for line in lines[tables[1] :] if line.startswith("| Average rank over 22"))
    assert [float(rank) for rank in re.findall(r"\((\d\.\d\d)\)", beside)] == [
        4.27, 3.23, 3.00, 3.00, 1.50
    ]  # fmt: skip
    mean = next(line for line in lines[tables[1] :] if line.startswith("| Mean over 22"))
    assert "(72.1 ± 3.8)" in mean


def test_latex_is_balanced(whole):
    for path in whole.glob("*.tex"):
        text = read(path)
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert text.count("{") == text.count("}")
        assert text.isascii(), [char for char in text if not char.isascii()]
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(rows) >= 5


def test_page_is_standalone(whole):
    page = Elements(read(whole / "report.html"))
    for tag, attributes in page.elements:
        assert tag not in ("iframe", "object", "embed", "img")
        for name in ("src", "href", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    style = read(whole / "report.html").partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in style
    assert "@import" not in style


def test_page_has_no_id_twice_and_no_dead_reference(whole):
    text = read(whole / "report.html")
    ids = [a["id"] for _, a in Elements(text).elements if a.get("id")]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', text)) <= set(ids)


def test_page_says_what_was_run(whole):
    text = Elements(read(whole / "report.html")).text
    for part in ("A study", "pytest", "22 data sets", "3–4 splits", "Friedman's test"):
        assert part in text


def test_figures_are_images(whole):
    for path in whole.glob("*.svg"):
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
        assert path.with_suffix(".png").read_bytes().startswith(b"\x89PNG")


def test_same_rows_same_files(whole, tmp_path):
    write(whole_study().sample(frac=1, random_state=1), tmp_path)
    for path in whole.iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes(), path.name


def test_same_rows_same_diagram_in_another_process():
    code = (
        "import sys; from raremetric.report import figures, ranks, summarize;"
        "from tests.report.synthetic import beyond_study;"
        "(table,) = summarize.summarize(beyond_study(n_splits=1)).tables;"
        "sys.stdout.buffer.write(figures.draw_ranks(table, ranks.compare(table)).svg)"
    )
    first, second = (
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    )
    assert first == second


def test_incomplete_study(tmp_path):
    rows = paper_like_study(n_splits=3, resamplings=["none"], datasets=["wine", "iono", "pima"])
    late = (rows["split"] == 3) & (rows["learner"] == "IML") & (rows["dataset"] == "pima")
    absent = (rows["dataset"] == "iono") & (rows["learner"] == "LMNN")
    write(rows[~late & ~absent], tmp_path)
    lines = read(tmp_path / "table2.md").splitlines()
    iono = next(line for line in lines if line.startswith("| iono"))
    assert iono.split(" | ")[3] == "–"
    pima = next(line for line in lines if line.startswith("| pima"))
    assert pima.split(" | ")[1] == "2–3"
    assert [f"({n})" in pima for n in (2, 3)] == [True, True]
    assert any(line.startswith("| Mean over 2 data sets | 2–3 |") for line in lines)
    wide = pd.read_csv(tmp_path / "table2-wide.csv").set_index("dataset")
    assert np.isnan(wide.loc["iono", "LMNN_mean"])
    assert wide.loc["iono", "LMNN_n_splits"] == 0
    assert "no finished task yet" in read(tmp_path / "report.html")


def test_a_single_row(tmp_path):
    names = {
        p.name for p in write(pd.DataFrame([row("wine", "IML", 1, counts(0.9, 50, 90))]), tmp_path)
    }
    assert "table2.csv" in names
    assert not any(name.endswith((".svg", "-tests.csv")) for name in names)
    assert "needs at least three learners" in read(tmp_path / "report.html")


def test_half_finished_shares(tmp_path):
    rows = share_study(learners=("Euclidean", "IML"), n_datasets=3)
    rows = rows[~((rows["share"] == 0.5) & (rows["learner"] == "IML"))]
    write(rows, tmp_path)
    assert "| 50 % | 0 | – | – | – |" in read(tmp_path / "imbalance.md")


def foreign_study():
    rng = np.random.RandomState(0)
    variants = [("none", np.nan), ("ada/syn", np.nan), ("none", 0.25), ("smote", 0.1)]
    return pd.DataFrame(
        row(dataset, learner, split, counts(f1, 50, 150), resampling=resampling, share=share)
        for dataset in (NASTY, "mine", "yours")
        for learner in ("{Forest}", "$k$NN", NASTY)
        for resampling, share in variants
        for split, f1 in enumerate(rng.uniform(0.4, 0.8, size=2), start=1)
    )


def test_foreign_study_leaves_the_paper_out(tmp_path):
    names = {path.name for path in write(foreign_study(), tmp_path, title=NASTY)}
    assert {"table2.csv", "table-ada-syn.csv", "imbalance.csv", "imbalance-smote.csv"} <= names
    assert "differences.csv" not in names
    assert not any("paper" in column for column in pd.read_csv(tmp_path / "table2-wide.csv"))
    for name in ("table2.md", "table2.tex", "report.html"):
        assert "paper" not in read(tmp_path / name).replace("--paper", "")


def test_names_are_escaped_everywhere(tmp_path):
    for path in write(foreign_study(), tmp_path, title=NASTY):
        if path.suffix in (".html", ".md", ".svg"):
            assert "<script>alert" not in read(path), path.name
        if path.suffix == ".svg":
            ElementTree.parse(path)
    page = Elements(read(tmp_path / "report.html"))
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert NASTY in page.text
    for line in read(tmp_path / "table2.md").splitlines():
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)\|", line)) in (6, 10)
    latex = read(tmp_path / "table2.tex")
    assert r"\textless{}script\textgreater{}" in latex
    assert r"\textbar{}\_\&\%" in latex


def test_many_learners_with_long_names(tmp_path):
    learners = [f"{number} {'is a learner ' * 6}" for number in range(11)] + ["_hidden"]
    rows = pd.DataFrame(
        row(dataset, learner, 1, counts(0.5 + 0.03 * place, 100, 300), share=share)
        for dataset in ("a", "b")
        for place, learner in enumerate(learners)
        for share in (np.nan, 0.5, 0.1)
    )
    write(rows, tmp_path)  # Matplotlib warns of what does not fit, and warnings are errors
    assert len(set(figures.styles(learners).values())) == len(learners)


def test_no_rows_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="no finished task"):
        write(whole_study()[:0], tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("step", [(figures, "save"), (render, "_template")])
def test_a_step_that_fails_leaves_what_was_there(tmp_path, monkeypatch, step):
    (tmp_path / "report.html").write_text("before")

    def fail(*args, **kwargs):
        raise RuntimeError("no more")

    monkeypatch.setattr(*step, fail)
    with pytest.raises(RuntimeError, match="no more"):
        write(paper_like_study(n_splits=1, resamplings=["none"]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert read(tmp_path / "report.html") == "before"


def test_writing_that_fails_leaves_no_temporary_files(tmp_path):
    (tmp_path / "results.csv").mkdir()  # cannot be replaced by a file
    with pytest.raises(OSError, match=r"results\.csv"):
        write(paper_like_study(n_splits=1, resamplings=["none"]), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["results.csv"]


def test_out_is_a_file(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(NotADirectoryError, match="goes to a directory"):
        write(paper_like_study(n_splits=1, resamplings=["none"]), tmp_path / "out")


def test_other_files_stay(tmp_path):
    (tmp_path / "README.md").write_text("mine")
    write(pd.DataFrame([row("wine", "IML", 1, counts(0.9, 50, 90))]), tmp_path)
    assert read(tmp_path / "README.md") == "mine"


def test_missing_extra():
    with pytest.raises(ImportError, match=r'pip install "raremetric\[study\]"'):
        import_optional("a_package_that_is_not_there")


def test_import_is_light():
    code = (
        "import sys, raremetric.report; "
        "sys.exit(bool({'matplotlib', 'jinja2', 'scikit_posthocs'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
