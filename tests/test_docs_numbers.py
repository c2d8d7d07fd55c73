"""The numbers on the pages are those of the committed results."""

import re

import pandas as pd
import pytest

from raremetric.datasets import list_datasets
from raremetric.study import read_study
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
}


def finished_tasks(name):
    """The finished tasks of exported results, with their F1 in percent."""
    rows = pd.read_csv(RESULTS / name, skiprows=1).query("status == 'done'")
    return rows.assign(f1=200 * rows.tp / (2 * rows.tp + rows.fp + rows.fn))


@pytest.fixture(scope="module")
def beyond():
    return finished_tasks("beyond.csv.gz")


@pytest.fixture(scope="module")
def paper_means():
    """Mean F1 on each data set of Tables 2 and 3, by resampling and learner."""
    rows = finished_tasks("paper.csv.gz")
    return rows[rows.share.isna()].pivot_table("f1", "dataset", ["resampling", "learner"])


def test_leads_beyond_the_paper(beyond):
    f1 = beyond[beyond.test_size != 0.5].pivot_table("f1", "dataset", "learner")
    text = (RESULTS / "README.md").read_text()
    for title, name in LEARNERS.items():
        lead = f1["RareClassifier-fast"] - f1[name]
        cells = f"{f1[name].mean():.1f} | {lead.mean():.1f} ± {lead.sem():.1f} | {(lead > 0).sum()}"
        assert f"| {title} | {cells}" in text
    n_behind = (f1["RareClassifier-fast"] < f1["SVM-laplacian"]).sum()
    words = {5: "five", 6: "six", 7: "seven"}
    assert f"The SVM is\nahead on {words[n_behind]} data sets" in text
    precision = 100 * beyond[beyond.test_size != 0.5].pivot_table(
        "average_precision", "dataset", "learner"
    )
    means = precision.mean()[["RareClassifier-fast", "SVM-laplacian", "gradient-boosting"]]
    assert "is {:.1f}, that of the Laplacian SVM {:.1f}, of XGBoost {:.1f}.".format(*means) in text


def test_means_beyond_the_paper_in_the_readme(beyond):
    f1 = beyond[beyond.test_size != 0.5].pivot_table("f1", "dataset", "learner").mean()
    names = [
        *("Euclidean", "logistic-regression", "IML-score", "balanced-forest"),
        *("gradient-boosting", "SVM-rbf", "SVM-laplacian"),
    ]
    rare = f"**{f1['RareClassifier-fast']:.1f}**"
    line = " | ".join([*(f"{f1[name]:.1f}" for name in names), rare])
    assert f"| {line} |" in (ROOT / "README.md").read_text()


def test_means_of_the_rare_regime_in_the_readme(beyond):
    text = (ROOT / "README.md").read_text()
    shown = re.search(r"halves of each \(`raremetric study run paper/(\S+)\.toml`\)", text).group(1)
    study = read_study(ROOT / "paper" / f"{shown}.toml")
    splits = range(study.first_split, study.first_split + study.splits)
    names = [learner.name for learner in study.learners]
    rows = beyond[
        (beyond.test_size == 0.5)
        & beyond.dataset.isin(study.datasets)
        & beyond.split.isin(splits)
        & beyond.learner.isin(names)
    ]
    assert len(rows) == len(study.datasets) * len(splits) * len(names)
    for title, column, factor in (
        ("mean F1", "f1", 1),
        ("average precision", "average_precision", 100),
    ):
        means = factor * rows.pivot_table(column, "dataset", "learner").mean()
        assert f"| {title} | {row_of(means[names])} |" in text
    few = pd.read_csv(RESULTS / "beyond" / f"{shown}-few.csv", index_col="learner")
    assert f"| F1, few positives | {row_of(few.mean_few[names])} |" in text
    n_few = re.search(r"the (\d+) data\s+sets with fewer", text).group(1)
    assert {*few.n_few} == {int(n_few)}


def row_of(means):
    """The cells of a row, the highest one in bold."""
    texts = [f"{mean:.1f}" for mean in means]
    texts[means.argmax()] = f"**{texts[means.argmax()]}**"
    return " | ".join(texts)


def keel_leads(beyond, splits):
    """Leads of RareClassifier on KEEL's data sets at even positions: in F1, and in precision."""
    even = sorted(list_datasets("keel"))[1::2]
    rows = beyond[(beyond.test_size == 0.5) & beyond.dataset.isin(even) & beyond.split.isin(splits)]
    f1 = rows.pivot_table("f1", "dataset", "learner")
    precision = 100 * rows.pivot_table("average_precision", "dataset", "learner")
    rare = "RareClassifier-fast"
    return f1.rsub(f1[rare], axis=0), precision.rsub(precision[rare], axis=0)


def lead_text(lead):
    return f"{lead.mean():.1f} ± {lead.sem():.1f}".replace("-", "−")


def test_leads_in_the_rare_regime(beyond):
    f1, precision = keel_leads(beyond, range(6, 11))
    text = (RESULTS / "README.md").read_text()
    for title in ("plain 3-NN", "gradient boosting (XGBoost)", "SVM, Laplacian kernel"):
        lead, lead_precision = f1[LEARNERS[title]], precision[LEARNERS[title]]
        counts = [(lead > 1e-9).sum(), (lead.abs() <= 1e-9).sum(), (lead < -1e-9).sum()]
        cells = f"{lead_text(lead)} | {', '.join(map(str, counts))} | {lead_text(lead_precision)} |"
        assert re.search(rf"^\| {re.escape(title)} \|.*\| {re.escape(cells)}$", text, re.MULTILINE)
    svm, plain = f1["SVM-laplacian"], f1["Euclidean"]
    short = {
        "SVM": lead_text(svm),
        "XGBoost": lead_text(f1["gradient-boosting"]),
        "precision": lead_text(precision["SVM-laplacian"]),
    }
    for page in ("README.md", "docs/beyond.md"):
        words = " ".join((ROOT / page).read_text().split())
        assert short["SVM"] in words
        assert f"{short['XGBoost']} points" in words
        assert f"{short['precision']} points ahead" in words
    words = " ".join((ROOT / "README.md").read_text().split())
    assert f"on {(svm < -1e-9).sum()} of KEEL's 50, by up to {-svm.min():.0f} points" in words
    numbers = {2: "two", 3: "three", 4: "four"}
    n_behind = numbers[(plain < -1e-9).sum()]
    assert f"on {n_behind} of these 50, by up to {-plain.min():.0f} points" in words


def test_earlier_version_in_the_rare_regime(beyond):
    even = sorted(list_datasets("keel"))[1::2]
    rows = beyond[(beyond.test_size == 0.5) & beyond.dataset.isin(even) & (beyond.split <= 5)]
    f1 = rows.pivot_table("f1", "dataset", "learner").mean()
    words = " ".join((ROOT / "README.md").read_text().split())
    rare, svm = f1["RareClassifier-fast"], f1["SVM-laplacian"]
    assert f"an earlier version had a mean F1 of {rare:.1f}, and the SVM {svm:.1f}" in words


@pytest.fixture(scope="module")
def large():
    """F1 and average precision on each large table, in percent, by study and learner."""
    rows = finished_tasks("large.csv.gz")
    rows = rows.assign(ap=100 * rows.average_precision)
    found = {}
    for name in ("large-unseen", "large-chosen", "large-fars"):
        study = read_study(ROOT / "paper" / f"{name}.toml")
        own = rows[rows.dataset.isin(study.datasets)]
        both = own.pivot_table(["f1", "ap"], ["dataset", "split"], "learner").dropna()
        assert len(both) == len(study.datasets) * study.splits
        found[name] = both.groupby("dataset").mean()
    return found


def lead_over_boosting(means):
    return means["RareClassifier-fast"] - means["gradient-boosting"]


def test_large_tables_in_the_readme(large):
    text = (ROOT / "README.md").read_text()
    for title, column in (("mean F1", "f1"), ("average precision", "ap")):
        means = large["large-unseen"][column]
        lead = lead_over_boosting(means)
        first, second = means.mean()[["gradient-boosting", "RareClassifier-fast"]]
        cells = f"{first:.1f} | **{second:.1f}** | {lead_text(lead)}"
        assert f"| {title} | {cells} | {(lead > 0).sum()} of {len(lead)} |" in text
    lead = lead_over_boosting(large["large-fars"]["ap"])
    higher, lower = f"{lead.max():.1f} points higher", f"{-lead.min():.1f} points lower"
    assert f"{higher} on one of them, and {lower} on the other" in " ".join(text.split())
    words = " ".join((ROOT / "docs" / "beyond.md").read_text().split())
    f1, precision = (lead_text(lead_over_boosting(large["large-unseen"][c])) for c in ("f1", "ap"))
    assert f"it is {f1} points of F1 and {precision} points of average precision ahead" in words


def test_the_largest_tables_on_the_page_of_the_decision(large):
    text = (ROOT / "docs" / "decisions" / "0010-log-odds-of-trees.md").read_text()
    for name, row in large["large-fars"]["ap"].iterrows():
        after = f"{row['RareClassifier-fast']:.1f} | {row['gradient-boosting']:.1f} |"
        assert re.search(rf"\| {name} \| [\d.]+ \| {re.escape(after)}", text)


def test_large_tables_on_the_page_of_results(large):
    text = (RESULTS / "README.md").read_text()
    for name, means in large.items():
        cells = [f"`{name}`", str(len(means))]
        for column in ("f1", "ap"):
            own = means[column]
            cells += [
                f"{own[key].mean():.1f}" for key in ("gradient-boosting", "RareClassifier-fast")
            ]
            cells.append(lead_text(lead_over_boosting(own)))
        assert f"| {' | '.join(cells)} |" in text
    everything = pd.concat(large.values())
    precision = lead_over_boosting(everything["ap"])
    worst = precision.idxmin()
    words = " ".join(text.split())
    assert f"on `{worst}`, by {-precision.min():.1f} points of average precision" in words
    behind = sorted(precision.index[precision < 0])
    assert f"behind on {len(behind)} of the {len(precision)} tables" in words
    for column in ("f1", "ap"):
        first, second = everything[column].mean()[["gradient-boosting", "RareClassifier-fast"]]
        assert f"{second:.1f} against {first:.1f}" in words


def claims(about):
    """What our runs say about the claims of the paper that begin like this."""
    text = (RESULTS / "faithfulness.md").read_text()
    found = re.findall(rf"^\| {re.escape(about)}[^|]*\|([^|]*)\|", text, re.MULTILINE)
    assert len(found) == 1
    return found[0]


def test_claims_about_imbalance_in_the_readme():
    text = " ".join((ROOT / "README.md").read_text().split())
    robust = claims("In the mean over the data sets, IML is always the most robust")
    n_shares = re.search(r"highest mean at (\d+) of (\d+) shares", robust).groups()
    words = {"5": "five", "6": "six", "7": "seven", "8": "eight", "9": "nine", "10": "ten"}
    assert "at {} of {} shares".format(*(words[n] for n in n_shares)) in text
    lead = re.search(r"IML minus LMNN \+(.+ ± [\d.]+)", robust).group(1)
    assert f"its lead over LMNN is {lead} points" in text
    rare = claims("The weights of the pair sets help: IML is better than ML2 at 5 % and less")
    lead, n_ahead, n = re.search(r"\+(.+), ahead on (\d+) of (\d+)", rare).groups()
    assert f"ML2 is {lead} points behind" in text
    assert f"behind on {words[n_ahead]} of the {words[n]} data sets" in text


def test_the_number_of_splits_with_increasing_imbalance():
    """On all pages that name it, and what `make paper` runs."""
    rows = finished_tasks("paper.csv.gz")
    n = rows[rows.share.notna()].groupby(["learner", "dataset"]).split.nunique().unique().tolist()
    assert len(n) == 1
    pages = {
        "Makefile": f"ITERATIONS ?= {n[0]}\n",
        "README.md": f"--splits {n[0]}`",
        "docs/faq.md": f"with {n[0]} of 20",
        "docs/paper.md": f"and {n[0]} of 20",
        "docs/results/README.md": f"have {n[0]} of the\npaper's 20 splits",
    }
    for page, sentence in pages.items():
        assert sentence in (ROOT / page).read_text()


def test_numbers_of_data_sets():
    n, n_large = len(list_datasets()), len(list_datasets("large"))
    assert f"{n} data sets by name" in (ROOT / "docs" / "from-imbalanced-learn.md").read_text()
    for page in ("README.md", "docs/datasets.md"):
        assert f"{n_large} large tables" in (ROOT / page).read_text()


def test_gains_with_smote(paper_means):
    text = " ".join((ROOT / "docs" / "from-imbalanced-learn.md").read_text().split())
    f1 = paper_means
    gains = f1["smote"] - f1["none"]
    assert f"({lead_text(gains['Euclidean'])}; IML: {lead_text(gains['IML'])})" in text
    lead = f1["smote", "IML"] - f1["smote", "Euclidean"]
    assert f"With SMOTE, IML is {lead_text(lead)} points ahead of the Euclidean distance" in text


def test_number_of_methods_of_the_first_study():
    words = {5: "five", 6: "six", 7: "seven", 8: "eight"}
    n = len(read_study(ROOT / "paper" / "table2.toml").learners)
    text = (ROOT / "docs" / "study.md").read_text()
    assert f"tune and test {words[n]} methods on 22 data sets" in text


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
        if name in ("RareClassifier-fast", "SVM-laplacian"):
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


def test_earlier_methods_for_imbalanced_classes(paper_means):
    """DMBK and IterativeLMNN in Table 2: on the page of baselines, and in the readme."""
    f1 = paper_means["none"]
    text = (ROOT / "docs" / "baselines.md").read_text()
    for name in ("DMBK", "IterativeLMNN", "LMNN"):
        lead = f1["IML"] - f1[name]
        assert (
            f"| `{name}` | {f1[name].mean():.1f} | {lead_text(lead)} | {(lead > 0).sum()}" in text
        )
    words = " ".join((ROOT / "README.md").read_text().split())
    means = f1.mean()
    assert f"{means['DMBK']:.1f} (`DMBK`) and {means['IterativeLMNN']:.1f} (`Iter" in words
    assert f"over `DMBK`, {lead_text(f1['IML'] - f1['DMBK'])}, is within the noise" in words
    ours, printed = re.findall(
        r"^\| Table 2 \| (?:ours|paper, as printed) \|.* ([\d.]+) \|$",
        (RESULTS / "faithfulness.md").read_text().split("**Average ranks")[1],
        re.MULTILINE,
    )
    assert (
        f"rank of IML is {ours}, the best of the five, but not as good as in the paper ({printed})"
        in words
    )


def test_scores_on_the_page_of_baselines():
    """The table, and the sentences about the variants."""
    paths = (RESULTS / "repeats.csv.gz", ROOT / "benchmarks" / "results" / "baselines.csv.gz")
    rows = pd.concat([pd.read_csv(path, skiprows=1) for path in paths])
    rows = rows.drop_duplicates(["dataset", "split", "learner"])
    rows["f1"] = 200 * rows.tp / (2 * rows.tp + rows.fp + rows.fn)
    means = rows.pivot_table("f1", "dataset", "learner")
    first = rows[rows.split <= 10].pivot_table("f1", "dataset", "learner")
    text = (ROOT / "docs" / "baselines.md").read_text()
    cell = r"\| ([\d.]+) \(([\d.]+)\) "
    pattern = rf"^\| (\w+) {cell}\| [\d.]+ {cell}\| [\d.]+ {cell}\| [\d.]+ {cell}\|$"
    table = re.findall(pattern, text, re.MULTILINE)
    assert len(table) == 6
    for dataset, *shown in table:
        names = ("LMNN", "ITML", "GMML", "GMML balanced")
        values = [part.loc[dataset, name] for name in names for part in (means, first)]
        assert [float(number) for number in shown] == pytest.approx(values, abs=0.0501)
    hinge = [f"{means.loc[row[0], 'LMNN hinge']:.1f}" for row in table[:4]]
    assert "{}, {}, {} and {} on the\nfirst four data sets".format(*hinge) in text
    assert f"an F1 of\n{first.loc['newthyroid', 'ITML exact step']:.1f}, and tuning" in text
    assert f"({means.loc['spectfheart', 'ITML exact step']:.1f} with the exact projection" in text


def test_limits_of_iml_in_the_readme():
    """The data sets on which tuned IML gains less than one point over the Euclidean distance."""
    table = (RESULTS / "table2.md").read_text().split("\n\n")[1]
    rows = re.findall(r"^\| (\w+) \| [\d–]+ \| (.*) \|$", table, re.MULTILINE)
    assert len(rows) == 22
    gains = {}
    learners = re.search(r"^\| Data set \| Splits \| (.*) \|$", table, re.MULTILINE).group(1)
    learners = learners.split(" | ")
    for name, cells in rows:
        texts = [cell.strip("* ").split(" ")[0].strip("*") for cell in cells.split("|")]
        means = dict(zip(learners, map(float, texts), strict=True))
        gains[name] = round(means["IML"] - means["Euclidean"], 1)
    text = " ".join((ROOT / "README.md").read_text().split())
    behind = re.search(r"tuned IML is behind the Euclidean distance on (.*?), and its gain", text)
    assert {name: -gain for name, gain in gains.items() if gain < 0} == {
        name: float(points)
        for name, points in re.findall(r"`(\w+)` \(by ([\d.]+)", behind.group(1))
    }
    small = re.search(r"its gain is less than one point on ((?:`\w+`(?:, | and )?)+)", text)
    assert {name for name, gain in gains.items() if 0 <= gain < 1} == {
        *re.findall(r"`(\w+)`", small.group(1))
    }


def test_times_of_comparisons():
    text = (ROOT / "docs" / "own-tables.md").read_text()
    seconds = [int(number) for number in re.findall(r"\| yes \| (\d+) \|$", text, re.MULTILINE)]
    shown = f"took {min(seconds)} to {max(seconds)} CPU seconds on each of [ten files]"
    assert len(seconds) == 10
    assert shown in (ROOT / "docs" / "table.md").read_text()


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
