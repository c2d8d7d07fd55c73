"""Our cells beside the paper's, and where the numbers come from, against separate computations."""

import numpy as np
import pandas as pd
import pytest

from paper.cells import PARTNER, REPEATABILITY, judge_cells, judge_means, verdicts_grid
from paper.printed import paper_table, printed_for
from paper.report import write_paper_report
from paper.table_claims import RIVALS
from paper.tests.synthetic import paper_like, tables_of
from raremetric.datasets import describe_dataset
from raremetric.pages import to_markdown
from raremetric.study.report import origin_grid
from raremetric.study.report.tables import code_text, progress_text
from raremetric.study.tasks import StudyResults
from tests.study.report.synthetic import results_of, row


def exact(f1):
    """Counts whose F1 is exactly a whole number of thousandths."""
    tp = round(1000 * f1)
    return {"tn": 500, "fp": 1000 - tp, "fn": 1000 - tp, "tp": tp}


def rows_of(dataset, learner, scores):
    return [row(dataset, learner, split, exact(f1)) for split, f1 in enumerate(scores, start=1)]


def table_of(rows, **fields):
    (table,) = tables_of(results_of(rows, "table2", **fields))
    return table


def judged(rows):
    return judge_cells([table_of(rows)])


def swapped(results):
    """The same results with the names of LMNN and GMML exchanged."""
    rows = results.rows.assign(learner=results.rows["learner"].replace(PARTNER))
    return StudyResults(results.study, rows)


@pytest.mark.parametrize(
    ("f1", "verdict"), [(0.949, "same"), (0.950, "close"), (0.951, "differs"), (0.948, "close")]
)
def test_the_plain_distance_must_agree_to_the_printed_decimal(f1, verdict):
    # wine, Euclidean: 94.9 in the paper, on the same 20 splits.
    (cell,) = judged(rows_of("wine", "Euclidean", [f1] * 20)).itertuples()
    assert cell.same_splits
    assert cell.standard_error == pytest.approx(0.1 / np.sqrt(12))
    assert cell.difference == pytest.approx(100 * f1 - 94.9)
    assert cell.verdict == verdict


@pytest.mark.parametrize(
    ("scores", "std", "verdict"),
    [
        ([0.5, 0.7], 10, "close"),
        ([0.9], 0, "borderline"),  # one split is judged by the paper's deviation
    ],
)
def test_standard_error_on_other_splits_by_hand(scores, std, verdict):
    # hayes, IML: 56.0 ± 11.4 in the paper.
    (cell,) = judged(rows_of("hayes", "IML", scores)).itertuples()
    n = len(scores)
    assert (cell.same_splits, cell.n_splits) == (False, n)
    pooled = (n * std**2 + 20 * 11.4**2) / (n - 1 + 19)
    error = np.sqrt(pooled / n + pooled / 20 + 0.1**2 / 12)
    assert cell.standard_error == pytest.approx(error)
    assert cell.standard_errors == pytest.approx((100 * np.mean(scores) - 56) / error)
    assert cell.verdict == verdict


@pytest.mark.parametrize("n_splits", [5, 20, 30])
def test_standard_error_on_the_same_splits_by_simulation(n_splits):
    """Two runs over the same splits whose results correlate by ρ: the paper's over 20 of them."""
    rho = REPEATABILITY["IML"]
    rng = np.random.default_rng(0)
    shape = (20_000, max(n_splits, 20))
    common, ours, papers = rng.normal(size=(3, *shape))
    ours = np.sqrt(rho) * common + np.sqrt(1 - rho) * ours
    papers = np.sqrt(rho) * common + np.sqrt(1 - rho) * papers
    deviation = np.std(ours[:, :n_splits].mean(axis=1) - papers[:, :20].mean(axis=1))
    spread = 0.024  # wine, IML: 95.5 ± 2.4 in the paper, so ours has the same deviation
    scores = 0.955 + spread * np.resize([1, -1], n_splits + n_splits % 2)[:n_splits]
    (cell,) = judged(rows_of("wine", "IML", scores)).itertuples()
    assert cell.standard_error == pytest.approx(2.4 * deviation, rel=0.05)


def test_all_330_cells_against_pandas():
    studies = [paper_like(name, seed=1) for name in ("table2", "table3-smote", "table3-rus")]
    cells = judge_cells(tables_of(*studies))
    one = cells[cells["reading"] != "exchanged"]
    assert len(one) == 330
    assert len(cells) == 330 + 132
    for name, study in zip(("table2", "table3-smote", "table3-rus"), studies, strict=True):
        rows = study.rows
        f1 = 200 * rows["tp"] / (2 * rows["tp"] + rows["fp"] + rows["fn"])
        means = f1.groupby([rows["dataset"], rows["learner"]]).mean()
        part = one[one["table"] == name].set_index(["dataset", "learner"])
        pd.testing.assert_series_equal(part["mean"].sort_index(), means, check_names=False)
        for (dataset, learner), cell in part.iterrows():
            assert cell["paper_mean"] == paper_table(name).scores[dataset, learner].mean
            assert cell["same_splits"] == describe_dataset(dataset).paper_order


def test_both_readings_of_the_headings():
    """Columns that were exchanged are the paper's only if they are exchanged back."""
    results = swapped(paper_like(n_splits=20))
    cells = judge_cells(tables_of(results))
    cell = cells.set_index(["dataset", "learner", "reading"])
    assert cell.loc[("splice", "LMNN", "as printed"), "paper_mean"] == 76.3
    assert cell.loc[("splice", "LMNN", "exchanged"), "paper_mean"] == 86.5
    assert cell.loc[("splice", "GMML", "exchanged"), "paper_mean"] == 76.3
    assert cell.loc[("splice", "LMNN", "as printed"), "verdict"] == "differs"
    assert cell.loc[("splice", "LMNN", "exchanged"), "verdict"] != "differs"
    text = to_markdown(verdicts_grid(cells))
    far = {line.split(" | ")[0]: int(line.split(" | ")[5]) for line in text.splitlines()[4:13]}
    assert far["| All methods, headings as printed"] > far["| All methods, headings exchanged"] + 5
    means = judge_means(cells).set_index(["learner", "reading"])
    assert means.loc[("LMNN", "as printed"), "verdict"] == "differs"
    assert means.loc[("LMNN", "exchanged"), "verdict"] in ("same", "close")


def test_means_have_the_error_of_independent_cells():
    cells = judge_cells(tables_of(paper_like(datasets=["wine", "hayes"])))
    (iml,) = judge_means(cells).query("learner == 'IML'").itertuples()
    errors = cells.loc[cells["learner"] == "IML", "standard_error"]
    assert iml.n_datasets == 2
    assert iml.standard_error == pytest.approx(np.sqrt((errors**2).sum() / 4 + 0.1**2 / 12))
    assert iml.paper_mean == pytest.approx((95.5 + 56.0) / 2)


def test_means_over_all_data_sets_are_compared_with_the_printed_ones():
    means = judge_means(judge_cells(tables_of(paper_like())))
    printed = means.set_index(["learner", "reading"])["paper_mean"]
    assert printed["IML", ""] == 72.1
    assert (printed["LMNN", "as printed"], printed["LMNN", "exchanged"]) == (69.3, 70.8)


def test_a_store_with_gaps():
    results = paper_like(n_splits=3, datasets=["iono", "pima", "wine"])
    rows = results.rows
    absent = (rows["dataset"] == "iono") & (rows["learner"] == "LMNN")
    late = (rows["split"] == 3) & (rows["dataset"] == "wine") & (rows["learner"] == "IML")
    (table,) = tables_of(StudyResults(results.study, rows[~absent & ~late]))
    cells = judge_cells([table])
    assert len(cells) == 3 * 5 + 3 * 2 - 2  # both readings of the absent cell
    assert cells.query("dataset == 'wine' and learner == 'IML'")["n_splits"].tolist() == [2]
    assert progress_text(table) == "0–3 of 20"


def test_methods_beyond_the_paper_have_a_table_of_their_own():
    results = paper_like(n_splits=3)
    (alone,) = tables_of(results)
    plain = results.rows[results.rows["learner"] == "Euclidean"]
    rows = pd.concat([results.rows, *(plain.assign(learner=name) for name in RIVALS)])
    table, rivals = tables_of(results_of(rows, "table2"))
    pd.testing.assert_frame_equal(table.cells, alone.cells)
    assert (rivals.name, rivals.learners) == ("rivals", ["IML", *RIVALS])
    assert printed_for(rivals) is None


def test_a_store_without_the_papers_learners(tmp_path):
    results = results_of(rows_of("wine", "DMBK", [0.9, 0.8]), "table2")
    names = {path.name for path in write_paper_report([results], tmp_path, title="t", details={})}
    assert not {"cells.csv", "cells.md"} & names
    assert "the paper's methods" not in (tmp_path / "table2.md").read_text("utf-8")


def test_origins_of_one_code_of_a_mixture_and_unknown():
    rows = pd.DataFrame(rows_of("wine", "IML", [0.9] * 20)).assign(fingerprint="aa")
    table = table_of(rows)
    assert (progress_text(table), code_text(table)) == ("20 of 20", "aa")
    assert "one state of the code" in origin_grid([table]).notes[0]
    rows = [*rows_of("wine", "IML", [0.9] * 3), *rows_of("wine", "LMNN", [0.9] * 3)]
    table = table_of(pd.DataFrame(rows).assign(fingerprint=["aa"] * 5 + ["bb"]))
    assert code_text(table) == "2 fingerprints: aa (5 tasks), bb (1 task of LMNN)"
    assert "mixture of 2 states" in origin_grid([table]).notes[0]
    table = table_of(rows_of("wine", "IML", [0.9]))
    assert code_text(table) == "unknown"
