"""The numbers on the pages are those of the committed results."""

import re

import pandas as pd
import pytest

from raremetric.datasets import describe_dataset, list_datasets
from raremetric.study import read_study
from raremetric.study.report import pair_tests
from tests.test_docs import ROOT

RESULTS = ROOT / "docs" / "results"
TITLES = {  # of learners on the page of results
    "Euclidean": "plain 3-NN",
    "IML": "IML, vote",
    "IML-30": "IML, 30 candidates",
    "logistic-regression": "logistic regression",
    "IML-score": "IML, scores and threshold",
    "balanced-forest": "balanced random forest",
    "gradient-boosting": "gradient boosting (XGBoost)",
    "SVM-rbf": "SVM, RBF kernel",
    "SVM-laplacian": "SVM, Laplacian kernel",
    "RareClassifier-thorough": "`RareClassifier`, thorough",
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


def signed(number):
    return f"{number:+.1f}".replace("-", "−")


def p_text(p_value):
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def leads(name):
    """The differences of RareClassifier from each other learner in a report, by learner."""
    return pd.read_csv(RESULTS / f"{name}-lead.csv", index_col="learner")


def means_of(name):
    """The means in a report: data sets × learners."""
    return pd.read_csv(RESULTS / f"{name}.csv").pivot_table("mean", "dataset", "learner")


def lead_text(name, learner="SVM-laplacian", unit=""):
    """As in "+1.7 points of F1, SE 0.6"."""
    lead = leads(name).loc[learner]
    return f"{signed(lead.difference)}{unit}, SE {lead.standard_error:.1f}"


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


@pytest.mark.parametrize(
    "name",
    [
        *("beyond/beyond", "beyond/beyond-later", "beyond/rare-regime-odd"),
        *("beyond/rare-regime-even", "beyond/rare-regime-even-again"),
        *("beyond/rare-regime-even-again-precision", "large/large-other"),
        "large/large-other-precision",
    ],
)
def test_leads_on_the_page_of_results(name):
    means, rows = means_of(name).mean(), []
    for learner, lead in leads(name).iterrows():
        cells = (
            TITLES[learner],
            f"{means[learner]:.1f}",
            f"{signed(lead.difference)} (SE {lead.standard_error:.1f})",
            f"{lead.wins:.0f}, {lead.ties:.0f}, {lead.losses:.0f}",
            p_text(lead.holm),
            p_text(lead.equivalent),
        )
        rows.append(f"| {' | '.join(cells)} |")
    assert_on("docs/results/README.md", *rows, f"| `RareClassifier` | {means[RARE]:.1f} | | | | |")


def test_verdicts_beyond_the_paper():
    """What is said to be significant, or not, is."""
    later, even = leads("beyond/beyond-later"), leads("beyond/rare-regime-even-again")
    assert later.index[(later.holm >= 0.05)].tolist() == ["SVM-laplacian"]
    assert later.loc["SVM-laplacian", "equivalent"] >= 0.05
    for end, significant in (("", ["Euclidean"]), ("-precision", ["Euclidean", BOOSTING])):
        for part in ("", "-intact"):
            found = leads(f"beyond/rare-regime-even-again{part}{end}")
            assert found.index[found.holm < 0.05].tolist() == significant
            assert (found.equivalent >= 0.05).all()
    assert {*even.n_origins} == {18}
    for end in ("", "-precision"):
        assert (leads(f"large/large-other{end}").holm < 0.05).all()
        assert (leads(f"large/large-chosen{end}").holm >= 0.05).all()
    pairs = pd.read_csv(RESULTS / "beyond" / "beyond-tests.csv").set_index(["first", "second"])
    behind = pairs.loc["logistic-regression", "IML"]
    sentence = f"{behind.difference:.1f} points behind (SE {behind.standard_error:.1f}"
    assert_on("docs/results/README.md", sentence)
    assert behind.holm >= 0.05
    assert pairs.loc[("SVM-laplacian", "IML"), "wins"] == 22
    few = pd.read_csv(RESULTS / "beyond" / "rare-regime-even-again-few.csv", index_col="learner")
    assert few.index[few.holm < 0.05].tolist() == ["SVM-laplacian", RARE]


def test_how_the_lead_developed():
    for end in ("odd", "even", "even-again"):
        lead = leads(f"beyond/rare-regime-{end}").loc["SVM-laplacian"]
        text = signed(lead.difference)
        assert_on("docs/results/README.md", f"| {text} (SE {lead.standard_error:.1f}) | ")
        assert_on("README.md", f"{text.strip('+')} ")
        assert lead.holm >= 0.05


def test_files_that_have_lost_decimal_points():
    lost = [n for n in list_datasets("keel") if "lost" in describe_dataset(n).note]
    kept = means_of("beyond/rare-regime-even-again-intact")
    assert sorted(kept.index) == sorted({*sorted(list_datasets("keel"))[1::2]} - {*lost})
    assert len(kept) == 43
    means = [f"{kept[name].mean():.1f}" for name in ("Euclidean", BOOSTING, "SVM-laplacian", RARE)]
    words = "{} (plain 3-NN), {} (XGBoost), {} (SVM) and {} (`RareClassifier`), with the same"
    assert_on("docs/results/README.md", words.format(*means))


def test_means_beyond_the_paper(beyond):
    f1 = means_of("beyond/beyond").mean()
    ap = beyond[beyond.test_size != 0.5].pivot_table("ap", "dataset", "learner").mean()
    names = [
        *("Euclidean", "IML", "logistic-regression", "IML-score", "balanced-forest"),
        *(BOOSTING, "SVM-rbf", "SVM-laplacian"),
    ]
    means = " | ".join(f"{f1[name]:.1f}" for name in names)
    assert_on("README.md", f"| {means} | **{f1[RARE]:.1f}** |")
    words = "is {:.1f}, that of the Laplacian SVM {:.1f}, of XGBoost {:.1f}."
    assert_on("docs/results/README.md", words.format(*ap[[RARE, "SVM-laplacian", BOOSTING]]))


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


def test_leads_in_the_rare_regime():
    even = "beyond/rare-regime-even-again"
    for page, unit in (("README.md", " points of F1"), ("docs/beyond.md", " of F1")):
        assert_on(
            page,
            lead_text(even, unit=unit),
            lead_text(f"{even}-precision", unit=" of average precision"),
            f"({lead_text(even, BOOSTING)})",
            f"({lead_text(f'{even}-precision', BOOSTING)})",
        )
    means = means_of(even)
    svm, plain = (means[RARE] - means[name] for name in ("SVM-laplacian", "Euclidean"))
    n_behind = WORDS[(plain < -1e-9).sum()]
    assert_on(
        "README.md",
        f"on {(svm < -1e-9).sum()} of KEEL's 50, by up to {-svm.min():.0f} points",
        f"on {n_behind} of these 50, by up to {-plain.min():.0f} points",
    )


# Large tables


@pytest.fixture(scope="module")
def large():
    """F1 and average precision on each large table, by study and learner."""
    rows, found = finished_tasks("large.csv.gz"), {}
    for name in ("large-other", "large-chosen", "large-fars"):
        study = read_study(ROOT / "paper" / f"{name}.toml")
        own = rows[rows.dataset.isin(study.datasets)]
        both = own.pivot_table(["f1", "ap"], ["dataset", "split"], "learner").dropna()
        assert len(both) == len(study.datasets) * study.splits
        found[name] = both.groupby("dataset").mean()
    return found


def lead_over_boosting(means):
    return means[RARE] - means[BOOSTING]


def test_large_tables(large):
    rows, words = [], []
    for title, column, end in (("mean F1", "f1", ""), ("average precision", "ap", "-precision")):
        mean = large["large-other"][column].mean()
        lead = leads(f"large/large-other{end}").loc[BOOSTING]
        error = f"(SE {lead.standard_error:.1f})"
        cells = f"{mean[BOOSTING]:.1f} | **{mean[RARE]:.1f}** | {signed(lead.difference)} {error}"
        rows.append(f"| {title} | {cells} | {p_text(lead.holm)} | {lead.wins:.0f} of 9 |")
        unit = "of average precision" if end else "points of F1"
        words.append(f"{lead.difference:.1f} {unit} {error}")
    lead = lead_over_boosting(large["large-fars"]["ap"])
    higher, lower = f"{lead.max():.1f} points higher", f"{-lead.min():.1f} points lower"
    assert_on("README.md", *rows, f"{higher} on one of them, and {lower} on the other")
    assert_on("docs/beyond.md", *words)
    text = one_line("docs/decisions/0010-log-odds-of-trees.md")
    for name, row in large["large-fars"]["ap"].iterrows():
        assert re.search(rf"\| {name} \| [\d.]+ \| {row[RARE]:.1f} \| {row[BOOSTING]:.1f} \|", text)


def test_large_tables_on_the_page_of_results(large):
    rows = []
    for name, means in large.items():
        cells = [f"`{name}`", str(len(means))]
        for own in (means["f1"], means["ap"]):
            cells += [f"{own[key].mean():.1f}" for key in (BOOSTING, RARE)]
        rows.append(f"| {' | '.join(cells)} |")
    lead = lead_over_boosting(pd.concat(large.values())["ap"])
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
    rare = claims("The weights of the pair sets help: IML is better than ML2 at 5 % and less")
    pattern = r"{} [+−]([\d.]+) \((SE [\d.]+), p ([=<] [\d.]+)\)"
    lead, error, p = re.search(pattern.format("LMNN"), robust).groups()
    behind, error_behind, p_behind = re.search(pattern.format("ML2"), rare).groups()
    assert max(float(p[2:]), float(p_behind[2:])) < 0.05
    n_ahead, n = re.search(r"ahead on (\d+) of (\d+)", rare).groups()
    assert_on(
        "README.md",
        "at {} of {} shares".format(*(WORDS[int(n)] for n in n_shares)),
        f"its lead over LMNN is {lead} points ({error}, p {p};",
        f"ML2 is {behind} points ({error_behind}) behind",
        f"behind on {WORDS[int(n_ahead)]} of the {WORDS[int(n)]} data sets",
        f"for such a share (p {p_behind})",
    )


def test_the_number_of_splits_with_increasing_imbalance():
    """What `make paper` runs; of all pages, only generated ones name it."""
    rows = finished_tasks("paper.csv.gz")
    n = rows[rows.share.notna()].groupby(["learner", "dataset"]).split.nunique().unique().tolist()
    assert len(n) == 1
    assert_on("Makefile", f"ITERATIONS ?= {n[0]} ")


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
    shown = {name: f"{gains[name].mean():.1f}, SE {gains[name].sem():.1f}" for name in gains}
    assert_on(
        "docs/from-imbalanced-learn.md",
        f"(Euclidean distance: {shown['Euclidean']}; IML: {shown['IML']})",
        f"With SMOTE, IML is {lead.mean():.1f} points (SE {lead.sem():.1f}) ahead of",
    )
    verdicts = claims("SMOTE improves all methods"), claims("Random under-sampling improves none")
    assert all(float(p) >= 0.05 for text in verdicts for p in re.findall(r"p = ([\d.]+)", text))


def test_first_example_of_the_readme(capsys):
    text = (ROOT / "README.md").read_text()
    code = re.search(r"```python\n(from .*?)```", text, re.DOTALL).group(1)
    exec(code, {})
    exec(code.replace("import IML,", "import Euclidean,").replace("IML()", "Euclidean()"), {})
    learned, plain = capsys.readouterr().out.split()
    sentence = f"This prints {learned}. With `Euclidean()` in place of `IML()`, it prints {plain}."
    assert_on("README.md", sentence)


def test_computation_on_the_page_of_results(capsys, monkeypatch):
    """The p-values that the code on the page prints are those of the claims and of the report."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "results" / "README.md").read_text()
    exec(re.search(r"```python\n(.*?)```", text, re.DOTALL).group(1), {})
    lines = capsys.readouterr().out.strip().split("\n")
    numbers = [float(number) for number in re.findall(r"[\d.]+", lines[2])]
    first = dict(zip(re.findall(r"'([^']+)'", lines[1]), numbers, strict=True))
    pairs = pd.read_csv(RESULTS / "table2-tests.csv").set_index(["first", "second"])["holm"]
    best = claims("IML has the highest mean F1 (")
    for other in ("LMNN", "ITML"):
        p = first[f"IML minus {other}"]
        assert p == pytest.approx(pairs["IML", other], abs=5e-4)
        assert re.search(rf"{other} [^(]+\(SE [\d.]+, p = {p:.3f}\)", best)
    last = dict(
        zip(re.findall(r"'([^']+)'", lines[-2]), lines[-1].strip("[]").split(), strict=True)
    )
    expected = leads("beyond/beyond-later")["holm"].to_dict()
    assert {name: float(p) for name, p in last.items()} == pytest.approx(expected, abs=6e-4)


def test_what_another_family_would_say(paper_means):
    """With seven methods in one table, p-values are larger: the page of results says so."""
    means = paper_means["none"]
    assert len(means.columns) == 7
    pairs = pair_tests(means).set_index(["first", "second"])["holm"]
    shown = f"LMNN (p = {pairs['IML', 'LMNN']:.3f}) and ITML (p = {pairs['IML', 'ITML']:.3f})"
    assert_on("docs/results/README.md", shown)


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
    pairs = pd.read_csv(RESULTS / "rivals-tests.csv").set_index(["first", "second"])
    for name in ("DMBK", "IterativeLMNN"):
        row = pairs.loc["IML", name]
        lead = f"{row.difference:.1f} (SE {row.standard_error:.1f}, p = {row.holm:.3f})"
        rows.append(f"| `{name}` | {f1[name].mean():.1f} | {lead} | {row.wins:.0f}")
        assert min(row.holm, row.equivalent) >= 0.05
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
        f"rank is {ours}, the best of the five, but not as good as in the paper ({printed})",
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
    seconds = [
        int(number) for number in re.findall(r"\| -?\d\.\d\d \| (\d+) \|$", text, re.MULTILINE)
    ]
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
