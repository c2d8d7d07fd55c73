"""Means, deviations and differences against figures computed by hand."""

import numpy as np
import pandas as pd
import pytest

from raremetric.report.rows import COLUMNS, check_rows, with_scores
from raremetric.report.summarize import summarize
from tests.report.synthetic import paper_like_study, row, share_study, whole_study


def confusion(tn, fp, fn, tp):
    return {"tn": tn, "fp": fp, "fn": fn, "tp": tp}


@pytest.fixture
def tiny():
    """Two splits of one data set: F1 of 0.5 and 0.75, accuracy of 0.8 and 0.9."""
    return pd.DataFrame(
        [
            row("wine", "IML", 1, confusion(14, 2, 2, 2)),
            row("wine", "IML", 2, confusion(15, 1, 1, 3)),
        ]
    )


def test_scores_by_hand(tiny):
    scored = with_scores(check_rows(tiny))
    assert scored["f1"].tolist() == [50.0, 75.0]
    assert scored["accuracy"].tolist() == [80.0, 90.0]


def test_no_true_positive_is_an_f1_of_zero():
    rows = pd.DataFrame(
        [row("a", "IML", 1, confusion(9, 0, 1, 0)), row("a", "IML", 2, confusion(9, 0, 0, 0))]
    )
    assert with_scores(check_rows(rows))["f1"].tolist() == [0.0, 0.0]


def test_mean_and_population_deviation(tiny):
    (table,) = summarize(tiny).tables
    cell = table.cells.iloc[0]
    assert (cell["n_splits"], cell["mean"], cell["std"]) == (2, 62.5, 12.5)
    assert (cell["accuracy_mean"], cell["accuracy_std"]) == (85.0, 5.0)
    assert (cell["paper_mean"], cell["paper_std"]) == (95.5, 2.4)


def test_difference_in_standard_errors(tiny):
    found = summarize(tiny).differences.iloc[0]
    # The sample deviation of 50 and 75 is 12.5 √2; over √2 splits, 12.5.
    assert found["standard_error"] == pytest.approx(12.5)
    assert found["difference"] == pytest.approx(62.5 - 95.5)
    assert found["standard_errors"] == pytest.approx(33 / 12.5)


def test_differences_within_two_errors_or_from_one_split_are_not_listed(tiny):
    near = tiny.assign(learner="GMML", dataset="hayes")  # 57.2 in the paper
    assert summarize(near).differences.empty
    assert summarize(tiny[:1]).differences.empty


def test_tables_of_a_whole_study():
    tables = {table.name: table for table in summarize(whole_study()).tables}
    assert list(tables) == ["table2", "table3-smote", "table3-rus", "imbalance", "ablation"]
    assert tables["table2"].learners == ["Euclidean", "LMNN", "ITML", "GMML", "IML"]
    assert tables["imbalance"].learners == ["Euclidean", "LMNN", "ITML", "GMML", "IML"]
    assert tables["ablation"].learners == ["ML1", "ML2", "IML"]
    assert tables["table2"].paper is not None
    assert tables["imbalance"].paper is None
    assert tables["imbalance"].shares[:3] == [0.5, 0.4, 0.3]


def test_an_ablation_alone_is_one_table():
    (table,) = summarize(share_study(learners=("ML1", "ML2", "IML"))).tables
    assert table.name == "ablation"


def test_order_of_rows_does_not_matter():
    rows = whole_study()
    shuffled = rows.sample(frac=1, random_state=3)
    pd.testing.assert_frame_equal(check_rows(rows), check_rows(shuffled))


def test_rows_survive_their_own_csv(tmp_path):
    rows = check_rows(whole_study())
    rows.to_csv(tmp_path / "results.csv", index=False)
    pd.testing.assert_frame_equal(check_rows(pd.read_csv(tmp_path / "results.csv")), rows)
    as_text = pd.read_csv(tmp_path / "results.csv", dtype=str, keep_default_na=False)
    pd.testing.assert_frame_equal(check_rows(as_text), rows)


def test_share_may_be_none_throughout(tiny):
    assert check_rows(tiny.assign(share=None))["share"].isna().all()


def test_means_compare_only_over_what_all_have_finished():
    rows = paper_like_study(resamplings=["none"], datasets=["wine", "iono", "pima"])
    rows = rows[~((rows["dataset"] == "iono") & (rows["learner"] == "LMNN"))]
    (table,) = summarize(rows).tables
    assert list(table.complete().index) == ["pima", "wine"]
    assert np.isnan(table.matrix().loc["iono", "LMNN"])


def test_no_rows():
    with pytest.raises(ValueError, match="There is no finished task to report: run"):
        summarize(pd.DataFrame(columns=COLUMNS))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows.drop(columns="tp"), "missing: tp"),
        (lambda rows: rows.assign(fp=-1), "fp must hold whole numbers of at least 0; got -1"),
        (lambda rows: rows.assign(fp=0.5), "fp must hold whole numbers"),
        (lambda rows: rows.assign(tn=None), "tn must hold whole numbers"),
        (lambda rows: rows.assign(seconds="soon"), "seconds must hold numbers"),
        (lambda rows: rows.assign(share=5), "share must be empty or between 0 and 1"),
        (lambda rows: rows.assign(average_precision=75), "average_precision must be empty or betw"),
        (lambda rows: rows.assign(test_size=1.0), "test_size must be empty or between 0 and 1"),
        (lambda rows: rows.assign(split=1), "found twice: dataset=wine"),
        (lambda rows: rows.assign(tn=0, fp=0, fn=0, tp=0), "four counts are all 0"),
    ],
)
def test_rows_that_are_not_a_study(tiny, change, message):
    with pytest.raises(ValueError, match=message):
        summarize(change(tiny))
