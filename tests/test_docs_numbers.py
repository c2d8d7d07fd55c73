"""The numbers of the site come from the committed results, and those of README are the same."""

import re

import pandas as pd
import pytest

from docs._ext import site_numbers, site_paper
from docs._ext.site_numbers import (
    BOOSTING,
    PLAIN,
    RARE,
    SVM,
    readme_rows,
    substitutions,
    verdict,
)
from docs.pictures import pictures
from raremetric.study.report import LEVEL, leads
from tests.test_docs import PAGES, ROOT, relative

USED = re.compile(r"(?<!`)\{\{ (\w+) \}\}(?!`)")


@pytest.fixture(scope="module")
def tasks():
    """Mean F1 in percent, computed from the single tasks of the published study."""
    rows = pd.read_csv(ROOT / "docs" / "results" / "beyond.csv.gz", skiprows=1)
    rows = rows[(rows.status == "done") & (rows.test_size != 0.5) & (rows.split > 5)]
    f1 = 200 * rows.tp / (2 * rows.tp + rows.fp + rows.fn)
    return rows.assign(f1=f1).pivot_table("f1", "dataset", "learner")


def test_names_in_braces_are_those_that_are_filled_in():
    used = {name for path in PAGES for name in USED.findall(path.read_text("utf-8"))}
    known = substitutions()
    assert used <= {*known}
    assert all(text and "nan" not in text.lower().split() for text in known.values())


def test_numbers_are_those_of_the_tasks(tasks):
    lead = leads(tasks, RARE).set_index("learner").loc[SVM]
    shown = site_numbers.lead_rows("beyond/beyond-later")
    assert f"| **{tasks[RARE].mean():.1f}** |" in shown
    gap = f"{site_numbers.signed(lead.difference)} ({lead.standard_error:.1f})"
    (row,) = [line for line in shown.splitlines() if "Laplacian" in line]
    assert [cell.strip() for cell in row.split("|")[2:4]] == [f"{tasks[SVM].mean():.1f}", gap]
    assert row.endswith(f"| {site_numbers.p_text(lead.holm)} | {verdict(lead)} |")


@pytest.mark.parametrize(
    ("difference", "holm", "equivalent", "expected"),
    [
        (2.0, 0.01, 0.9, "better"),
        (-2.0, 0.01, 0.9, "worse"),
        (0.1, 0.5, 0.01, "equal"),
        (0.1, 0.5, 0.2, "not shown"),
    ],
)
def test_verdicts(difference, holm, equivalent, expected):
    lead = pd.Series({"difference": difference, "holm": holm, "equivalent": equivalent})
    assert verdict(lead) == expected


def test_results_in_the_readme():
    """If this fails after new results: `python -m docs._ext.site_numbers` prints the rows."""
    text = (ROOT / "README.md").read_text("utf-8")
    for row in readme_rows():
        assert row in text


def test_what_the_readme_says_of_the_alternatives():
    """It says that no difference from both is shown. If this fails after new results, change it."""
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    gaps = site_numbers.own_gaps(pd.read_csv(site_numbers.OWN_FILES))
    assert abs(gaps.mean()) < 2
    assert (len(gaps), (gaps < 0).sum()) == (10, 7)
    assert (gaps[["stroke", "thyroid", "telescope", "customers"]] < 0).all()
    assert "is behind on seven, and on all four whose sources no setting was chosen on" in readme
    for name in ("beyond/beyond-later", "beyond/rare-regime-even-again"):
        lead = site_numbers.leads_of(name).loc[SVM]
        assert verdict(lead) in ("equal", "not shown")
        assert abs(lead.difference) < 2
    assert verdict(site_numbers.leads_of("beyond/beyond-later").loc[BOOSTING]) == "better"
    found = site_numbers.leads_of("beyond/rare-regime-even-again")
    better = [name for name, lead in found.iterrows() if verdict(lead) == "better"]
    assert {*better} & {PLAIN, BOOSTING, SVM} == {PLAIN}
    p_values = re.findall(r"p = ([\d.]+)", site_numbers.without_their_rows())
    assert len(p_values) == 2
    assert min(map(float, p_values)) > LEVEL
    assert "not shown on the five that share no rows" in readme


def test_cells_of_the_paper_in_the_readme():
    """Cells that are the same or close, with the headings of LMNN and GMML exchanged or not."""
    rows = re.findall(
        r"^\| All methods, headings (exchanged|as printed) \| (\d+) \| (\d+) \| (\d+) ",
        site_paper.faithfulness(),
        re.MULTILINE,
    )
    agree = {reading: int(same) + int(close) for reading, _, same, close in rows}
    (n,) = {n for _, n, _, _ in rows}
    readme = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f" {agree['exchanged']} of {n} cells agree " in readme
    assert f" ({agree['as printed']} as printed), " in readme
    counts = site_paper.verdict_counts()
    total = sum(counts.values())
    assert f" {counts['holds']} of {total} hold, {counts['holds in part']} in part." in readme


def test_pictures_are_those_of_the_results():
    for name, text in pictures().items():
        assert (ROOT / "docs" / name).read_text("utf-8") == text, "python docs/pictures.py"


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").split()) < 1000


def test_the_papers_experiments_have_all_20_splits():
    rows = pd.read_csv(ROOT / "docs" / "results" / "paper.csv.gz", skiprows=1)
    n_splits = rows.groupby(["resampling", "share", "learner", "dataset"], dropna=False).split
    assert set(n_splits.nunique()) == {20}


@pytest.mark.parametrize("page", ["results/README.md", "experiments/baselines.md"])
def test_computations_from_the_committed_results(page, capsys, monkeypatch):
    """The code on pages about results runs; the first one gives the p-values of the report."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / page).read_text("utf-8")
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    printed = capsys.readouterr().out
    if "results" in page:
        pairs = pd.read_csv(ROOT / "docs" / "results" / "table2-tests.csv")
        holm = pairs.set_index(["first", "second"]).holm["IML", "LMNN"]
        names, values = printed.splitlines()[1:3]
        p_values = map(float, re.findall(r"[\d.]+", values))
        found = dict(zip(re.findall(r"'([^']+)'", names), p_values, strict=True))
        assert found["IML minus LMNN"] == pytest.approx(holm, abs=5e-4)


def test_pages_of_the_site_have_no_typed_leads():
    """Leads with an error belong into the substitutions."""
    for path in PAGES:
        if relative(path).startswith(("docs/evidence/", "README")):
            assert not re.search(r"\(SE \d", path.read_text("utf-8")), relative(path)
