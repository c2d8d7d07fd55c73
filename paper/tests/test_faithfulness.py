"""The paper's claims: verdicts on results made by hand, and the page for all kinds of stores."""

import dataclasses
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from paper import share_claims, table_claims
from paper.claims import CLAIMS
from paper.faithfulness import beside_grids, faithfulness_page, is_complete, is_reproduction
from paper.printed import PRINTED_LEARNERS, RESAMPLING_OF, paper_datasets, paper_table
from paper.report import write_paper_report
from paper.table_claims import Runs
from paper.tests.synthetic import paper_like, tables_of, whole_paper
from paper.tests.test_printed import PRINTED_RANKS
from paper.verdicts import FAILS, HOLDS, NOT_RUN, OPEN, PART, better, equal, leads_of, not_worse
from raremetric.study import StudyResults
from tests.study.report.synthetic import results_of, row, share_studies


def runs_of(*results):
    return Runs(tables_of(*results))


def exact(f1, n_positive=1000):
    """Counts with this F1, to a thousandth, and an accuracy that depends on it."""
    tp = round(n_positive * f1)
    return {"tn": 2000, "fp": n_positive - tp, "fn": n_positive - tp, "tp": tp}


def shares_by_hand(curves, name="imbalance", n_splits=2):
    """One study by share: (data set, learner) → F1 at each share, 1 % more in the second split."""
    rows = [
        row(dataset, learner, split, exact(f1 + 0.01 * (split - 1)), share=share)
        for (dataset, learner), points in curves.items()
        for share, f1 in points.items()
        for split in range(1, n_splits + 1)
    ]
    return results_of(rows, name)


def five(points_of_iml, points_of_others):
    """The same curve for the four other methods."""
    curves = {("spectfheart", name): points_of_others for name in PRINTED_LEARNERS}
    return curves | {("spectfheart", "IML"): points_of_iml}


@pytest.fixture(scope="module")
def synthetic():
    """All five experiments, with made-up results."""
    return whole_paper()


@pytest.fixture(scope="module")
def runs(synthetic):
    return runs_of(*synthetic)


SPREAD = np.tile([0.2, -0.1, 0.4, -0.3, 0.1, -0.2], 3) + np.linspace(0, 0.01, 18)


@pytest.mark.parametrize(
    ("means", "verdicts"),
    [  # of: better, equal, not worse
        ([2.0, 3.0], (HOLDS, FAILS, HOLDS)),
        ([2.0, 0.0], (PART, PART, HOLDS)),
        ([0.0, 0.0], (OPEN, HOLDS, HOLDS)),
        ([0.0, -3.0], (FAILS, PART, PART)),
        ([-3.0, -3.0], (FAILS, FAILS, FAILS)),
    ],
)
def test_verdicts_by_hand(means, verdicts):
    names = [f"d{i}" for i in range(18)]
    leads = leads_of(pd.DataFrame({f"c{m}{i}": m + SPREAD for i, m in enumerate(means)}, names))
    found = (better(leads.values()), equal(leads.values()), not_worse(leads.values()))
    assert found == verdicts


def test_large_differences_that_vary_show_nothing():
    leads = leads_of(pd.DataFrame({"a": 30 * SPREAD}, [f"d{i}" for i in range(18)])).values()
    assert (better(leads), equal(leads), not_worse(leads)) == (OPEN, OPEN, OPEN)


def test_numbers_in_the_claims_are_the_papers():
    texts = " ".join(claim.text for claim in CLAIMS)
    table = paper_table("table2")
    exchanged = {"LMNN": "GMML", "GMML": "LMNN"}
    for name in PRINTED_LEARNERS:
        assert f"{name} {table.mean_row[exchanged.get(name, name)].mean}" in texts
    for name in exchanged:
        assert re.search(rf"headings give .*{name} {table.mean_row[name].mean}", texts)
    ranks = [paper_table(name).average_ranks["IML"] for name in RESAMPLING_OF]
    assert ", ".join(f"{rank:.2f}" for rank in ranks) in texts


def test_sizes_of_the_data_sets():
    finding = table_claims.dataset_sizes(Runs([]))
    assert finding.verdict == PART
    assert finding.ours.startswith("19 of 22 data sets agree.")
    assert set(re.findall(r"(\w+): \d", finding.ours)) == {"iono", "glass", "pageblocks", "paper"}


def test_nothing_was_run():
    findings = {claim.text: claim.check(Runs([])) for claim in CLAIMS[1:]}
    assert {finding.verdict for finding in findings.values()} == {NOT_RUN}


def test_all_claims_are_checked(runs):
    missing = [claim for claim in CLAIMS if claim.check(runs).verdict == NOT_RUN]
    assert [claim.find for claim in missing] == [table_claims.iml_beats_rivals]


def test_leads_of_iml_against_pandas(synthetic, runs):
    rows = synthetic[0].rows
    f1 = (200 * rows["tp"] / (2 * rows["tp"] + rows["fp"] + rows["fn"])).groupby(
        [rows["dataset"], rows["learner"]]
    )
    means = f1.mean().unstack()
    finding = table_claims.best_mean(runs, names=["table2"])
    assert finding.ours.startswith(f"Table 2: IML {means['IML'].mean():.1f}, minus ")
    p_values = {}
    for name, other in combinations(PRINTED_LEARNERS, 2):
        difference = (means[other] - means[name]).round(6)
        p_values[name, other] = wilcoxon(difference[difference != 0]).pvalue
        if other == "IML":
            text = f"{name} +{difference.mean():.1f} (SE {difference.sem():.1f}, p"
            assert text in finding.ours
    # Holm: the i-th smallest of ten p-values times 11 − i, but not below the one before.
    ordered = sorted(p_values, key=p_values.get)
    place = ordered.index(("Euclidean", "IML"))
    corrected = max((10 - i) * p_values[pair] for i, pair in enumerate(ordered[: place + 1]))
    assert f"p = {corrected:.3f}), LMNN" in finding.ours
    assert len(runs.families["Table 2"].columns) == 10


def test_gains_use_the_splits_of_both_settings():
    plain, smote = paper_like("table2", n_splits=4), paper_like("table3-smote", n_splits=2, seed=5)
    finding = table_claims.smote_helps(runs_of(plain, smote))
    keys = ["dataset", "split", "learner"]
    parts = [
        rows.assign(f1=200 * rows["tp"] / (2 * rows["tp"] + rows["fp"] + rows["fn"]))[[*keys, "f1"]]
        for rows in (plain.rows, smote.rows)
    ]
    both = parts[0].merge(parts[1], on=keys)
    assert both["split"].max() == 2
    gain = (both["f1_y"] - both["f1_x"]).groupby([both["learner"], both["dataset"]]).mean()
    for name in PRINTED_LEARNERS:
        assert f"{name} +{gain[name].mean():.1f} (SE {gain[name].sem():.1f}" in finding.ours
    # The paper's own columns: 71.1 instead of 67.3.
    assert "as printed: Euclidean +3.8 (SE " in finding.ours


def test_smallest_drop_by_hand():
    others = {0.5: 0.8, 0.3: 0.7, 0.1: 0.2}
    runs = runs_of(shares_by_hand(five({0.5: 0.9, 0.3: 0.75, 0.1: 0.4}, others)))
    finding = share_claims.smallest_drop(runs)
    assert finding.verdict == PART
    assert "to 30 %: Euclidean 10.0, IML 15.0; to 10 %: IML 50.0." in finding.ours
    assert finding.ours.endswith("IML has the highest F1 at 50 %, 30 %, 10 %")
    least = runs_of(shares_by_hand(five({0.5: 0.8, 0.3: 0.75, 0.1: 0.4}, others)))
    assert share_claims.smallest_drop(least).verdict == HOLDS
    most = runs_of(shares_by_hand(five({0.5: 0.9, 0.3: 0.6, 0.1: 0.1}, others)))
    assert share_claims.smallest_drop(most).verdict == FAILS


def test_steps_by_hand():
    points = {0.5: 0.8, 0.3: 0.7, 0.1: 0.75}
    runs = runs_of(shares_by_hand(five({0.5: 0.9, 0.3: 0.6, 0.1: 0.1}, points)))
    falls = share_claims.f1_falls(runs, learners=("Euclidean", "LMNN", "ITML", "GMML"))
    assert falls.verdict == PART
    assert "it falls in 4 of 8 steps" in falls.ours
    assert share_claims.f1_falls(runs, learners=("IML",)).verdict == HOLDS
    assert share_claims.smallest_share(runs).verdict == HOLDS
    # F1 is the recall here: as many false positives as false negatives.
    missed = share_claims.positives_missed(runs)
    assert missed.verdict == FAILS
    assert missed.ours.endswith("from 80.5 at 50 % to 75.5 at 10 %")
    # Accuracy at F1 0.755: (2000 + 755) / (2000 + 755 + 2 · 245).
    accurate = share_claims.accuracy_near_100(runs)
    assert accurate.verdict == FAILS
    assert accurate.ours.startswith(f"{275500 / 3245:.1f} % at 10 %")
    assert share_claims.accuracy_rises(runs).verdict == FAILS


@pytest.mark.parametrize(
    ("at_20", "verdict", "text"),
    [
        (0.70, PART, "at 1 of 2 shares; at 20 % Euclidean has 72.5, IML 70.5."),
        (0.80, OPEN, "at 2 of 2 shares."),  # one data set has no standard error
    ],
)
def test_best_at_each_share_by_hand(at_20, verdict, text):
    curves = five({0.5: 0.9, 0.2: at_20}, {0.5: 0.8, 0.2: 0.72})
    finding = share_claims.best_at_each_share(runs_of(shares_by_hand(curves)))
    assert finding.verdict == verdict
    assert f"IML has the highest mean {text}" in finding.ours


def ablation(of_iml, of_ml2, of_ml1):
    """Three data sets, whose F1 differ by a tenth, with the given curves."""
    points = {"IML": of_iml, "ML2": of_ml2, "ML1": of_ml1}
    shifts = {"wine": 0.0, "glass": 0.1, "heart": 0.2}
    curves = {
        (dataset, learner): {share: f1 + shift for share, f1 in curve.items()}
        for dataset, shift in shifts.items()
        for learner, curve in points.items()
    }
    return runs_of(shares_by_hand(curves, "ablation"))


def test_variants_by_hand():
    runs = ablation({0.5: 0.5, 0.2: 0.45, 0.05: 0.4}, {0.5: 0.5, 0.2: 0.4, 0.05: 0.3}, {
        0.5: 0.45, 0.2: 0.42, 0.05: 0.3
    })  # fmt: skip
    same = share_claims.variants_when_balanced(runs, degrade=False)
    assert "IML minus ML2 0.0 (SE 0.0, p < 0.001), IML minus ML1 +5.0 (SE 0.0, p = 1" in same.ours
    assert same.verdict == PART
    assert share_claims.variants_when_balanced(runs, degrade=True).verdict == HOLDS
    weights = share_claims.variant_ahead(runs, first="IML", second="ML2", rare=False)
    assert weights.verdict == OPEN  # of three data sets, Wilcoxon's test can show nothing
    assert weights.ours.startswith("IML minus ML2 +5.0 (SE 0.0, p = 0.750), ahead on 3 of 3 data ")
    rare = share_claims.variant_ahead(runs, first="IML", second="ML2", rare=True)
    assert "+10.0" in rare.ours
    pairs = share_claims.variant_ahead(runs, first="ML2", second="ML1", rare=False)
    assert pairs.ours.startswith("ML2 minus ML1 −2.0")


def test_rivals_beyond_the_paper(synthetic):
    rows = synthetic[0].rows
    plain = rows[rows["learner"] == "Euclidean"]
    parts = [rows, *(plain.assign(learner=name) for name in table_claims.RIVALS)]
    runs = runs_of(results_of(pd.concat(parts), "table2"))
    finding = table_claims.iml_beats_rivals(runs)
    assert finding.verdict == HOLDS
    assert finding.ours.startswith("IML minus DMBK +")
    same = table_claims.best_rank(runs, names=["table2"])
    assert same == table_claims.best_rank(runs_of(synthetic[0]), names=["table2"])


def test_ranks_beside_the_papers(runs):
    _, ranks = beside_grids(runs)
    found = {(row[0].text, row[1].text): [cell.text for cell in row[2:]] for row in ranks.rows}
    for name, title in table_claims.TABLES.items():
        printed = [f"{rank:.2f}" for rank in PRINTED_RANKS[name]]
        assert found[title, "paper, as printed"] == printed
        euclidean, lmnn, itml, gmml, iml = printed
        assert found[title, "paper, exchanged"] == [euclidean, gmml, itml, lmnn, iml]


def page_in(folder):
    text = (folder / "faithfulness.md").read_text("utf-8")
    links = re.findall(r"\]\(([^)#]+)\)", text)
    assert set(links) <= {path.name for path in folder.iterdir()}
    return text


def page_of(results, out):
    write_paper_report(results, out, title="t", details={})
    return page_in(out)


@pytest.mark.long
def test_page_of_all_experiments(whole):
    text = page_in(whole)
    assert "**The runs are not complete**" in text
    for number in (1, 3, 4, 5):
        assert f"![Our counterpart of Figure {number}](" in text
    claims = re.findall(
        r"\| (?:\*\*)?[a-z ]+(?:\*\*)? \| [^|]+ \| `study run .*` \|$", text, re.MULTILINE
    )
    assert len(claims) == len(CLAIMS) - 1  # without that of Table 1
    assert "Not run" not in text
    counts = [int(number) for number in re.findall(r"^- \*\*.*\*\* \((\d+)\)", text, re.MULTILINE)]
    assert sum(counts) == len(CLAIMS)
    assert not re.search(r"\{[%{]|nan", text)


def complete(results, fingerprint="aa"):
    """Repeat the first split until there are 20."""
    first = results.rows[results.rows["split"] == 1]
    rows = pd.concat([first.assign(split=split) for split in range(1, 21)])
    return StudyResults(results.study, rows.assign(fingerprint=fingerprint))


@pytest.mark.long
@pytest.mark.usefixtures("empty_figures")
def test_complete_means_all_data_sets_and_splits_of_one_code(synthetic):
    def sets(results):
        """All 22 data sets at two shares."""
        rows = results.rows[results.rows["dataset"] == "spectfheart"]
        rows = rows[rows["share"].isin((0.5, 0.1))]
        rows = pd.concat([rows.assign(dataset=name) for name in paper_datasets()])
        study = dataclasses.replace(results.study, datasets=tuple(paper_datasets()))
        return StudyResults(study, rows)

    studies = [complete(each) for each in (*synthetic[:3], *map(sets, synthetic[3:]))]
    assert is_complete(tables_of(*studies))
    assert not is_complete(tables_of(*studies[:4]))
    mixed = tables_of(*studies[:4], complete(sets(synthetic[4]), "bb"))
    page = faithfulness_page(mixed, None)[0]
    assert "complete, but **computed with several states of the code**" in page
    page = faithfulness_page(mixed[1:], None)[0]
    text = "as the first table shows, and were computed with several states of the code."
    assert text in " ".join(page.split())


def test_page_of_a_part(tmp_path):
    results = paper_like(n_splits=2, datasets=["wine", "glass"])
    late = (results.rows["learner"] == "LMNN") & (results.rows["dataset"] == "glass")
    text = page_of([StudyResults(results.study, results.rows[~late])], tmp_path)
    assert "| table2 | 0–2 of 20 | 2 | 5 | 18 | unknown |" in text
    assert "Not run." in text
    assert "**not run**" in text


@pytest.mark.usefixtures("empty_figures")
def test_page_without_the_tables(tmp_path):
    text = page_of(share_studies(), tmp_path)
    assert "## The cells of Tables 2 and 3" not in text
    assert "## Means and average ranks" not in text


def test_no_page_for_other_studies(tmp_path):
    reference = results_of(
        [row("wine", name, 1, exact(0.9)) for name in ("IML", "IML-reference")],
        "table2",
    )
    assert not is_reproduction(tables_of(reference))
    files = write_paper_report([reference], tmp_path, title="t", details={})
    names = {path.name for path in files}
    assert "faithfulness.md" not in names
    assert {"cells.csv", "cells.md", "cells.svg"} <= names
