"""Tables beyond the paper: which there are, paired differences and few positives by hand."""

import numpy as np
import pandas as pd
import pytest

from raremetric.datasets import describe_dataset
from raremetric.report import write_report
from raremetric.report.paired import LEADER, few_table, lead_table, paired
from raremetric.report.ranks import average_ranks
from raremetric.report.summarize import summarize
from raremetric.report.tables import dataset_grid
from raremetric.study.reading import named_study
from tests.report.synthetic import beyond_study, counts, paper_like_study, rare_study, row

ODD, EVEN = (named_study(f"rare-regime-{half}").datasets for half in ("odd", "even"))
RARE = ["glass5", "zoo-3", "page-blocks0", "pima", "iris0", "wisconsin"]


def rows_of(scores, **extra):
    """One split a cell with F1s in percent: data set -> learner -> F1."""
    return pd.DataFrame(
        row(dataset, learner, 1, counts(f1 / 100, 100, 900), **extra)
        for dataset, learners in scores.items()
        for learner, f1 in learners.items()
    )


def study_of(scores, **extra):
    return summarize(rows_of(scores, **extra)).tables


def test_a_store_with_both_has_table_2_and_beyond():
    paper = paper_like_study(n_splits=3, resamplings=["none"])
    ours = beyond_study()
    rows = pd.concat([paper, ours[~ours["learner"].isin(["Euclidean", "IML"])]])
    summary = summarize(rows)
    table2, beyond = summary.tables
    assert (table2.name, beyond.name) == ("table2", "beyond")
    assert table2.learners == ["Euclidean", "LMNN", "ITML", "GMML", "IML"]
    assert beyond.learners == [spec.name for spec in named_study("beyond").learners]
    assert beyond.title == "F1 beyond the paper"
    known = beyond.cells.groupby("learner")["paper_mean"].count()
    assert set(known[known > 0].index) == {"Euclidean", "IML"}
    assert set(summary.differences["table"]) == {"table2"}  # each cell once


def test_beyond_compares_on_the_splits_that_it_has():
    scores = {"wine": {"Euclidean": 50, "SVM-rbf": 60}}
    late = [row("wine", "Euclidean", 2, counts(0.9, 100, 900))]
    rows = pd.concat([rows_of(scores), pd.DataFrame(late)])
    (table,) = summarize(rows).tables
    assert table.matrix().loc["wine"].tolist() == [50.0, 60.0]


def test_beyond_alone_is_one_table():
    (table,) = summarize(beyond_study(n_splits=1)).tables
    assert table.name == "beyond"


def test_the_rare_regime_is_split_by_place_and_has_two_scores():
    tables = {table.name: table for table in summarize(rare_study(RARE)).tables}
    names = [f"rare-regime-{places}" for places in ("odd", "even")]
    assert set(tables) == {*names, *(f"{name}-precision" for name in names)}
    for name, places in zip(names, (ODD, EVEN), strict=True):
        assert set(tables[name].datasets) == set(RARE) & set(places)
        assert tables[name].paper is None  # though pima is a name of the paper's, too
        expected = {d for d in tables[name].datasets if describe_dataset(d).n_positive < 40}
        assert set(tables[name].few) == expected
    assert {"glass5", "zoo-3"} == {d for name in names for d in tables[name].few}


def test_average_precision_is_its_mean_in_percent():
    rows = rare_study(["zoo-3"])
    (table,) = [t for t in summarize(rows).tables if t.name.endswith("precision")]
    for cell in table.cells.itertuples():
        own = rows.loc[rows["learner"] == cell.learner, "average_precision"]
        assert cell.mean == pytest.approx(100 * own.mean(), abs=1e-3)


def test_the_paper_and_a_half_of_the_same_name_are_apart():
    rows = pd.concat([beyond_study(datasets=["pima"]), rare_study(["pima"])])
    names = {table.name for table in summarize(rows).tables}
    assert "beyond" in names
    assert len(names) == 3


def test_any_other_test_size_is_a_table_of_its_own():
    tables = study_of({"wine": {"A": 50, "B": 60}}, test_size=0.25)
    assert [table.name for table in tables] == ["test-size-25"]


def test_paired_differences_by_hand():
    first = pd.Series({"a": 70.0, "b": 60.0, "c": 50.0})
    found = paired(first, pd.Series({"a": 66.0, "b": 60.0, "c": 52.0}))
    assert found["difference"] == pytest.approx(2 / 3, abs=1e-5)
    assert found["standard_error"] == pytest.approx(np.std([4, 0, -2], ddof=1) / np.sqrt(3))
    assert (found["wins"], found["ties"], found["losses"]) == (1, 1, 1)
    assert np.isnan(paired(first[:1], first[:1])["standard_error"])


def test_the_lead_is_over_what_all_have_finished():
    scores = {
        "wine": {LEADER: 90, "IML": 80, "SVM-rbf": 85},
        "pima": {LEADER: 60, "IML": 58, "SVM-rbf": 61},
        "iono": {LEADER: 99, "IML": 10},
    }
    lead = lead_table(study_of(scores)[0]).set_index("learner")
    assert lead.loc["IML", ["n_datasets", "difference"]].tolist() == [2, 6.0]
    assert lead.loc["SVM-rbf", "difference"] == pytest.approx(2.0)
    assert lead_table(study_of({"wine": {LEADER: 90}})[0]) is None
    assert lead_table(study_of({"wine": {"IML": 90, "SVM-rbf": 1}})[0]) is None


def test_the_lead_is_over_the_splits_that_all_have_finished():
    scores = {"wine": {LEADER: 90, "SVM-rbf": 80}, "pima": {LEADER: 60, "SVM-rbf": 61}}
    ahead = pd.DataFrame(
        [
            row("wine", LEADER, 2, counts(0.1, 100, 900)),
            row("iono", LEADER, 1, counts(0.5, 100, 900)),
            row("iono", "SVM-rbf", 2, counts(0.9, 100, 900)),  # no split that both have
        ]
    )
    (table,) = summarize(pd.concat([rows_of(scores), ahead])).tables
    assert table.matrix().loc["wine", LEADER] == pytest.approx(50.0)  # over all that it has
    (lead,) = lead_table(table).to_dict("records")
    assert (lead["n_datasets"], lead["difference"]) == (2, pytest.approx(4.5))
    assert average_ranks(table).over_datasets == {"SVM-rbf": 1.5, LEADER: 1.5}
    (mean, *_) = dataset_grid(table).foot
    assert [cell.text for cell in mean[1:]] == ["1", "70.5 ± 0.0", "75.0 ± 0.0"]


def test_without_a_split_in_common_nothing_is_compared():
    rows = [row("wine", LEADER, 1, counts(0.5, 9, 9)), row("wine", "SVM-rbf", 2, counts(0.5, 9, 9))]
    (table,) = summarize(pd.DataFrame(rows)).tables
    assert table.complete().empty
    assert lead_table(table) is None
    assert average_ranks(table) is None


def test_few_positives_by_hand():
    names = [name for name in ODD if describe_dataset(name).n_positive < 30][:2]
    large = next(name for name in ODD if describe_dataset(name).n_positive > 200)
    rows = [
        row(dataset, learner, 1, counts(f1, 10, 90), test_size=0.5)
        for dataset, f1s in zip([*names, large], ((0.5, 0.4), (0.9, 0.7), (0.2, 0.8)), strict=True)
        for learner, f1 in zip(("Euclidean", LEADER), f1s, strict=True)
    ]
    (table,) = summarize(pd.DataFrame(rows)).tables
    few = few_table(table).set_index("learner")
    assert few.loc[LEADER, ["n_datasets", "n_few"]].tolist() == [3, 2]
    assert few.loc[LEADER, "mean_few"] == pytest.approx(55)
    assert few.loc[LEADER, "mean"] == pytest.approx(190 / 3)
    assert few.loc[LEADER, "difference"] == pytest.approx(-15)
    assert few.loc[LEADER, "standard_error"] == pytest.approx(5)
    assert few.loc["Euclidean", "difference"] == 0


def test_files(tmp_path):
    rows = pd.concat([beyond_study(), rare_study(RARE)])
    names = {path.name for path in write_report(rows, tmp_path, title="Beyond", details={})}
    wanted = {"beyond.csv", "beyond-lead.csv", "beyond-ranks.svg", "beyond.tex"}
    wanted |= {f"rare-regime-odd{end}" for end in ("-few.csv", "-precision-few.csv", "-lead.csv")}
    assert wanted <= names
    assert "beyond-few.csv" not in names
    text = (tmp_path / "rare-regime-odd-precision.md").read_text()
    assert "Average precision of the positive class in percent" in text
    assert "plain 3-NN (Euclidean) on average over them." in text
    text = (tmp_path / "beyond.md").read_text()
    assert "minus each other" in text
    assert "Average rank over 22 data sets and the Mean row" in text
    page = (tmp_path / "report.html").read_text()
    assert 'id="rare-regime-even-precision"' in page
