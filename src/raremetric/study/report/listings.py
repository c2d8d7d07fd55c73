"""What a report lists besides its tables: pairs of learners, the lead, the code, time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from raremetric.pages.page import MISSING, Cell, Grid, name_cell
from raremetric.study.report.ranks import LEVEL, PLAIN, RankTests
from raremetric.study.report.rows import FEW
from raremetric.study.report.summarize import Table
from raremetric.study.report.tables import code_text, progress_text, sets_text, signed

if TYPE_CHECKING:
    from pandas import DataFrame


def pairs_grid(table: Table, tests: RankTests) -> Grid:
    """Each pair of learners with the p-values of the tests."""
    header = ["Better mean", "Other", "Difference", "Wins", "Ties", "Losses"]
    header += ["Wilcoxon p", "Holm p", "Nemenyi p"]
    rows = [
        [
            name_cell(pair.first),
            name_cell(pair.second),
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
            name_cell(row.learner),
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
            name_cell(row.learner),
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


def origin_grid(tables: Sequence[Table]) -> Grid:
    """What was run of each table, and which code computed it."""
    rows = [
        [
            name_cell(table.title),
            Cell(progress_text(table), float(table.n_splits[0])),
            _count_cell(len(table.datasets)),
            _count_cell(len(table.learners)),
            _count_cell(len(table.scores)),
            name_cell(code_text(table)),
        ]
        for table in tables
    ]
    header = ["Table", "Splits", "Data sets", "Methods", "Tasks", "Code"]
    states = {name for table in tables for name in table.code}
    note = "Code is a fingerprint of the source files that can change a result. " + (
        "All results were computed with one state of the code."
        if len(states) == 1
        else f"The results are a mixture of {len(states)} states of the code."
    )
    return Grid("What was run", header, rows, [], 1, [note])


def effort_grid(effort: DataFrame) -> Grid:
    """How long the tasks of each learner took."""
    rows = [
        [
            name_cell(row.learner),
            _count_cell(row.tasks),
            Cell(f"{row.median_seconds:.2f}", row.median_seconds),
            Cell(f"{row.total_seconds / 3600:.2f}", row.total_seconds),
        ]
        for row in effort.itertuples()
    ]
    header = ["Learner", "Tasks", "Median seconds", "Total hours"]
    return Grid("Finished tasks and their time, including tuning", header, rows)


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
