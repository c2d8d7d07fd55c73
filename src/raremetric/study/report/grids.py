"""The grids of a report: scores in the paper's layout, pairs of learners, the lead, code, time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
import pandas as pd

from raremetric.pages import MISSING, Cell, Grid, name_cell
from raremetric.study.report.ranks import EQUIVALENT, LEVEL, PLAIN, RankTests, average_ranks
from raremetric.study.report.tables import (
    FEW,
    RESAMPLING_NAMES,
    Table,
    code_text,
    progress_text,
    sets_text,
    signed,
    splits_text,
)
from raremetric.study.tasks import MEASURES

Columns = dict[str, str | Callable[[Any], Any]]


def dataset_grid(table: Table) -> Grid:
    """Data sets (and shares) × learners, as in the paper's Tables 2 and 3."""
    labels = ["Data set", "Minority", "Splits"] if table.by_share else ["Data set", "Splits"]
    rows = []
    for (dataset, share), part in table.cells.groupby(
        ["dataset", "share"], sort=False, dropna=False
    ):
        names = [name_cell(dataset), share_cell(share)] if table.by_share else [name_cell(dataset)]
        cells = part.set_index("learner").reindex(table.learners)
        texts = _score_texts(cells["mean"], cells["std"])
        if cells["n_splits"].dropna().nunique() > 1:
            texts = [f"{text} ({n:.0f})" for text, n in zip(texts, cells["n_splits"], strict=True)]
        rows.append([*names, _splits_cell(cells["n_splits"]), *_marked(texts, cells["mean"])])
    return Grid(
        f"{table.title}, each data set" if table.by_share else table.title,
        [*labels, *table.learners],
        rows,
        [] if table.by_share else [*_mean_row(table), *_rank_row(table)],
        _notes(table),
    )


def _score_texts(means: pd.Series, stds: pd.Series) -> list[str]:
    return [f"{mean:.1f} ± {std:.1f}" for mean, std in zip(means, stds, strict=True)]


def _marked(texts: Iterable[str], values: pd.Series, sign: int = 1) -> list[Cell]:
    """Cells of which the best of at least two is bold: the highest, or the lowest if sign is −1."""
    rounded = sign * values.round(9)
    best = rounded.max() if values.count() > 1 else np.nan
    return [
        Cell(MISSING) if np.isnan(value) else Cell(text, float(value), bool(own == best))
        for text, value, own in zip(texts, values, rounded, strict=True)
    ]


def _mean_row(table: Table) -> Iterable[list[Cell]]:
    means, stds = table.complete(), table.complete("std")
    if not means.empty:
        label = Cell(f"Mean over {sets_text(len(means))}")
        cells = _marked(_score_texts(means.mean(), stds.mean()), means.mean())
        yield [label, _shared_splits(table), *cells]


def _rank_row(table: Table) -> Iterable[list[Cell]]:
    if ranks := average_ranks(table):
        label = Cell(f"Average rank over {sets_text(len(table.complete()))}")
        cells = _marked([f"{rank:.2f}" for rank in ranks.values()], pd.Series(ranks), sign=-1)
        yield [label, _shared_splits(table), *cells]


def _notes(table: Table) -> list[str]:
    how = "" if table.resampling == "none" else f", {RESAMPLING_NAMES[table.resampling]}"
    notes = [
        f"{MEASURES[table.measure].description}{how}: mean ± "
        "population standard deviation over the splits. Bold: the best mean of the row."
    ]
    if table.n_splits[0] != table.n_splits[1]:
        notes.append(
            "In parentheses: the number of splits, where it varies between the learners of a row. "
            "Means, ranks and tests use the splits that all learners have finished."
        )
    n_rows = len(table.cells[["dataset", "share"]].drop_duplicates())
    if len(table.cells) < n_rows * len(table.learners):
        notes.append(
            f"{MISSING}: no finished task yet. Means, ranks and tests use the data sets that all "
            "learners have finished."
        )
    return [*notes, _origin(table)]


def share_grid(table: Table) -> Grid:
    """Shares × learners: means over the data sets that all learners have finished."""
    labels = ["Minority", "Data sets", "Splits"]
    rows = []
    for share in table.shares:
        means = table.complete(share=share)
        counts = [share_cell(share), _cell(len(means)), _shared_splits(table, share)]
        rows.append([*counts, *_marked([f"{mean:.1f}" for mean in means.mean()], means.mean())])
    note = (
        f"Mean {table.measure_name} in percent, over the data sets with a result of every learner "
        "at this share."
    )
    header = [*labels, *table.learners]
    return Grid(table.title, header, rows, notes=[note, _origin(table)])


def share_cell(share: float) -> Cell:
    """A share as a percentage."""
    return Cell(f"{100 * share:.4g} %", share)


def _shared_splits(table: Table, share: float | None = None) -> Cell:
    """The number of splits behind means over the data sets that all learners have finished."""
    return _splits_cell(table.complete("n_splits", share).to_numpy().ravel())


def _splits_cell(counts: Iterable[float]) -> Cell:
    text = splits_text(counts)
    return Cell(text, None if text == MISSING else float(text.partition("–")[0]))


def _origin(table: Table) -> str:
    """What was run, and how much of it with other code than this version."""
    text = f"Splits: {progress_text(table)}. Code: {code_text(table)}."
    if n_other := table.n_of_other_code:
        text += f" Of other code than this version: {n_other} of {len(table.scores)} tasks."
    return text


def _listing(
    caption: str,
    rows: Iterable[Any],
    columns: Columns,
    notes: Sequence[str] = (),
) -> Grid:
    """A grid from any rows; each column is a heading, and an attribute or what makes a cell."""
    find = [attrgetter(each) if isinstance(each, str) else each for each in columns.values()]
    cells = [[_cell(each(row)) for each in find] for row in rows]
    return Grid(caption, list(columns), cells, notes=list(notes))


def _cell(value: Any, form: str = ".3g") -> Cell:
    """A cell that is sorted by its value; cells stay as they are."""
    if isinstance(value, Cell):
        return value
    if isinstance(value, float):
        return Cell(MISSING) if np.isnan(value) else Cell(f"{value:{form}}", value)
    return Cell(str(value), value)


def _p_cell(p_value: float, bold: bool = True) -> Cell:
    if np.isnan(p_value):
        return Cell(MISSING)
    text = "<0.001" if p_value < 0.001 else f"{p_value:.3f}"
    return Cell(text, p_value, bold and p_value < LEVEL)


def _difference_cell(row: Any) -> Cell:
    return Cell(signed(row.difference), row.difference)


PAIRED: Columns = {  # what `Paired` says, and Holm's p-value
    "SE": lambda row: _cell(row.standard_error, ".2f"),
    "Wins": "wins",
    "Ties": "ties",
    "Losses": "losses",
    "Wilcoxon p": lambda row: _p_cell(row.wilcoxon, bold=False),
    "Holm p": lambda row: _p_cell(row.holm),
    "Equivalence p": lambda row: _p_cell(row.equivalent),
}


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
    return _listing(caption, rows, columns, [_paired_note(pairs)])


def lead_grid(table: Table, lead: pd.DataFrame) -> Grid:
    """How far the leader is ahead of each other learner."""
    leader = table.study.leader
    columns: Columns = {"Learner": "learner", f"{leader} minus learner": _difference_cell, **PAIRED}
    caption = f"{table.title}, {leader} minus each learner"
    return _listing(caption, lead.itertuples(), columns, [_paired_note(lead)])


def _paired_note(pairs: pd.DataFrame) -> str:
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
        f"{len(pairs)} comparison{'s' * (len(pairs) != 1)}; below {LEVEL:g} (bold), the "
        "difference is significant. Equivalence: two one-sided t tests with this SE; below "
        f"{LEVEL:g} (bold), the means are equal within ±{EQUIVALENT:g} point. Otherwise, neither "
        "is shown."
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
        "All data sets": lambda row: _cell(row.mean, ".1f"),
        f"Fewer than {FEW} positives": lambda row: _cell(row.mean_few, ".1f"),
        f"Minus {PLAIN} there": _difference_cell,
        "SE": PAIRED["SE"],
        "Holm p": PAIRED["Holm p"],
    }
    caption = f"{table.title}, data sets with few positives"
    return _listing(caption, few.itertuples(), columns, notes)


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
        "Data sets": lambda table: len(table.datasets),
        "Methods": lambda table: len(table.learners),
        "Tasks": lambda table: len(table.scores),
        "Code": code_text,
    }
    return _listing("What was run", tables, columns, [note])


def effort_grid(effort: pd.DataFrame) -> Grid:
    """How long the tasks of each learner took."""
    columns: Columns = {
        "Learner": "learner",
        "Tasks": "tasks",
        "Median seconds": lambda row: _cell(row.median_seconds, ".2f"),
        "Total hours": lambda row: Cell(f"{row.total_seconds / 3600:.2f}", row.total_seconds),
    }
    if effort["median_fit_seconds"].notna().any():
        columns["Median CPU seconds of fits"] = "median_fit_seconds"
        columns["Median CPU µs per prediction"] = "median_predict_microseconds"
    return _listing("Finished tasks and their time, including tuning", effort.itertuples(), columns)
