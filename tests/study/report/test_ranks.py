"""Ranks, tests and paired differences against the paper, SciPy, and values computed by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import t, wilcoxon

from raremetric.datasets import describe_dataset, list_datasets
from raremetric.study.report.grids import dataset_grid
from raremetric.study.report.ranks import (
    average_ranks,
    compare_ranks,
    few_table,
    lead_table,
    leads,
    pair_tests,
    paired,
    why_no_tests,
)
from raremetric.study.report.tables import summarize
from tests.study.report.synthetic import LEADER, counts, results_of, row, study_like


def rows_of(scores):
    """One split per cell with F1s in per mille: data set → learner → F1."""
    return [
        row(dataset, learner, 1, counts(f1 / 1000, 1000, 9000))
        for dataset, learners in scores.items()
        for learner, f1 in learners.items()
    ]


def table_of(rows, **fields):
    (table,) = summarize([results_of(rows, **fields)]).tables
    return table


def lead_of(rows):
    return lead_table(table_of(rows, leader=LEADER))


@pytest.fixture(scope="module")
def table2():
    (table,) = summarize([study_like(n_splits=2)]).tables
    return table


def test_ranks_by_hand():
    scores = {
        "a": {"LMNN": 800, "GMML": 700, "IML": 900},
        "b": {"LMNN": 600, "GMML": 600, "IML": 500},  # LMNN and GMML share the rank 1.5
    }
    assert average_ranks(table_of(rows_of(scores))) == {"LMNN": 1.75, "GMML": 2.25, "IML": 2.0}


def test_friedman_and_critical_difference_by_hand():
    # Ten data sets on which three learners always come in the same order.
    scores = {f"d{i}": {"A": 900 - i, "B": 800 - i, "C": 700 - i} for i in range(10)}
    result = compare_ranks(table_of(rows_of(scores)))
    assert result.ranks == {"A": 1.0, "B": 2.0, "C": 3.0}
    # 12 N / (k (k+1)) Σ (R − (k+1)/2)² = 12·10/12 · 2
    assert result.statistic == pytest.approx(20.0)
    # Demšar's table has q = 2.343 for three learners.
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(12 / 60), abs=1e-3)
    assert result.pairs[["wins", "ties", "losses"]].to_numpy().tolist() == [[10, 0, 0]] * 3
    assert result.nemenyi.loc["A", "C"] < 0.05
    assert result.nemenyi.loc["A", "B"] > 0.05


def test_wilcoxon_and_holm(table2):
    pairs, scores = compare_ranks(table2).pairs, table2.complete()
    for pair in pairs.itertuples():
        difference = (scores[pair.first] - scores[pair.second]).round(9)
        assert pair.wilcoxon == pytest.approx(wilcoxon(difference[difference != 0]).pvalue)
        assert pair.difference >= 0
    # Holm: the i-th smallest of m p-values times m − i + 1, but not below the one before.
    largest = 0.0
    ordered = pairs.sort_values("wilcoxon").itertuples()
    for factor, pair in zip(range(len(pairs), 0, -1), ordered, strict=True):
        largest = max(largest, factor * pair.wilcoxon)
        assert pair.holm == pytest.approx(min(largest, 1.0))


def test_learners_that_never_differ_and_too_little_to_compare():
    same = {name: {"A": 500, "B": 500, "C": 500} for name in ("a", "b", "c")}
    result = compare_ranks(table_of(rows_of(same)))
    assert (result.statistic, result.p_value) == (0.0, 1.0)
    assert (result.pairs["holm"] == 1).all()
    table = table_of(rows_of({"a": {"A": 500, "B": 600}}))
    assert compare_ranks(table) is None
    assert "this table has 2 learners and 1 such data set." in why_no_tests(table)
    assert average_ranks(table_of(rows_of({"a": {"A": 500}, "b": {"A": 600}}))) is None


def test_paired_differences_by_hand():
    found = paired(pd.Series({"wine": 4.0, "iono": 0.0, "pima": -2.0}))
    error = np.std([4, 0, -2], ddof=1) / np.sqrt(3)
    assert (found.n_datasets, found.n_origins) == (3, 3)
    assert found.difference == pytest.approx(2 / 3)
    assert found.standard_error == pytest.approx(error)
    assert (found.wins, found.ties, found.losses) == (1, 1, 1)
    assert found.wilcoxon == wilcoxon([4.0, -2.0]).pvalue
    assert found.equivalent == pytest.approx(t.sf((1 - 2 / 3) / error, 2))
    assert np.isnan(paired(pd.Series({"wine": 1.0})).standard_error)


def test_data_sets_of_one_origin_count_once():
    """Copies of a data set change neither the error nor the tests; here, each has one copy."""
    once = pd.Series({"ecoli1": 3.0, "yeast1": -1.0, "glass0": 0.5, "letter-B": 0.2})
    copies = pd.Series({"ecoli2": 3.0, "yeast3": -1.0, "glass-0-6_vs_5": 0.5, "letter-H": 0.2})
    first, second = paired(once), paired(pd.concat([once, copies]))
    assert (second.n_datasets, second.n_origins) == (8, 4)
    for name in ("difference", "standard_error", "wilcoxon", "equivalent"):
        assert getattr(second, name) == pytest.approx(getattr(first, name))


def test_equality_is_shown_only_within_a_point():
    names = [f"d{i}" for i in range(30)]
    spread = np.tile([1.0, -1.0], 15)
    assert paired(pd.Series(spread, names)).equivalent < 0.05
    assert paired(pd.Series(8 * spread, names)).equivalent > 0.05
    assert paired(pd.Series(2 + spread, names)).equivalent > 0.95
    assert paired(pd.Series(0.0, names)).equivalent == 0


def test_a_leader_is_compared_with_each_other_learner(table2):
    """Its pairs are corrected for their number; the others for the number of all pairs."""
    means = table2.complete()
    pairs, all_pairs = pair_tests(means, "IML"), pair_tests(means)
    own = (pairs["first"] == "IML") | (pairs["second"] == "IML")
    assert (pairs["holm"] == all_pairs["holm"])[~own].all()
    assert (pairs["holm"] <= all_pairs["holm"])[own].all()
    smallest = pairs.loc[own, "wilcoxon"].idxmin()
    assert pairs.loc[smallest, "holm"] == pytest.approx(4 * pairs.loc[smallest, "wilcoxon"])
    found = leads(means, "IML").set_index("learner")
    names = np.where(pairs["first"] == "IML", pairs["second"], pairs["first"])[own]
    assert found.loc[names, "holm"].tolist() == pytest.approx(pairs.loc[own, "holm"].tolist())


def test_the_lead_is_over_what_all_have_finished():
    scores = {
        "wine": {LEADER: 900, "IML": 800, "SVM-rbf": 850},
        "pima": {LEADER: 600, "IML": 580, "SVM-rbf": 610},
        "iono": {LEADER: 990, "IML": 100},
    }
    lead = lead_of(rows_of(scores)).set_index("learner")
    assert lead.loc["IML", ["n_datasets", "difference"]].tolist() == [2, 6.0]
    assert lead.loc["SVM-rbf", ["difference", "wins", "losses"]].tolist() == [2.0, 1, 1]
    assert lead["holm"].tolist() == [1.0, 1.0]


def test_the_lead_is_over_the_splits_that_all_have_finished():
    scores = {"wine": {"SVM-rbf": 800, LEADER: 900}, "pima": {"SVM-rbf": 610, LEADER: 600}}
    ahead = [
        row("wine", LEADER, 2, counts(0.1, 100, 900)),
        row("iono", LEADER, 1, counts(0.5, 100, 900)),
        row("iono", "SVM-rbf", 2, counts(0.9, 100, 900)),  # no split that both have
    ]
    table = table_of(rows_of(scores) + ahead, leader=LEADER)
    over_all = table.cells.set_index(["dataset", "learner"])["mean"]
    assert over_all["wine", LEADER] == pytest.approx(50.0)
    (lead,) = lead_table(table).to_dict("records")
    assert (lead["n_datasets"], lead["difference"]) == (2, pytest.approx(4.5))
    assert average_ranks(table) == {"SVM-rbf": 1.5, LEADER: 1.5}
    (mean, *_) = dataset_grid(table).foot
    assert [cell.text for cell in mean[1:]] == ["1", "70.5 ± 0.0", "75.0 ± 0.0"]


def test_no_lead():
    assert lead_of(rows_of({"wine": {LEADER: 900}})) is None  # nobody else
    others = rows_of({"wine": {"IML": 900, "SVM-rbf": 10}})
    assert lead_of(others) is None  # the leader has not started
    assert lead_table(table_of(others)) is None  # the study has no leader
    rows = [row("wine", LEADER, 1, counts(0.5, 9, 9)), row("wine", "SVM-rbf", 2, counts(0.5, 9, 9))]
    table = table_of(rows, leader=LEADER)  # no split that both have finished
    assert lead_table(table) is None
    assert average_ranks(table) is None


def few_rows():
    keel = {name: describe_dataset(name).n_positive for name in list_datasets("keel")}
    many = next(name for name, n_positive in keel.items() if n_positive > 200)
    scores = ((0.5, 0.4), (0.9, 0.7), (0.2, 0.8))
    return [
        row(dataset, learner, 1, counts(f1, 10, 90), test_size=0.5)
        for dataset, f1s in zip(["ecoli4", "glass5", many], scores, strict=True)
        for learner, f1 in zip(("Euclidean", LEADER), f1s, strict=True)
    ]


def test_few_positives_by_hand():
    table = table_of(few_rows(), test_size=0.5, few_positives=True)
    few = few_table(table).set_index("learner")
    assert few.loc[LEADER, ["n_datasets", "n_few"]].tolist() == [3, 2]
    assert few.loc[LEADER, "mean_few"] == pytest.approx(55)
    assert few.loc[LEADER, "mean"] == pytest.approx(190 / 3)
    assert few.loc[LEADER, "difference"] == pytest.approx(-15)
    assert few.loc[LEADER, "standard_error"] == pytest.approx(5)
    assert few.loc["Euclidean", "difference"] == 0
    assert np.isnan(few.loc["Euclidean", "holm"])
    rows = pd.DataFrame(few_rows())
    alone = rows[rows["learner"] == LEADER]  # without plain neighbors
    assert few_table(table_of(alone, test_size=0.5, few_positives=True)) is None
    assert few_table(table_of(rows, test_size=0.5)) is None  # the study does not ask for it
