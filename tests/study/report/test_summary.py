"""Tables of studies: which there are, their order, and values computed by hand."""

import numpy as np
import pandas as pd
import pytest

from raremetric.datasets import describe_dataset
from raremetric.study.protocol import package_fingerprint
from raremetric.study.report import default_title
from raremetric.study.report.grids import dataset_grid
from raremetric.study.report.tables import check_rows, summarize, with_scores
from tests.study.report.synthetic import (
    LEADER,
    LEARNERS,
    counts,
    rare_regime,
    results_of,
    row,
    share_studies,
    study_like,
)


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


def tables_of(*results):
    return {table.name: table for table in summarize(results).tables}


def table_of(rows, **fields):
    (table,) = summarize([results_of(rows, **fields)]).tables
    return table


def test_scores_by_hand(tiny):
    scored = with_scores(check_rows(tiny))
    assert scored["f1"].tolist() == [50.0, 75.0]
    assert scored["accuracy"].tolist() == [80.0, 90.0]
    nothing = [confusion(9, 0, 1, 0), confusion(9, 0, 0, 0)]  # no true positive
    rows = pd.DataFrame([row("a", "IML", split, each) for split, each in enumerate(nothing)])
    assert with_scores(check_rows(rows))["f1"].tolist() == [0.0, 0.0]
    table = table_of(tiny, name="table2", learners=("IML", "LMNN"))  # LMNN has not started
    assert table.complete().loc["wine"].tolist() == [62.5]
    cell = table.cells.iloc[0]
    assert (cell["n_splits"], cell["mean"], cell["std"]) == (2, 62.5, 12.5)
    assert (cell["accuracy_mean"], cell["accuracy_std"]) == (85.0, 5.0)


def test_the_caption_says_how_much_was_computed_by_other_code(tiny):
    tiny["fingerprint"] = [package_fingerprint(), "0123456789abcdef"]
    (note,) = [each for each in dataset_grid(table_of(tiny)).notes if each.startswith("Splits")]
    assert note.endswith(" Of other code than this version: 1 of 2 tasks.")
    tiny["fingerprint"] = package_fingerprint() + "+that of one's own class"
    assert "other code" not in dataset_grid(table_of(tiny)).notes[-1]


def test_a_task_of_two_studies_is_counted_once():
    imbalance, ablation = share_studies()
    shared = ablation.rows["learner"] == "IML"
    assert shared.any()
    summary = summarize([imbalance, ablation])
    assert len(summary.rows) == len(imbalance.rows) + (~shared).sum()
    assert summary.effort["learner"].tolist() == [*LEARNERS, "ML2", "ML1"]
    assert summary.effort["tasks"].sum() == len(summary.rows)
    assert summary.tables[1].shares[:3] == [0.5, 0.4, 0.3]


def test_names_titles_and_order_come_from_the_study():
    rows = [
        row(dataset, learner, 1, counts(0.5, 9, 9))
        for dataset in ("a", "b")
        for learner in ("Euclidean", "IML", "forest")
    ]
    order = {"datasets": ("b", "c", "a"), "learners": ("forest", "IML", "absent", "Euclidean")}
    table = table_of(rows, name="My study!", title="Forests against metrics", **order)
    assert (table.name, table.title) == ("My-study", "Forests against metrics")
    assert table.datasets == ["b", "a"]
    assert table.learners == ["forest", "IML", "Euclidean"]
    cells = list(zip(table.cells["dataset"], table.cells["learner"], strict=True))
    assert cells == [(d, learner) for d in table.datasets for learner in table.learners]
    assert table_of(rows, name="My study!").title == "My study!"
    first, second = results_of(rows, title="My title"), results_of(rows, name="mine")
    assert [default_title(each) for each in ([first], [second])] == ["My title", "mine"]
    assert default_title([first, second]) == "Results of 2 studies"


def test_one_table_per_resampling_and_measure():
    rows = [
        row("a", "IML", 1, counts(0.5, 9, 9), resampling=resampling, average_precision=precision)
        for resampling, precision in (("smote", 0.5), ("none", 0.5), ("rus", np.nan))
    ]
    fields = {"title": "Mine", "resampling": ("none", "smote", "rus")}
    tables = tables_of(results_of(rows, measures=("f1", "average_precision"), **fields))
    assert {name: table.title for name, table in tables.items()} == {
        "mine": "Mine, without resampling (F1)",
        "mine-precision": "Mine, without resampling (average precision)",
        "mine-smote": "Mine, with SMOTE (F1)",
        "mine-smote-precision": "Mine, with SMOTE (average precision)",
        "mine-rus": "Mine, with random under-sampling (F1)",
    }
    assert tables["mine-precision"].cells["mean"].tolist() == [50.0]
    alone = results_of(rows[:1], measures=("average_precision",))
    assert list(tables_of(alone)) == ["mine-precision"]


def test_data_sets_with_few_positives():
    names = ["glass5", "zoo-3", "page-blocks0", "pima", "iris0", "wisconsin"]
    few = {name for name in names if describe_dataset(name).n_positive < 40}
    assert few == {"glass5", "zoo-3"}
    for table in tables_of(rare_regime(names)).values():
        assert table.datasets == names
        assert set(table.few) == few
        assert table.study.leader == LEADER
    assert not any(
        table.few for table in tables_of(rare_regime(names, few_positives=False)).values()
    )


def test_means_compare_only_over_what_all_have_finished():
    rows = study_like(datasets=["iono", "pima", "wine"]).rows
    table = table_of(rows[~((rows["dataset"] == "iono") & (rows["learner"] == "LMNN"))])
    assert list(table.complete().index) == ["pima", "wine"]
    cells = set(zip(table.cells["dataset"], table.cells["learner"], strict=True))
    assert ("iono", "LMNN") not in cells


def test_a_smaller_log_loss_is_better(tiny):
    rows = pd.concat([tiny.assign(log_loss=0.3), tiny.assign(log_loss=0.1, learner="LMNN")])
    summary = summarize([results_of(rows.assign(fit_seconds=2.0), measures=("neg_log_loss",))])
    (table,) = summary.tables
    assert table.name == "mine-log-loss"
    best = table.cells.loc[table.cells["mean"].idxmax()]
    assert (best["learner"], best["mean"]) == ("LMNN", pytest.approx(-10))
    assert set(summary.effort["median_fit_seconds"]) == {2.0}
    assert summary.effort["median_predict_microseconds"].isna().all()
