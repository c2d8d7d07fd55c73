"""The tables of a study: formatted in the paper's layout, and as frames for CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from raremetric.contenders import CONTENDERS
from raremetric.extras import import_optional
from raremetric.report.page import MISSING, Cell, Grid
from raremetric.report.ranks import average_ranks, paper_average_ranks
from raremetric.report.summarize import Table, resampling_name

if TYPE_CHECKING:
    from pandas import DataFrame

PAPER_SPLITS = 20
ADDED = "†"  # marks learners that were added to those of the paper


def long_table(table: Table) -> DataFrame:
    """One row per cell. The columns of the paper are empty where it has no value."""
    columns = ["dataset", "learner", "n_splits", "mean", "std", "paper_mean", "paper_std"]
    if table.by_share:
        columns = [columns[0], "share", *columns[1:], "accuracy_mean", "accuracy_std"]
    return table.cells[columns].round(4)


def wide_table(table: Table) -> DataFrame:
    """One row per data set (and share), with the columns of all learners side by side."""
    index = ["dataset", "share"] if table.by_share else ["dataset"]
    cells = table.cells.assign(difference=table.cells["mean"] - table.cells["paper_mean"])
    columns = ["mean", "std", "n_splits"]
    if table.paper:
        columns += ["paper_mean", "paper_std", "difference"]
    order = cells[index].drop_duplicates()
    wide = cells.set_index([*index, "learner"])[columns].unstack("learner")
    pairs = [(column, learner) for learner in table.learners for column in columns]
    wide = wide[pairs].loc[order.set_index(index).index].round(4)
    for learner in table.learners:
        wide["n_splits", learner] = wide["n_splits", learner].fillna(0).astype(int)
    wide.columns = import_optional("pandas").Index(
        [f"{learner}_{column}" for column, learner in pairs]
    )
    return wide.reset_index()


def dataset_grid(table: Table) -> Grid:
    """Data sets (and shares) × learners, as in the paper's Tables 2 and 3."""
    labels = ["Data set", "Minority", "Splits"] if table.by_share else ["Data set", "Splits"]
    rows = [
        [*names, _splits_cell(cells["n_splits"]), *_score_cells(cells, table.learners)]
        for names, cells in _rows_of(table)
    ]
    foot = [] if table.by_share else [*_mean_row(table), *_rank_rows(table)]
    caption = f"{table.title}, each data set" if table.by_share else table.title
    names = [f"{name} {ADDED}" if name in table.added else name for name in table.learners]
    return Grid(caption, [*labels, *names], rows, foot, len(labels), _notes(table))


def share_grid(table: Table) -> Grid:
    """Shares × learners: means over the data sets that all learners have finished."""
    labels = ["Minority", "Data sets", "Splits"]
    rows = []
    for share in table.shares:
        means = table.complete(share=share)
        splits = table.complete("n_splits", share)
        scores = means.mean().to_numpy()
        best = _best(scores)
        rows.append(
            [
                share_cell(share),
                Cell(str(len(means)), len(means)),
                _splits_cell(splits.to_numpy().ravel()),
                *(
                    Cell(f"{score:.1f}", score, bool(is_best)) if len(means) else Cell(MISSING)
                    for score, is_best in zip(scores, best, strict=True)
                ),
            ]
        )
    note = (
        f"Mean {table.measure_name} in percent, over the data sets with a result of every learner "
        "at this share."
    )
    return Grid(table.title, [*labels, *table.learners], rows, [], len(labels), [note])


def signed(number: float) -> str:
    """A number with one decimal and a sign, except for zero."""
    text = f"{abs(number):.1f}"
    if float(text) == 0:
        return text
    return ("+" if number > 0 else "−") + text


def share_cell(share: float) -> Cell:
    """A share as a percentage."""
    return Cell(f"{100 * share:.4g} %", share)


def splits_text(counts: Iterable[float]) -> str:
    """The number of splits, or its range if it varies."""
    numbers = np.asarray(list(counts), dtype=float)
    numbers = numbers[~np.isnan(numbers)]
    if not len(numbers):
        return MISSING
    low, high = int(numbers.min()), int(numbers.max())
    return str(low) if low == high else f"{low}–{high}"


def _splits_cell(counts: Iterable[float]) -> Cell:
    text = splits_text(counts)
    return Cell(text, None if text == MISSING else float(text.partition("–")[0]))


def _rows_of(table: Table) -> Iterable[tuple[list[Cell], DataFrame]]:
    """The labels of each row of the table, and its cells by learner."""
    keys = ["dataset", "share"] if table.by_share else ["dataset"]
    for key, cells in table.cells.groupby(keys, sort=False):
        dataset, *share = key
        labels = [Cell(dataset, dataset), *(share_cell(each) for each in share)]
        yield labels, cells.set_index("learner").reindex(table.learners)


def _score_cells(cells: DataFrame, learners: list[str]) -> list[Cell]:
    """Mean ± standard deviation of each learner, with the number of splits if it varies."""
    uneven = cells["n_splits"].dropna().nunique() > 1
    best = _best(cells["mean"].to_numpy())
    found = []
    for learner, is_best in zip(learners, best, strict=True):
        cell = cells.loc[learner]
        if np.isnan(cell["mean"]):
            found.append(Cell(MISSING))
            continue
        text = f"{cell['mean']:.1f} ± {cell['std']:.1f}"
        if uneven:
            text += f" ({cell['n_splits']:.0f})"
        detail = paper_text(cell["mean"], cell["paper_mean"], cell["paper_std"])
        found.append(Cell(text, float(cell["mean"]), bool(is_best), detail))
    return found


def paper_text(mean: float, paper_mean: float, paper_std: float) -> str:
    """The difference from the paper, then the paper's value; empty if there is none."""
    if np.isnan(paper_mean):
        return ""
    return f"{signed(mean - paper_mean)} ({paper_mean:.1f} ± {paper_std:.1f})"


def _best(scores: np.ndarray) -> np.ndarray:
    """Whether each score is the highest of at least two."""
    rounded = np.round(scores, 9)
    if np.count_nonzero(~np.isnan(rounded)) < 2:
        return np.zeros(len(scores), dtype=bool)
    return rounded == np.nanmax(rounded)


def _mean_row(table: Table) -> Iterable[list[Cell]]:
    means, stds = table.complete(), table.complete("std")
    if means.empty:
        return
    scores = means.mean()
    best = _best(scores.to_numpy())
    cells = []
    for learner, is_best in zip(table.learners, best, strict=True):
        detail = ""
        if table.paper and all((name, learner) in table.paper.scores for name in means.index):
            paper = table.paper.mean_over(means.index, learner)
            detail = paper_text(scores[learner], paper.mean, paper.std)
        text = f"{scores[learner]:.1f} ± {stds[learner].mean():.1f}"
        cells.append(Cell(text, float(scores[learner]), bool(is_best), detail))
    splits = table.complete("n_splits").to_numpy().ravel()
    yield [Cell(f"Mean over {sets_text(len(means))}"), _splits_cell(splits), *cells]


def _rank_rows(table: Table) -> Iterable[list[Cell]]:
    """Ranks of the learners of the paper among each other, then of all if there are others."""
    ranks, paper = average_ranks(table, table.ranked), paper_average_ranks(table)
    if ranks is None:
        return
    splits = _splits_cell(table.complete("n_splits").to_numpy().ravel())
    over = f"over {sets_text(ranks.n_datasets)}"
    for label, name in (
        (f"Average rank {over}", "over_datasets"),
        (f"Average rank {over} and the Mean row", "with_mean_row"),
    ):
        theirs = getattr(paper, name) if paper else {}
        yield [Cell(label), splits, *_rank_cells(table, getattr(ranks, name), theirs)]
    if table.added and (together := average_ranks(table, table.learners)):
        label = f"Average rank of all {len(table.learners)} learners {over}"
        yield [Cell(label), splits, *_rank_cells(table, together.over_datasets, {})]


def _rank_cells(table: Table, ranks: dict[str, float], theirs: dict[str, float]) -> Iterable[Cell]:
    """Rank of each learner, and that in the paper; empty for learners that are not ranked."""
    highest = _best(-np.array(list(ranks.values())))
    best = dict(zip(ranks, highest, strict=True))
    for learner in table.learners:
        if learner not in ranks:
            yield Cell(MISSING)
            continue
        rank, detail = ranks[learner], ""
        if learner in theirs:
            gap = f"{rank - theirs[learner]:+.2f}".replace("-", "−")
            detail = f"{gap} ({theirs[learner]:.2f})"
        yield Cell(f"{rank:.2f}", rank, bool(best[learner]), detail)


def sets_text(number: int) -> str:
    """A number of data sets in words."""
    return f"{number} data set{'s' * (number != 1)}"


def _notes(table: Table) -> list[str]:
    name = table.measure_name
    how = "" if table.resampling == "none" else f", {resampling_name(table.resampling)}"
    notes = [
        f"{name[0].upper()}{name[1:]} of the positive class in percent{how}: mean ± population "
        "standard deviation over the splits. Bold: the best mean of the row."
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
    if table.paper:
        notes.append(
            f"The paper's values are means over {PAPER_SPLITS} splits. Its Mean row and its "
            "average ranks are computed over the same data sets as ours; over all 22 data sets "
            "they are the printed ones."
        )
    if table.added:
        notes.append(
            f"{ADDED}: not in the paper. The learners of the paper are ranked among each other, as "
            "in the paper; another row ranks all learners."
        )
    found = (CONTENDERS[name] for name in table.learners if name in CONTENDERS)
    return [*notes, *(each.looks_at_queries for each in found if each.looks_at_queries)]
