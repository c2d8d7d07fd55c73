"""The tables of scores in a report, in the paper's layout."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from pandas import DataFrame

from raremetric.pages.page import MISSING, Cell, Grid, name_cell
from raremetric.study.report.ranks import average_ranks
from raremetric.study.report.tables import (
    RESAMPLING_NAMES,
    Table,
    code_text,
    progress_text,
    sets_text,
    splits_text,
)


def dataset_grid(table: Table) -> Grid:
    """Data sets (and shares) × learners, as in the paper's Tables 2 and 3."""
    labels = ["Data set", "Minority", "Splits"] if table.by_share else ["Data set", "Splits"]
    rows = []
    for key, part in table.cells.groupby(["dataset", "share"], sort=False, dropna=False):
        dataset, share = key
        names = [name_cell(dataset), share_cell(share)] if table.by_share else [name_cell(dataset)]
        cells = part.set_index("learner").reindex(table.learners)
        rows.append([*names, _splits_cell(cells["n_splits"]), *_score_cells(cells)])
    return Grid(
        f"{table.title}, each data set" if table.by_share else table.title,
        [*labels, *table.learners],
        rows,
        [] if table.by_share else [*_mean_row(table), *_rank_rows(table)],
        len(labels),
        _notes(table),
    )


def _score_cells(cells: DataFrame) -> list[Cell]:
    """Mean ± standard deviation of each learner, with the number of splits if it varies."""
    uneven = cells["n_splits"].dropna().nunique() > 1
    found = []
    for cell, is_best in zip(cells.itertuples(), _best(cells["mean"]), strict=True):
        if np.isnan(cell.mean):
            found.append(Cell(MISSING))
            continue
        n_splits = f" ({cell.n_splits:.0f})" if uneven else ""
        text = f"{cell.mean:.1f} ± {cell.std:.1f}{n_splits}"
        found.append(Cell(text, float(cell.mean), is_best))
    return found


def _best(scores: Any) -> list[bool]:
    """Whether each score is the highest of at least two."""
    rounded = np.round(scores, 9)
    if np.count_nonzero(~np.isnan(rounded)) < 2:
        return [False] * len(rounded)
    return (rounded == np.nanmax(rounded)).tolist()


def _mean_row(table: Table) -> Iterable[list[Cell]]:
    means, stds = table.complete(), table.complete("std")
    if means.empty:
        return
    cells = [
        Cell(f"{mean:.1f} ± {stds[learner].mean():.1f}", float(mean), is_best)
        for (learner, mean), is_best in zip(means.mean().items(), _best(means.mean()), strict=True)
    ]
    yield [Cell(f"Mean over {sets_text(len(means))}"), _shared_splits(table), *cells]


def _rank_rows(table: Table) -> Iterable[list[Cell]]:
    if (ranks := average_ranks(table)) is None:
        return
    for text, own in (("", ranks.over_datasets), (" and the Mean row", ranks.with_mean_row)):
        best = _best([-rank for rank in own.values()])
        cells = [
            Cell(f"{rank:.2f}", rank, is_best)
            for rank, is_best in zip(own.values(), best, strict=True)
        ]
        label = f"Average rank over {sets_text(ranks.n_datasets)}{text}"
        yield [Cell(label), _shared_splits(table), *cells]


def _notes(table: Table) -> list[str]:
    measure = table.measure_name
    how = "" if table.resampling == "none" else f", {RESAMPLING_NAMES[table.resampling]}"
    notes = [
        f"{measure.capitalize()} of the positive class in percent{how}: mean ± "
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
        cells = [
            Cell(f"{mean:.1f}", mean, is_best) if len(means) else Cell(MISSING)
            for mean, is_best in zip(means.mean(), _best(means.mean()), strict=True)
        ]
        n_sets = Cell(str(len(means)), len(means))
        rows.append([share_cell(share), n_sets, _shared_splits(table, share), *cells])
    note = (
        f"Mean {table.measure_name} in percent, over the data sets with a result of every learner "
        "at this share."
    )
    header, notes = [*labels, *table.learners], [note, _origin(table)]
    return Grid(table.title, header, rows, [], len(labels), notes)


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
    text = f"Splits: {progress_text(table)}. Code: {code_text(table)}."
    if n_other := int(table.scores["other_code"].sum()):
        text += f" Of other code than this version: {n_other} of {len(table.scores)} tasks."
    return text
