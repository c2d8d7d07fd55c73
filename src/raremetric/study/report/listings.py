"""What a report lists besides the scores: pairs of learners, the lead, the code, time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from raremetric.pages.page import MISSING, Cell, Grid, name_cell
from raremetric.study.report.ranks import EQUIVALENT, LEVEL, RankTests, leads
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
PAIRED: Columns = {  # what `Paired` says, and Holm's p-value
    "SE": lambda row: _error_cell(row),
    "Wins": "wins",
    "Ties": "ties",
    "Losses": "losses",
    "Wilcoxon p": lambda row: _p_cell(row.wilcoxon, bold=False),
    "Holm p": lambda row: _p_cell(row.holm),
    "Equivalence p": lambda row: _p_cell(row.equivalent),
}


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
    """Each pair of learners with the p-values of the tests, except for those of `lead_grid`."""
    pairs, leader = tests.pairs, table.study.leader
    rows = [row for row in pairs.itertuples() if leader not in (row.first, row.second)]
    columns: Columns = {
        "Better mean": "first",
        "Other": "second",
        "Difference": _difference_cell,
        **PAIRED,
    }
    caption = f"{table.title}, {'other ' * (leader in table.learners)}pairs of learners"
    return _listing(caption, rows, columns, 2, [_paired_note(pairs, len(pairs))])


def lead_table(table: Table) -> pd.DataFrame | None:
    """The leader minus each other learner; None if there is no leader or nothing to compare."""
    leader = table.study.leader
    if leader is None or leader not in table.learners or len(table.learners) < 2 or table.by_share:
        return None
    means = table.complete()
    return None if means.empty else leads(means, leader)


def lead_grid(table: Table, lead: pd.DataFrame) -> Grid:
    """How far the leader is ahead of each other learner."""
    leader = table.study.leader
    columns: Columns = {"Learner": "learner", f"{leader} minus learner": _difference_cell, **PAIRED}
    caption = f"{table.title}, {leader} minus each learner"
    return _listing(caption, lead.itertuples(), columns, notes=[_paired_note(lead, len(lead))])


def _paired_note(pairs: pd.DataFrame, n_corrected: int) -> str:
    n_datasets, n_origins = map(int, pairs[["n_datasets", "n_origins"]].iloc[0])
    origins = ""
    if n_origins < n_datasets:
        origins = (
            f" of {n_origins} origins. Data sets of one origin are not independent: the SE is "
            "clustered by origin, and Wilcoxon's test takes the mean difference of each origin"
        )
    return (
        "Paired differences over the data sets and splits that all learners have finished: "
        f"{sets_text(n_datasets)}{origins}. SE: standard error of the mean over data sets. "
        "Wilcoxon: two-sided signed-rank test, without ties. Holm: the same, corrected for "
        f"{n_corrected} comparison{'s' * (n_corrected != 1)}; below {LEVEL:g} (bold), the "
        "difference is significant. Equivalence: two one-sided t tests with this SE; below "
        f"{LEVEL:g} (bold), the means are equal within ±{EQUIVALENT:g} point. Otherwise, neither "
        "is shown."
    )


def few_table(table: Table) -> pd.DataFrame | None:
    """Means over the data sets with few positives, and the differences from plain 3-NN there.

    None if the study does not ask for it, or lacks such data sets or plain 3-NN.
    """
    if not table.few or PLAIN not in table.learners or len(table.learners) < 2:
        return None
    means = table.complete()
    few = means[means.index.isin(table.few)]
    if few.empty:
        return None
    against = leads(few, PLAIN).set_index("learner").reindex(table.learners)
    return pd.DataFrame(
        {
            "learner": table.learners,
            "n_datasets": len(means),
            "mean": means.mean().to_list(),
            "n_few": len(few),
            "mean_few": few.mean().to_list(),
            "difference": -against["difference"].fillna(0.0).to_numpy(),
            "standard_error": against["standard_error"].to_numpy(),
            "holm": against["holm"].to_numpy(),
        }
    )


def few_grid(table: Table, few: pd.DataFrame) -> Grid:
    """Means over the data sets with few positives, and how they compare with plain 3-NN."""
    notes = [
        f"{sets_text(int(few['n_few'].iloc[0]))} with fewer than {FEW} positives to learn from. "
        "Differences are paired over these data sets; SE and Holm p as in the other tables."
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
        "SE": _error_cell,
        "Holm p": lambda row: _p_cell(row.holm),
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
    return Cell(signed(row.difference), row.difference)


def _error_cell(row: Any) -> Cell:
    error = row.standard_error
    return Cell(MISSING) if np.isnan(error) else Cell(f"{error:.2f}", error)


def _p_cell(p_value: float, bold: bool = True) -> Cell:
    if np.isnan(p_value):
        return Cell(MISSING)
    text = "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return Cell(text, p_value, bold and p_value < LEVEL)
