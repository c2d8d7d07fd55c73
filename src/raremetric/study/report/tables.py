"""The tables of a study: formatted in the paper's layout, and as frames for CSV files."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from raremetric.extras import import_optional
from raremetric.pages.page import MISSING, Cell, Grid
from raremetric.study.report.published import Score
from raremetric.study.report.ranks import AverageRanks, average_ranks, published_average_ranks
from raremetric.study.report.summarize import Table, in_order, resampling_name

if TYPE_CHECKING:
    from pandas import DataFrame


def long_table(table: Table) -> DataFrame:
    """One row per cell. Columns of published values are empty where there is none."""
    columns = ["dataset", "learner", "n_splits", "mean", "std"]
    if table.published:
        columns += ["published_mean", "published_std"]
    if table.by_share:
        columns = [columns[0], "share", *columns[1:], "accuracy_mean", "accuracy_std"]
    return table.cells[columns].round(4)


def wide_table(table: Table) -> DataFrame:
    """One row per data set (and share), with the columns of all learners side by side."""
    index = ["dataset", "share"] if table.by_share else ["dataset"]
    cells = table.cells.assign(difference=table.cells["mean"] - table.cells["published_mean"])
    columns = ["mean", "std", "n_splits"]
    if table.published:
        columns += ["published_mean", "published_std", "difference"]
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
    foot = [] if table.by_share else _foot(table)
    caption = f"{table.title}, each data set" if table.by_share else table.title
    header = [*labels, *table.learners]
    source = table.published.source if table.published else ""
    return Grid(caption, header, rows, foot, len(labels), _notes(table), source)


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
    header, notes = [*labels, *table.learners], [note, _origin(table)]
    return Grid(table.title, header, rows, [], len(labels), notes)


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
        detail = _beside(cell["mean"], Score(cell["published_mean"], cell["published_std"]))
        found.append(Cell(text, float(cell["mean"]), bool(is_best), detail))
    return found


def _beside(mean: float, published: Score) -> str:
    """The difference from the published value, then that value; empty if there is none."""
    if np.isnan(published.mean):
        return ""
    return f"{signed(mean - published.mean)} ({published.mean:.1f} ± {published.std:.1f})"


def _best(scores: np.ndarray) -> np.ndarray:
    """Whether each score is the highest of at least two."""
    rounded = np.round(scores, 9)
    if np.count_nonzero(~np.isnan(rounded)) < 2:
        return np.zeros(len(scores), dtype=bool)
    return rounded == np.nanmax(rounded)


def _foot(table: Table) -> list[list[Cell]]:
    """Means and average ranks; those of published methods also without the others."""
    rows = [*_mean_row(table), *_rank_rows(table)]
    known = table.published
    if not known or not set(known.learners) < set(table.learners):
        return rows
    part = table.restricted(known.learners)
    for label, splits, *cells in [*_mean_row(part), *_rank_rows(part)]:
        found = dict(zip(part.learners, cells, strict=True))
        shown = [found.get(name, Cell(MISSING)) for name in table.learners]
        rows.append([Cell(f"{label.text}, {known.source}'s methods only"), splits, *shown])
    return rows


def _mean_row(table: Table) -> Iterable[list[Cell]]:
    means, stds = table.complete(), table.complete("std")
    if means.empty:
        return
    scores = means.mean()
    best = _best(scores.to_numpy())
    cells = []
    for learner, is_best in zip(table.learners, best, strict=True):
        detail = ""
        known = table.published
        if known and all((name, learner) in known.scores for name in means.index):
            detail = _beside(scores[learner], known.mean_over(means.index, learner))
        text = f"{scores[learner]:.1f} ± {stds[learner].mean():.1f}"
        cells.append(Cell(text, float(scores[learner]), bool(is_best), detail))
    splits = table.complete("n_splits").to_numpy().ravel()
    yield [Cell(f"Mean over {sets_text(len(means))}"), _splits_cell(splits), *cells]


def _rank_rows(table: Table) -> Iterable[list[Cell]]:
    ranks, published = average_ranks(table), published_average_ranks(table)
    if ranks is None:
        return
    splits = _splits_cell(table.complete("n_splits").to_numpy().ravel())
    for label, name in (
        (f"Average rank over {sets_text(ranks.n_datasets)}", "over_datasets"),
        (f"Average rank over {sets_text(ranks.n_datasets)} and the Mean row", "with_mean_row"),
    ):
        yield [Cell(label), splits, *_rank_cells(ranks, published, name)]


def _rank_cells(ranks: AverageRanks, published: AverageRanks | None, name: str) -> Iterable[Cell]:
    ours = getattr(ranks, name)
    best = _best(-np.array(list(ours.values())))
    for (learner, rank), is_best in zip(ours.items(), best, strict=True):
        detail = ""
        if published:
            theirs = getattr(published, name)[learner]
            gap = f"{rank - theirs:+.2f}".replace("-", "−")
            detail = f"{gap} ({theirs:.2f})"
        yield Cell(f"{rank:.2f}", rank, bool(is_best), detail)


def progress_text(table: Table) -> str:
    """The number of splits of the cells, of how many: such as "20 of 20" or "0–12 of 20"."""
    counts = table.cells.pivot(index=["dataset", "share"], columns="learner", values="n_splits")
    return f"{splits_text(counts.fillna(0).to_numpy().ravel())} of {table.planned}"


def code_text(table: Table) -> str:
    """The fingerprint of the code, or all of them with the numbers of tasks."""
    names = {name or "unknown": part for name, part in table.code.items()}
    if len(names) == 1:
        return next(iter(names))
    texts = []
    for name, part in names.items():
        learners = in_order(part["learner"].unique(), table.learners)
        whose = "" if len(learners) == len(table.learners) else f" of {', '.join(learners)}"
        count = f"{len(part)} task{'s' * (len(part) != 1)}"
        texts.append(f"{name} ({count}{whose})")
    return f"{len(names)} fingerprints: {', '.join(texts)}"


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
    if table.published:
        notes += [table.published.note] * bool(table.published.note)
        known = table.published.learners
        if beyond := [name for name in table.learners if name not in known]:
            notes.append(f"Beyond {table.published.source}: {', '.join(beyond)}.")
    return [*notes, _origin(table)]


def _origin(table: Table) -> str:
    return f"Splits: {progress_text(table)}. Code: {code_text(table)}."
