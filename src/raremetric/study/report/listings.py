"""What a report lists besides the scores: pairs of learners, the lead, the code, time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from raremetric.pages.page import MISSING, Cell, Grid, name_cell
from raremetric.study.report.ranks import LEVEL, RankTests, differences, paired
from raremetric.study.report.tables import (
    FEW,
    Table,
    code_text,
    progress_text,
    sets_text,
    signed,
)

PLAIN = "Euclidean"  # the learner of plain 3-NN
Columns = dict[str, str | Callable[[Any], Cell]]
WINS: Columns = {"Wins": "wins", "Ties": "ties", "Losses": "losses"}


def _listing(
    caption: str,
    rows: Iterable[Any],
    columns: Columns,
    n_labels: int = 1,
    notes: Sequence[str] = (),
) -> Grid:
    """A grid from any rows; each column is a heading, and an attribute or what makes a cell."""

    def cell(row: Any, column: str | Callable[[Any], Cell]) -> Cell:
        if callable(column):
            return column(row)
        value = getattr(row, column)
        return Cell(str(value), value)

    cells = [[cell(row, column) for column in columns.values()] for row in rows]
    return Grid(caption, list(columns), cells, [], n_labels, list(notes))


def pairs_grid(table: Table, tests: RankTests) -> Grid:
    """Each pair of learners with the p-values of the tests."""
    note = (
        f"Over the {tests.n_datasets} data sets that all learners have finished. Wilcoxon: "
        "two-sided signed-rank test, without the data sets on which the two learners tie. Holm: "
        "the same with Holm's correction for all pairs. Bold: below 0.05."
    )
    columns: Columns = {
        "Better mean": "first",
        "Other": "second",
        "Difference": lambda pair: Cell(signed(pair.difference), pair.difference),
        **WINS,
        "Wilcoxon p": lambda pair: _p_cell(pair.wilcoxon),
        "Holm p": lambda pair: _p_cell(pair.holm),
        "Nemenyi p": lambda pair: _p_cell(pair.nemenyi),
    }
    caption = f"{table.title}, pairs of learners"
    return _listing(caption, tests.pairs.itertuples(), columns, 2, [note])


def lead_table(table: Table) -> pd.DataFrame | None:
    """The leader minus each other learner; None if there is no leader or nothing to compare."""
    leader = table.study.leader
    others = [name for name in table.learners if name != leader]
    if leader is None or leader not in table.learners or not others or table.by_share:
        return None
    means = table.complete()
    if means.empty:
        return None
    return pd.DataFrame(
        {"learner": name, **paired(differences(means, leader, name))._asdict()} for name in others
    )


def lead_grid(table: Table, lead: pd.DataFrame) -> Grid:
    """How far the leader is ahead of each other learner."""
    leader = table.study.leader
    note = (
        "Paired differences over the data sets that all learners have finished, after averaging "
        "over the splits of each data set. The standard error is that of the mean over data sets. "
        f"Wins: number of data sets on which {leader} has the higher mean. Bold: more than two "
        "standard errors ahead."
    )
    columns: Columns = {
        "Learner": "learner",
        "Data sets": "n_datasets",
        f"{leader} minus learner": _difference_cell,
        "Standard error": _error_cell,
        **WINS,
    }
    caption = f"{table.title}, {leader} minus each learner"
    return _listing(caption, lead.itertuples(), columns, notes=[note])


def few_table(table: Table) -> pd.DataFrame | None:
    """Means over the data sets with few positives, and the differences from plain 3-NN there.

    None if the study does not ask for it, or lacks such data sets or plain 3-NN.
    """
    if not table.few or PLAIN not in table.learners:
        return None
    means = table.complete()
    few = means[means.index.isin(table.few)]
    if few.empty:
        return None
    against = [paired(differences(few, name, PLAIN)) for name in table.learners]
    return pd.DataFrame(
        {
            "learner": table.learners,
            "n_datasets": len(means),
            "mean": means.mean().to_list(),
            "n_few": len(few),
            "mean_few": few.mean().to_list(),
            "difference": [each.difference for each in against],
            "standard_error": [each.standard_error for each in against],
        }
    )


def few_grid(table: Table, few: pd.DataFrame) -> Grid:
    """Means over the data sets with few positives, and how they compare with plain 3-NN."""
    notes = [
        f"{sets_text(int(few['n_few'].iloc[0]))} with fewer than {FEW} positives to learn from. "
        "Differences and their standard errors are paired over these data sets."
    ]
    leader = table.study.leader
    for gap in few.loc[few["learner"] == leader, "difference"]:
        where = "ahead of" if gap >= 0 else "behind"
        notes.append(
            f"On average over them, {leader} is {abs(gap):.1f} points {where} plain 3-NN ({PLAIN})."
        )
    columns: Columns = {
        "Learner": "learner",
        "All data sets": lambda row: Cell(f"{row.mean:.1f}", row.mean),
        f"Fewer than {FEW} positives": lambda row: Cell(f"{row.mean_few:.1f}", row.mean_few),
        f"Minus {PLAIN} there": _difference_cell,
        "Standard error": _error_cell,
    }
    caption = f"{table.title}, data sets with few positives"
    return _listing(caption, few.itertuples(), columns, notes=notes)


def origin_grid(tables: Sequence[Table]) -> Grid:
    """What was run of each table, and which code computed it."""
    states = {name for table in tables for name in table.code}
    note = "Code is a fingerprint of the source files that can change a result. " + (
        "All results were computed with one state of the code."
        if len(states) == 1
        else f"The results are a mixture of {len(states)} states of the code."
    )
    columns: Columns = {
        "Table": "title",
        "Splits": lambda table: Cell(progress_text(table), float(table.n_splits[0])),
        "Data sets": lambda table: _count(len(table.datasets)),
        "Methods": lambda table: _count(len(table.learners)),
        "Tasks": lambda table: _count(len(table.scores)),
        "Code": lambda table: name_cell(code_text(table)),
    }
    return _listing("What was run", tables, columns, notes=[note])


def effort_grid(effort: pd.DataFrame) -> Grid:
    """How long the tasks of each learner took."""
    columns: Columns = {
        "Learner": "learner",
        "Tasks": "tasks",
        "Median seconds": lambda row: Cell(f"{row.median_seconds:.2f}", row.median_seconds),
        "Total hours": lambda row: Cell(f"{row.total_seconds / 3600:.2f}", row.total_seconds),
    }
    caption = "Finished tasks and their time, including tuning"
    return _listing(caption, effort.itertuples(), columns)


def _count(count: int) -> Cell:
    return Cell(str(count), count)


def _difference_cell(row: Any) -> Cell:
    """A difference in bold if it is more than two standard errors, if there is one."""
    return Cell(signed(row.difference), row.difference, row.difference > 2 * row.standard_error)


def _error_cell(row: Any) -> Cell:
    error = row.standard_error
    return Cell(MISSING) if np.isnan(error) else Cell(f"{error:.2f}", error)


def _p_cell(p_value: float) -> Cell:
    text = "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return Cell(text, p_value, p_value < LEVEL)
