"""What a report lists beside its tables: pairs, differences, few positives, time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from raremetric.report.grid import MISSING, Cell, Grid
from raremetric.report.paired import LEADER, PLAIN
from raremetric.report.ranks import LEVEL, Comparison
from raremetric.report.rows import FEW
from raremetric.report.summarize import Summary, Table
from raremetric.report.tables import sets_text, signed

if TYPE_CHECKING:
    from pandas import DataFrame

_ERROR_NOTE = (
    "The standard error is that of our mean: the sample standard deviation over our splits, "
    "divided by the square root of their number (at least two); with few splits it is itself "
    "rough. The paper's own error is not added, and a difference within half a unit of its "
    "printed decimal (0.05) is none."
)


def pairs_grid(table: Table, comparison: Comparison) -> Grid:
    """Each pair of learners with the p-values of both tests."""
    header = ["Better mean", "Other", "Difference", "Wins", "Ties", "Losses"]
    header += ["Wilcoxon p", "Holm p", "Nemenyi p"]
    rows = []
    for pair in comparison.pairs.itertuples():
        counts = [Cell(str(count), count) for count in (pair.wins, pair.ties, pair.losses)]
        tests = [_p_cell(p) for p in (pair.wilcoxon, pair.holm, pair.nemenyi)]
        difference = Cell(signed(pair.difference), pair.difference)
        names = [Cell(pair.first, pair.first), Cell(pair.second, pair.second)]
        rows.append([*names, difference, *counts, *tests])
    note = (
        f"Over the {comparison.n_datasets} data sets that all learners have finished. Wilcoxon's "
        "signed-rank test, two-sided, data sets without a difference left out; Holm's correction "
        "over all pairs. Bold: below 0.05."
    )
    return Grid(f"{table.title}: pairs of learners", header, rows, [], 2, [note])


def lead_grid(table: Table, lead: DataFrame) -> Grid:
    """How far the leader is ahead of each other learner."""
    header = ["Learner", "Data sets", f"{LEADER} minus it", "Standard error"]
    header += ["Wins", "Ties", "Losses"]
    rows = [
        [
            Cell(row.learner, row.learner),
            Cell(str(row.n_datasets), row.n_datasets),
            *_difference_cells(row.difference, row.standard_error),
            *(Cell(str(count), count) for count in (row.wins, row.ties, row.losses)),
        ]
        for row in lead.itertuples()
    ]
    note = (
        "Paired over the data sets that all learners have finished, the mean over the splits of "
        "each taken first; the standard error is that of the mean over data sets. Wins count the "
        f"data sets on which {LEADER} has the higher mean. Bold: two standard errors ahead."
    )
    return Grid(f"{table.title}: {LEADER} minus each other", header, rows, [], 1, [note])


def few_grid(table: Table, few: DataFrame) -> Grid:
    """Means over the data sets with few positives, and how they compare with plain neighbors."""
    header = ["Learner", "All data sets", f"Fewer than {FEW} positives", f"Minus {PLAIN} there"]
    header.append("Standard error")
    rows = [
        [
            Cell(row.learner, row.learner),
            Cell(f"{row.mean:.1f}", row.mean),
            Cell(f"{row.mean_few:.1f}", row.mean_few),
            *_difference_cells(row.difference, row.standard_error),
        ]
        for row in few.itertuples()
    ]
    count = int(few["n_few"].iloc[0])
    notes = [
        f"Over {sets_text(count)} with fewer than {FEW} positives to learn from. Differences are "
        "paired, and so are their standard errors over these data sets."
    ]
    leader = few[few["learner"] == LEADER]
    if len(leader):
        gap = float(leader["difference"].iloc[0])
        where = "ahead of" if gap >= 0 else "behind"
        notes.append(
            f"{LEADER} is {abs(gap):.1f} points {where} plain 3-NN ({PLAIN}) on average over them."
        )
    return Grid(f"{table.title}, where positives are few", header, rows, [], 1, notes)


def _difference_cells(difference: float, error: float) -> list[Cell]:
    if np.isnan(error):
        return [Cell(signed(difference), difference), Cell(MISSING)]
    ahead = difference > 2 * error
    return [Cell(signed(difference), difference, best=ahead), Cell(f"{error:.2f}", error)]


def differences_grid(summary: Summary) -> Grid:
    """The cells that differ from the paper."""
    header = ["Table", "Data set", "Learner", "Splits", "Mean", "Paper", "Difference"]
    header += ["Standard error", "Difference / error"]
    rows = []
    for row in summary.differences.itertuples():
        names = [Cell(name, name) for name in (row.table, row.dataset, row.learner)]
        figures = (row.mean, row.paper_mean, row.standard_error, row.standard_errors)
        mean, paper, error, ratio = (
            Cell(f"{figure:.{digits}f}", figure)
            for figure, digits in zip(figures, (1, 1, 2, 1), strict=True)
        )
        splits = Cell(str(row.n_splits), row.n_splits)
        difference = Cell(signed(row.difference), row.difference)
        rows.append([*names, splits, mean, paper, difference, error, ratio])
    caption = "Cells more than two standard errors away from the paper"
    return Grid(caption, header, rows, [], 3, [_ERROR_NOTE])


def effort_grid(summary: Summary) -> Grid:
    """How long the tasks took."""
    rows = [
        [
            Cell(row.learner, row.learner),
            Cell(f"{row.tasks}", row.tasks),
            Cell(f"{row.median_seconds:.2f}", row.median_seconds),
            Cell(f"{row.total_seconds / 3600:.2f}", row.total_seconds),
        ]
        for row in summary.effort.itertuples()
    ]
    header = ["Learner", "Tasks", "Median seconds", "Total hours"]
    return Grid("Finished tasks and their time, tuning included", header, rows)


def _p_cell(p_value: float) -> Cell:
    text = "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return Cell(text, p_value, best=p_value < LEVEL)
