"""The numbers on the pages are those of the committed results."""

import re

import pandas as pd
import pytest

from raremetric.datasets import list_datasets
from tests.test_docs import ROOT

RESULTS = ROOT / "docs" / "results"
LEARNERS = {  # by their names on the pages
    "plain 3-NN": "Euclidean",
    "logistic regression": "logistic-regression",
    "IML, scores and threshold": "IML-score",
    "balanced random forest": "balanced-forest",
    "gradient boosting (XGBoost)": "gradient-boosting",
    "SVM, RBF kernel": "SVM-rbf",
    "SVM, Laplacian kernel": "SVM-laplacian",
    'the same, with as many repeats as "thorough"': "SVM-laplacian-thorough",
    '`RareClassifier("fast")`': "RareClassifier-fast",
}


@pytest.fixture(scope="module")
def beyond():
    """The finished tasks of the studies beyond the paper, with their F1 in percent."""
    rows = pd.read_csv(RESULTS / "beyond.csv.gz", skiprows=1).query("status == 'done'")
    return rows.assign(f1=200 * rows.tp / (2 * rows.tp + rows.fp + rows.fn))


def test_leads_beyond_the_paper(beyond):
    f1 = beyond[beyond.test_size != 0.5].pivot_table("f1", "dataset", "learner")
    text = (RESULTS / "README.md").read_text()
    for title, name in LEARNERS.items():
        lead = f1["RareClassifier-thorough"] - f1[name]
        cells = f"{f1[name].mean():.1f} | {lead.mean():.1f} ± {lead.sem():.1f} | {(lead > 0).sum()}"
        assert f"| {title} | {cells}" in text


def test_means_beyond_the_paper_in_the_readme(beyond):
    f1 = beyond[beyond.test_size != 0.5].pivot_table("f1", "dataset", "learner").mean()
    names = [
        *("Euclidean", "logistic-regression", "IML-score", "balanced-forest"),
        *("gradient-boosting", "SVM-rbf", "SVM-laplacian"),
    ]
    rare = f"**{f1['RareClassifier-thorough']:.1f}** / {f1['RareClassifier-fast']:.1f}"
    line = " | ".join([*(f"{f1[name]:.1f}" for name in names), rare])
    assert f"| {line} |" in (ROOT / "README.md").read_text()


def test_means_of_the_rare_regime_in_the_readme(beyond):
    even = sorted(list_datasets("keel"))[1::2]
    rows = beyond[(beyond.test_size == 0.5) & beyond.dataset.isin(even)]
    names = ["Euclidean", "balanced-forest", "gradient-boosting", "IML-30", "SVM-laplacian"]
    text = (ROOT / "README.md").read_text()
    for title, column, factor in (
        ("mean F1", "f1", 1),
        ("average precision", "average_precision", 100),
    ):
        means = factor * rows.pivot_table(column, "dataset", "learner").mean()
        line = " | ".join(f"{means[name]:.1f}" for name in names)
        assert f"| {title} | {line} |" in text


def test_first_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(from .*?)```", text, re.DOTALL).group(1)
    exec(code, {})
    exec(code.replace("import IML,", "import Euclidean,").replace("IML()", "Euclidean()"), {})
    learned, plain = capsys.readouterr().out.split()
    assert (
        f"This prints {learned}. With `Euclidean()` in place of `IML()`, it prints {plain}." in text
    )


def test_computation_on_the_page_of_results(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "results" / "README.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    printed = capsys.readouterr().out
    for name, value in re.findall(r"^(\S+)  +([\d.]+)$", printed, re.MULTILINE):
        if name in ("RareClassifier-thorough", "SVM-laplacian", "SVM-laplacian-thorough"):
            assert value in text
    leads = [re.findall(r"[\d.]+", line) for line in printed.splitlines()[-2:]]
    for mean, error in zip(*leads, strict=True):
        assert f"{float(mean):.2f} ± {float(error):.2f}" in text


def test_means_in_the_readme_are_those_of_the_report():
    table = (ROOT / "docs" / "results" / "table2.md").read_text()
    names = re.search(r"^\| Data set \| Splits \| (.*) \|$", table, re.MULTILINE).group(1)
    means = re.search(r"^\| Mean over 22 data sets[^|]*\|[^|]*\| (.*) \|$", table, re.MULTILINE)
    texts = [text.split(" ± ")[0] for text in means.group(1).split(" | ")]
    reported = dict(zip(names.split(" | "), texts, strict=True))
    readme = (ROOT / "README.md").read_text()
    known = re.search(r"^\| \| (Euclidean \| LMNN .*) \|\n\|.*\n\| here \| (.*) \|$", readme, re.M)
    shown = dict(zip(*(group.split(" | ") for group in known.groups()), strict=True))
    assert shown == {name: reported[name] for name in shown}


def test_computation_on_the_page_of_baselines(capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "baselines.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    lines = capsys.readouterr().out.replace("-", "−").splitlines()
    rows = [line.split() for line in lines if re.search(r"\d$", line)]
    assert len(rows) == 9 + 5  # eight and four data sets, and their means
    for name, *values in rows[:9]:
        assert f"| {name} | {' | '.join(values)} |" in text
    assert rows[-1][0] == "mean"
    assert f"the correlation of IML is {rows[-1][1]} in the mean" in text
