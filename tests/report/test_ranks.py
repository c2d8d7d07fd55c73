"""Ranks and tests against the paper's averages, SciPy, statsmodels and figures by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from raremetric.report.ranks import (
    average_ranks,
    compare,
    holm,
    paper_average_ranks,
    why_no_comparison,
)
from raremetric.report.summarize import summarize
from tests.report.synthetic import counts, paper_like_study, row


def study_of(scores, resampling="none"):
    """One split a cell with F1s in per mille: data set → learner → F1."""
    rows = [
        row(dataset, learner, 1, counts(f1 / 1000, 1000, 9000), resampling=resampling)
        for dataset, learners in scores.items()
        for learner, f1 in learners.items()
    ]
    (table,) = summarize(pd.DataFrame(rows)).tables
    return table


@pytest.fixture(scope="module")
def paper_like():
    return summarize(paper_like_study(n_splits=2)).tables


def rounded(ranks):
    return [round(rank, 2) for rank in ranks.values()]


def test_the_papers_ranks_in_both_conventions(paper_like):
    ranks = [paper_average_ranks(table) for table in paper_like]
    assert rounded(ranks[0].over_datasets) == [4.27, 3.23, 3.00, 3.00, 1.50]
    assert rounded(ranks[0].with_mean_row) == [4.30, 3.26, 3.00, 2.96, 1.48]
    assert rounded(ranks[1].with_mean_row) == [3.78, 3.09, 3.09, 3.43, 1.61]
    assert rounded(ranks[2].with_mean_row) == [4.04, 3.30, 2.65, 2.96, 2.04]


def test_ranks_by_hand():
    table = study_of(
        {
            "a": {"IML": 900, "LMNN": 800, "GMML": 700},
            "b": {"IML": 500, "LMNN": 600, "GMML": 600},  # a tie shares 1.5
        }
    )
    ranks = average_ranks(table)
    # In the order LMNN, GMML, IML; the means are 70, 65, 70.
    assert ranks.over_datasets == {"LMNN": 1.75, "GMML": 2.25, "IML": 2.0}
    expected = {"LMNN": (2 + 1.5 + 1.5) / 3, "GMML": (3 + 1.5 + 3) / 3, "IML": (1 + 3 + 1.5) / 3}
    assert ranks.with_mean_row == pytest.approx(expected)
    assert paper_average_ranks(table) is None


def test_the_papers_ranks_over_the_same_part_of_its_table():
    table = study_of({name: {"LMNN": 500, "IML": 600} for name in ("wine", "pima", "bupa")})
    ranks = paper_average_ranks(table)
    # LMNN against IML: bupa 52.0 > 51.2; pima 56.7 < 57.6; wine 95.5 = 95.5 with IML first.
    assert ranks.over_datasets == pytest.approx({"LMNN": 5 / 3, "IML": 4 / 3})
    assert ranks.with_mean_row == pytest.approx({"LMNN": 7 / 4, "IML": 5 / 4})


def test_friedman_and_critical_difference_by_hand():
    # Ten data sets on which three learners always come in the same order.
    scores = {f"d{i}": {"A": 900 - i, "B": 800 - i, "C": 700 - i} for i in range(10)}
    result = compare(study_of(scores))
    assert result.ranks == {"A": 1.0, "B": 2.0, "C": 3.0}
    # 12 N / (k (k+1)) Σ (R − (k+1)/2)² = 12·10/12 · 2
    assert result.statistic == pytest.approx(20.0)
    # Demšar's table has q = 2.343 for three learners.
    assert result.critical_difference == pytest.approx(2.343 * np.sqrt(12 / 60), abs=1e-3)
    assert result.pairs[["wins", "ties", "losses"]].to_numpy().tolist() == [[10, 0, 0]] * 3
    assert result.nemenyi.loc["A", "C"] < 0.05
    assert result.nemenyi.loc["A", "B"] > 0.05


def test_wilcoxon_and_holm(paper_like):
    multipletests = pytest.importorskip("statsmodels.stats.multitest").multipletests
    table = paper_like[0]
    pairs, scores = compare(table).pairs, table.matrix()
    for pair in pairs.itertuples():
        difference = (scores[pair.first] - scores[pair.second]).round(9)
        assert pair.wilcoxon == pytest.approx(wilcoxon(difference[difference != 0]).pvalue)
        assert pair.difference >= 0
    expected = multipletests(pairs["wilcoxon"], method="holm")[1]
    np.testing.assert_allclose(pairs["holm"], expected)


def test_holm_by_hand():
    assert holm(np.array([0.04, 0.01, 0.03])).tolist() == pytest.approx([0.06, 0.03, 0.06])


def test_learners_that_never_differ():
    same = {name: {"A": 500, "B": 500, "C": 500} for name in ("a", "b", "c")}
    result = compare(study_of(same))
    assert (result.statistic, result.p_value) == (0.0, 1.0)
    assert (result.pairs["holm"] == 1).all()


def test_too_little_to_compare():
    table = study_of({"a": {"A": 500, "B": 600}})
    assert compare(table) is None
    assert "here are 2 learners and 1 such data set." in why_no_comparison(table)
    alone = study_of({"a": {"A": 500}, "b": {"A": 600}})
    assert average_ranks(alone) is None
