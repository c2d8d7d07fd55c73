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
RARE, BOOSTING = "RareClassifier-fast", "gradient-boosting"
WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
)  # fmt: skip


def one_line(page):
    """A page of the repository without line breaks."""
    return " ".join((ROOT / page).read_text().split())


def finished_tasks(name):
    """The finished tasks of exported results, with their F1 and average precision in percent."""
    rows = pd.read_csv(RESULTS / name, skiprows=1).query("status == 'done'")
    f1 = 200 * rows.tp / (2 * rows.tp + rows.fp + rows.fn)
    return rows.assign(f1=f1, ap=100 * rows.average_precision)


def lead_text(lead):
    return f"{lead.mean():.1f} ± {lead.sem():.1f}".replace("-", "−")


def row_of(means):
    """The cells of a row, the highest one in bold."""
    texts = [f"{mean:.1f}" for mean in means]
    texts[means.argmax()] = f"**{texts[means.argmax()]}**"
    return " | ".join(texts)


def assert_on(page, *sentences):
    """Each of the sentences, or rows of a table, is on the page."""
    text = one_line(page)
    for sentence in sentences:
        assert sentence in text, f"{page}: {sentence}"


# RareClassifier and its alternatives


@pytest.fixture(scope="module")
def beyond():
    return finished_tasks("beyond.csv.gz")


@pytest.fixture(scope="module")
def on_paper_data(beyond):
    """Means of F1 and average precision on the data sets of the paper, by learner."""
    return beyond[beyond.test_size != 0.5].pivot_table(["f1", "ap"], "dataset", "learner")


def keel_leads(beyond, splits):
    """Means on KEEL's data sets at even positions, and the leads of RareClassifier."""
    even = sorted(list_datasets("keel"))[1::2]
    rows = beyond[(beyond.test_size == 0.5) & beyond.dataset.isin(even) & beyond.split.isin(splits)]
    means = rows.pivot_table(["f1", "ap"], "dataset", "learner")
    return means, {each: means[each].rsub(means[each][RARE], axis=0) for each in ("f1", "ap")}


def test_means_and_leads_beyond_the_paper(on_paper_data):
    f1, ap = on_paper_data["f1"], on_paper_data["ap"].mean()
    cells = {}
    for title, name in LEARNERS.items():
        lead = f1[RARE] - f1[name]
        cells[title] = f"{f1[name].mean():.1f} | {lead_text(lead)} | {(lead > 0).sum()}"
    n_behind = WORDS[(f1[RARE] < f1["SVM-laplacian"]).sum()]
    assert_on(
        "docs/results/README.md",
        *(f"| {title} | {cell}" for title, cell in cells.items()),
        f"The SVM is ahead on {n_behind} data sets",
        "is {:.1f}, that of the Laplacian SVM {:.1f}, of XGBoost {:.1f}.".format(
            *ap[[RARE, "SVM-laplacian", BOOSTING]]
        ),
    )
    means = " | ".join(f"{f1[name].mean():.1f}" for name in LEARNERS.values())
    assert_on("README.md", f"| {means} | **{f1[RARE].mean():.1f}** |")


def test_means_of_the_rare_regime_in_the_readme(beyond):
    text = one_line("README.md")
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
    f1, ap = (rows.pivot_table(each, "dataset", "learner").mean()[names] for each in ("f1", "ap"))
    few = pd.read_csv(RESULTS / "beyond" / f"{shown}-few.csv", index_col="learner")
    assert_on(
        "README.md",
        f"| mean F1 | {row_of(f1)} |",
        f"| average precision | {row_of(ap)} |",
        f"| F1, few positives | {row_of(few.mean_few[names])} |",
    )
    n_few = re.search(r"the (\d+) data\s+sets with fewer", text).group(1)
    assert {*few.n_few} == {int(n_few)}


def test_leads_in_the_rare_regime(beyond):
    _, leads = keel_leads(beyond, range(6, 11))
    text = (RESULTS / "README.md").read_text()
    for title in ("plain 3-NN", "gradient boosting (XGBoost)", "SVM, Laplacian kernel"):
        lead, lead_ap = (leads[each][LEARNERS[title]] for each in ("f1", "ap"))
        counts = [(lead > 1e-9).sum(), (lead.abs() <= 1e-9).sum(), (lead < -1e-9).sum()]
        cells = f"{lead_text(lead)} | {', '.join(map(str, counts))} | {lead_text(lead_ap)} |"
        assert re.search(rf"^\| {re.escape(title)} \|.*\| {re.escape(cells)}$", text, re.MULTILINE)
    svm, plain = leads["f1"]["SVM-laplacian"], leads["f1"]["Euclidean"]
    for page in ("README.md", "docs/beyond.md"):
        assert_on(
            page,
            lead_text(svm),
            f"{lead_text(leads['f1'][BOOSTING])} points",
            f"{lead_text(leads['ap']['SVM-laplacian'])} points ahead",
        )
    n_behind = WORDS[(plain < -1e-9).sum()]
    means, _ = keel_leads(beyond, range(1, 6))
    earlier = means["f1"].mean()
    assert_on(
        "README.md",
        f"on {(svm < -1e-9).sum()} of KEEL's 50, by up to {-svm.min():.0f} points",
        f"on {n_behind} of these 50, by up to {-plain.min():.0f} points",
        f"an earlier version had a mean F1 of {earlier[RARE]:.1f}, and the SVM "
        f"{earlier['SVM-laplacian']:.1f}",
    )


# Large tables


@pytest.fixture(scope="module")
def large():
    """F1 and average precision on each large table, by study and learner."""
    rows, found = finished_tasks("large.csv.gz"), {}
    for name in ("large-unseen", "large-chosen", "large-fars"):
        study = read_study(ROOT / "paper" / f"{name}.toml")
        own = rows[rows.dataset.isin(study.datasets)]
        both = own.pivot_table(["f1", "ap"], ["dataset", "split"], "learner").dropna()
        assert len(both) == len(study.datasets) * study.splits
        found[name] = both.groupby("dataset").mean()
    return found


def lead_over_boosting(means):
    return means[RARE] - means[BOOSTING]


def test_large_tables(large):
    rows = []
    for title, column in (("mean F1", "f1"), ("average precision", "ap")):
        means = large["large-unseen"][column]
        lead, mean = lead_over_boosting(means), means.mean()
        cells = f"{mean[BOOSTING]:.1f} | **{mean[RARE]:.1f}** | {lead_text(lead)}"
        rows.append(f"| {title} | {cells} | {(lead > 0).sum()} of {len(lead)} |")
    lead = lead_over_boosting(large["large-fars"]["ap"])
    higher, lower = f"{lead.max():.1f} points higher", f"{-lead.min():.1f} points lower"
    assert_on("README.md", *rows, f"{higher} on one of them, and {lower} on the other")
    f1, ap = (lead_text(lead_over_boosting(large["large-unseen"][c])) for c in ("f1", "ap"))
    assert_on(
        "docs/beyond.md", f"it is {f1} points of F1 and {ap} points of average precision ahead"
    )
    text = one_line("docs/decisions/0010-log-odds-of-trees.md")
    for name, row in large["large-fars"]["ap"].iterrows():
        assert re.search(rf"\| {name} \| [\d.]+ \| {row[RARE]:.1f} \| {row[BOOSTING]:.1f} \|", text)


def test_large_tables_on_the_page_of_results(large):
    rows = []
    for name, means in large.items():
        cells = [f"`{name}`", str(len(means))]
        for own in (means["f1"], means["ap"]):
            cells += [f"{own[key].mean():.1f}" for key in (BOOSTING, RARE)]
            cells.append(lead_text(lead_over_boosting(own)))
        rows.append(f"| {' | '.join(cells)} |")
    everything = pd.concat(large.values())
    lead = lead_over_boosting(everything["ap"])
    for column in ("f1", "ap"):
        mean = everything[column].mean()
        rows.append(f"{mean[RARE]:.1f} against {mean[BOOSTING]:.1f}")
    assert_on(
        "docs/results/README.md",
        *rows,
        f"on `{lead.idxmin()}`, by {-lead.min():.1f} points of average precision",
        f"behind on {(lead < 0).sum()} of the {len(lead)} tables",
    )


# The paper


@pytest.fixture(scope="module")
def paper_means():
    """Mean F1 on each data set of Tables 2 and 3, by resampling and learner."""
    rows = finished_tasks("paper.csv.gz")
    return rows[rows.share.isna()].pivot_table("f1", "dataset", ["resampling", "learner"])


def claims(about):
    """What our runs say about the claims of the paper that begin like this."""
    text = (RESULTS / "faithfulness.md").read_text()
    found = re.findall(rf"^\| {re.escape(about)}[^|]*\|([^|]*)\|", text, re.MULTILINE)
    assert len(found) == 1
    return found[0]


def test_claims_about_imbalance_in_the_readme():
    robust = claims("In the mean over the data sets, IML is always the most robust")
    n_shares = re.search(r"highest mean at (\d+) of (\d+) shares", robust).groups()
    lead = re.search(r"IML minus LMNN \+(.+ ± [\d.]+)", robust).group(1)
    rare = claims("The weights of the pair sets help: IML is better than ML2 at 5 % and less")
    behind, n_ahead, n = re.search(r"\+(.+), ahead on (\d+) of (\d+)", rare).groups()
    assert_on(
        "README.md",
        "at {} of {} shares".format(*(WORDS[int(n)] for n in n_shares)),
        f"its lead over LMNN is {lead} points",
        f"ML2 is {behind} points behind",
        f"behind on {WORDS[int(n_ahead)]} of the {WORDS[int(n)]} data sets",
    )


def test_the_number_of_splits_with_increasing_imbalance():
    """On all pages that name it, and what `make paper` runs."""
    rows = finished_tasks("paper.csv.gz")
    n = rows[rows.share.notna()].groupby(["learner", "dataset"]).split.nunique().unique().tolist()
    assert len(n) == 1
    pages = {
        "Makefile": f"ITERATIONS ?= {n[0]} ",
        "README.md": f"--splits {n[0]}`",
        "docs/faq.md": f"with {n[0]} of 20",
        "docs/paper.md": f"and {n[0]} of 20",
        "docs/results/README.md": f"have {n[0]} of the paper's 20 splits",
    }
    for page, sentence in pages.items():
        assert_on(page, sentence)


def test_numbers_of_data_sets_and_methods():
    n, n_large = len(list_datasets()), len(list_datasets("large"))
    assert_on("docs/from-imbalanced-learn.md", f"{n} data sets by name")
    for page in ("README.md", "docs/datasets.md"):
        assert_on(page, f"{n_large} large tables")
    n_methods = WORDS[len(read_study(ROOT / "paper" / "table2.toml").learners)]
    assert_on("docs/study.md", f"tune and test {n_methods} methods on 22 data sets")


def test_gains_with_smote(paper_means):
    gains = paper_means["smote"] - paper_means["none"]
    lead = paper_means["smote", "IML"] - paper_means["smote", "Euclidean"]
    assert_on(
        "docs/from-imbalanced-learn.md",
        f"({lead_text(gains['Euclidean'])}; IML: {lead_text(gains['IML'])})",
        f"With SMOTE, IML is {lead_text(lead)} points ahead of the Euclidean distance",
    )


def test_first_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(from .*?)```", text, re.DOTALL).group(1)
    exec(code, {})
    exec(code.replace("import IML,", "import Euclidean,").replace("IML()", "Euclidean()"), {})
    learned, plain = capsys.readouterr().out.split()
    sentence = f"This prints {learned}. With `Euclidean()` in place of `IML()`, it prints {plain}."
    assert_on("README.md", sentence)


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


@pytest.fixture(scope="module")
def table2():
    """The means of Table 2 as the report shows them, in percent."""
    return pd.read_csv(RESULTS / "table2.csv").pivot_table("mean", "dataset", "learner")


def test_means_in_the_readme_are_those_of_the_report(table2):
    text = (ROOT / "README.md").read_text()
    names = (
        re.search(r"^\| \| (Euclidean \| LMNN .*) \|$", text, re.MULTILINE).group(1).split(" | ")
    )
    assert_on("README.md", f"| here | {row_of(table2.mean()[names])} |")


def test_limits_of_iml_in_the_readme(table2):
    """The data sets on which tuned IML gains less than one point over the Euclidean distance."""
    assert len(table2) == 22
    gains = (table2["IML"].round(1) - table2["Euclidean"].round(1)).round(1)
    text = one_line("README.md")
    behind = re.search(r"tuned IML is behind the Euclidean distance on (.*?), and its gain", text)
    points = re.findall(r"`(\w+)` \(by ([\d.]+)", behind.group(1))
    assert {name: float(each) for name, each in points} == (-gains[gains < 0]).to_dict()
    small = re.search(r"its gain is less than one point on ((?:`\w+`(?:, | and )?)+)", text)
    assert {*re.findall(r"`(\w+)`", small.group(1))} == {*gains.index[(gains >= 0) & (gains < 1)]}


def test_earlier_methods_for_imbalanced_classes(paper_means):
    """DMBK and IterativeLMNN in Table 2: on the page of baselines, and in the readme."""
    f1, rows = paper_means["none"], []
    for name in ("DMBK", "IterativeLMNN", "LMNN"):
        lead = f1["IML"] - f1[name]
        rows.append(f"| `{name}` | {f1[name].mean():.1f} | {lead_text(lead)} | {(lead > 0).sum()}")
    assert_on("docs/baselines.md", *rows)
    means = f1.mean()
    ours, printed = re.findall(
        r"^\| Table 2 \| (?:ours|paper, as printed) \|.* ([\d.]+) \|$",
        (RESULTS / "faithfulness.md").read_text().split("**Average ranks")[1],
        re.MULTILINE,
    )
    assert_on(
        "README.md",
        f"{means['DMBK']:.1f} (`DMBK`) and {means['IterativeLMNN']:.1f} (`Iter",
        f"over `DMBK`, {lead_text(f1['IML'] - f1['DMBK'])}, is within the noise",
        f"rank of IML is {ours}, the best of the five, but not as good as in the paper ({printed})",
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
