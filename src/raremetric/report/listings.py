"""What a report lists besides its tables: pairs of learners, the lead, differences, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raremetric.extras import import_optional
from raremetric.report.page import MISSING, Cell, Grid
from raremetric.report.ranks import LEVEL, PLAIN, RankTests
from raremetric.report.rows import FEW
from raremetric.report.summarize import Table
from raremetric.report.tables import sets_text, signed

if TYPE_CHECKING:
    from pandas import DataFrame

HALF_A_DIGIT = 0.05  # the paper prints one decimal


def pairs_grid(table: Table, tests: RankTests) -> Grid:
    """Each pair of learners with the p-values of the tests."""
    header = ["Better mean", "Other", "Difference", "Wins", "Ties", "Losses"]
    header += ["Wilcoxon p", "Holm p", "Nemenyi p"]
    rows = [
        [
            _name_cell(pair.first),
            _name_cell(pair.second),
            Cell(signed(pair.difference), pair.difference),
            *map(_count_cell, (pair.wins, pair.ties, pair.losses)),
            *map(_p_cell, (pair.wilcoxon, pair.holm, pair.nemenyi)),
        ]
        for pair in tests.pairs.itertuples()
    ]
    note = (
        f"Over the {tests.n_datasets} data sets that all learners have finished. Wilcoxon: "
        "two-sided signed-rank test, without the data sets on which the two learners tie. Holm: "
        "the same with Holm's correction for all pairs. Bold: below 0.05."
    )
    return Grid(f"{table.title}, pairs of learners", header, rows, [], 2, [note])


def lead_grid(table: Table, lead: DataFrame) -> Grid:
    """How far the leader is ahead of each other learner."""
    leader = table.leader
    header = ["Learner", "Data sets", f"{leader} minus learner", "Standard error"]
    header += ["Wins", "Ties", "Losses"]
    rows = [
        [
            _name_cell(row.learner),
            _count_cell(row.n_datasets),
            *_difference_cells(row.difference, row.standard_error),
            *map(_count_cell, (row.wins, row.ties, row.losses)),
        ]
        for row in lead.itertuples()
    ]
    note = (
        "Paired differences over the data sets that all learners have finished, after averaging "
        "over the splits of each data set. The standard error is that of the mean over data sets. "
        f"Wins: number of data sets on which {leader} has the higher mean. Bold: more than two "
        "standard errors ahead."
    )
    return Grid(f"{table.title}, {leader} minus each learner", header, rows, [], 1, [note])


def few_grid(table: Table, few: DataFrame) -> Grid:
    """Means over the data sets with few positives, and how they compare with plain 3-NN."""
    header = ["Learner", "All data sets", f"Fewer than {FEW} positives", f"Minus {PLAIN} there"]
    header.append("Standard error")
    rows = [
        [
            _name_cell(row.learner),
            Cell(f"{row.mean:.1f}", row.mean),
            Cell(f"{row.mean_few:.1f}", row.mean_few),
            *_difference_cells(row.difference, row.standard_error),
        ]
        for row in few.itertuples()
    ]
    n_few = int(few["n_few"].iloc[0])
    notes = [
        f"{sets_text(n_few)} with fewer than {FEW} positives to learn from. Differences and their "
        "standard errors are paired over these data sets."
    ]
    leader = few[few["learner"] == table.leader]
    if len(leader):
        gap = float(leader["difference"].iloc[0])
        where = "ahead of" if gap >= 0 else "behind"
        notes.append(
            f"On average over them, {table.leader} is {abs(gap):.1f} points {where} plain 3-NN "
            f"({PLAIN})."
        )
    return Grid(f"{table.title}, data sets with few positives", header, rows, [], 1, notes)


def find_differences(tables: Sequence[Table]) -> DataFrame:
    """The cells of tables whose mean is more than two standard errors away from the paper's.

    The standard error is that of our mean, s / √n with the sample standard deviation s over n ≥ 2
    splits; the error of the paper's mean is not included. A difference of at most half a unit of
    the paper's printed decimal does not count.

    Returns
    -------
    DataFrame
        table, dataset, learner, n_splits, mean, paper_mean, difference, standard_error,
        standard_errors (the difference divided by the standard error), the largest first.
    """
    pandas = import_optional("pandas")
    cells = pandas.concat(
        table.cells.assign(table=table.name, printed=table.paper.name)
        for table in tables
        if table.paper
    )
    cells = cells[cells["paper_mean"].notna() & (cells["n_splits"] >= 2)]
    # Two studies may compare with the same table of the paper.
    cells = cells.drop_duplicates(["printed", "dataset", "learner"])
    difference = cells["mean"] - cells["paper_mean"]
    # The population's standard deviation over √(n − 1) is the sample's over √n.
    error = cells["std"] / np.sqrt(cells["n_splits"] - 1)
    found = cells.assign(
        difference=difference,
        standard_error=error,
        standard_errors=np.divide(
            difference.abs(), error, out=np.full(len(cells), np.inf), where=error > 0
        ),
    )[difference.abs() > np.maximum(2 * error, HALF_A_DIGIT)]
    columns = ["table", "dataset", "learner", "n_splits", "mean", "paper_mean"]
    columns += ["difference", "standard_error", "standard_errors"]
    largest_first = found.sort_values("standard_errors", ascending=False, kind="stable")
    return largest_first[columns].reset_index(drop=True)


def differences_grid(found: DataFrame) -> Grid:
    """The result of `find_differences`."""
    header = ["Table", "Data set", "Learner", "Splits", "Mean", "Paper", "Difference"]
    header += ["Standard error", "Difference / error"]
    rows = [
        [
            *map(_name_cell, (row.table, row.dataset, row.learner)),
            _count_cell(row.n_splits),
            Cell(f"{row.mean:.1f}", row.mean),
            Cell(f"{row.paper_mean:.1f}", row.paper_mean),
            Cell(signed(row.difference), row.difference),
            Cell(f"{row.standard_error:.2f}", row.standard_error),
            Cell(f"{row.standard_errors:.1f}", row.standard_errors),
        ]
        for row in found.itertuples()
    ]
    note = (
        "The standard error is that of our mean: the sample standard deviation over our splits, "
        "divided by the square root of their number. Cells with fewer than two splits are left "
        "out, and with few splits the standard error is a rough estimate. The error of the "
        "paper's mean is not included. A difference of at most 0.05, half a unit of the paper's "
        "printed decimal, does not count."
    )
    caption = "Cells more than two standard errors away from the paper"
    return Grid(caption, header, rows, [], 3, [note])


def effort_grid(effort: DataFrame) -> Grid:
    """How long the tasks of each learner took."""
    rows = [
        [
            _name_cell(row.learner),
            _count_cell(row.tasks),
            Cell(f"{row.median_seconds:.2f}", row.median_seconds),
            Cell(f"{row.total_seconds / 3600:.2f}", row.total_seconds),
        ]
        for row in effort.itertuples()
    ]
    header = ["Learner", "Tasks", "Median seconds", "Total hours"]
    return Grid("Finished tasks and their time, including tuning", header, rows)


def _name_cell(name: str) -> Cell:
    return Cell(name, name)


def _count_cell(count: int) -> Cell:
    return Cell(str(count), count)


def _difference_cells(difference: float, error: float) -> list[Cell]:
    if np.isnan(error):
        return [Cell(signed(difference), difference), Cell(MISSING)]
    ahead = difference > 2 * error
    return [Cell(signed(difference), difference, best=ahead), Cell(f"{error:.2f}", error)]


def _p_cell(p_value: float) -> Cell:
    text = "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return Cell(text, p_value, best=p_value < LEVEL)
