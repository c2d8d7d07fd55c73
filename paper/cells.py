"""Every cell of the paper's Tables 2 and 3 beside ours: difference, standard error and verdict."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from pandas import DataFrame

from paper.printed import (
    PAPER_SPLITS,
    PRINTED_LEARNERS,
    Score,
    paper_datasets,
    paper_table,
    printed_for,
)
from raremetric.datasets import describe_dataset
from raremetric.pages import INK, MISSING, Cell, Figure, Grid, name_cell, new_figure, save, styles
from raremetric.study.report import Table, signed

# The headings of two columns: the paper's tables and its text disagree about which is which.
AS_PRINTED, EXCHANGED = "as printed", "exchanged"
PARTNER = {"LMNN": "GMML", "GMML": "LMNN"}
VERDICTS = ("same", "close", "borderline", "differs")
CLOSE, BORDERLINE = 2.0, 3.0  # in standard errors
PRINTED_DIGIT = 0.1  # the paper prints one decimal
OFF_SCALE = 8  # standard errors, in the figure

# Correlation over splits between two runs of one method on the same splits. The plain distance has
# nothing random or iterative; the others were measured, see docs/experiments/baselines.md.
REPEATABILITY = {"Euclidean": 1.0, "LMNN": 0.7, "ITML": 0.2, "GMML": 0.4, "IML": 0.8}

ONE_READING = [Cell(MISSING), Cell(MISSING), Cell(MISSING, "")]  # in the columns of the second


def readings(learner: str) -> dict[str, str]:
    """Which column of the paper belongs to a learner, for each reading of the headings.

    The reading is empty for learners that have only one.
    """
    if learner not in PARTNER:
        return {"": learner}
    return {AS_PRINTED: learner, EXCHANGED: PARTNER[learner]}


def judge_cells(tables: Iterable[Table]) -> DataFrame:
    """Compare our means with the paper's.

    Parameters
    ----------
    tables : iterable of Table
        Those that are not compared with the paper, and learners that it does not have, are left
        out. If two of them are compared with the same table, cells are taken from the first one.

    Returns
    -------
    DataFrame
        One row per cell, two for LMNN and GMML: table, dataset, learner, reading, n_splits,
        same_splits (whether our splits are among the paper's), mean, std, paper_mean, paper_std,
        difference, standard_error, standard_errors (difference / standard error) and verdict.

    Notes
    -----
    With s the standard deviation of F1 over splits, pooled from ours and the paper's, n our number
    of splits and N = 20 the paper's, the variance of the difference of the two means is
    s² (1/n + 1/N − 2ρ/max(n, N)): splits that both have cancel as far as their results are
    correlated. Where the rows are in the paper's order, our splits are among the paper's, and ρ is
    `REPEATABILITY`; with ρ = 1, a complete column must agree to the printed decimal. Elsewhere the
    splits are independent of the paper's, and ρ is 0. The variance of rounding to one decimal,
    0.1²/12, is added.
    """
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    for table in tables:
        if (paper := printed_for(table)) is None:
            continue
        for cell in table.cells.to_dict("records"):
            dataset, learner = cell["dataset"], cell["learner"]
            if (dataset, learner) not in paper.scores:
                continue
            for reading, column in readings(learner).items():
                key = (paper.name, dataset, learner, reading)
                rows.setdefault(key, _judge(cell, paper.scores[dataset, column]))
    names = ("table", "dataset", "learner", "reading")
    return DataFrame([dict(zip(names, key, strict=True)) | row for key, row in rows.items()])


def _judge(cell: dict[str, Any], paper: Score) -> dict[str, Any]:
    n_splits, same_splits = cell["n_splits"], describe_dataset(cell["dataset"]).paper_order
    squares = n_splits * cell["std"] ** 2 + PAPER_SPLITS * paper.std**2
    variance = squares / (n_splits + PAPER_SPLITS - 2)  # n·std² sums the squared deviations
    correlation = REPEATABILITY[cell["learner"]] if same_splits else 0.0
    share = 1 / n_splits + 1 / PAPER_SPLITS - 2 * correlation / max(n_splits, PAPER_SPLITS)
    return {
        "n_splits": n_splits,
        "same_splits": same_splits,
        "mean": cell["mean"],
        "std": cell["std"],
        "paper_mean": paper.mean,
        "paper_std": paper.std,
        **_verdict(cell["mean"] - paper.mean, variance * share + PRINTED_DIGIT**2 / 12),
    }


def _verdict(difference: float, variance: float) -> dict[str, Any]:
    error = float(np.sqrt(variance))
    size, errors = round(abs(difference), 9), abs(difference) / error
    if size <= PRINTED_DIGIT / 2:
        verdict = "same"
    elif errors <= CLOSE or size <= PRINTED_DIGIT:
        verdict = "close"
    else:
        verdict = "borderline" if errors <= BORDERLINE else "differs"
    return {
        "difference": difference,
        "standard_error": error,
        "standard_errors": difference / error,
        "verdict": verdict,
    }


def judge_means(cells: DataFrame) -> DataFrame:
    """Judge the mean of each column over its data sets; the errors of cells are independent.

    Returns
    -------
    DataFrame
        table, learner, reading, n_datasets, mean, paper_mean, difference, standard_error,
        standard_errors and verdict.
    """
    rows = []
    for (table, learner, reading), part in cells.groupby(
        ["table", "learner", "reading"], sort=False
    ):
        printed = paper_table(table).mean_over(part["dataset"], readings(learner)[reading]).mean
        variance = (part["standard_error"] ** 2).sum() / len(part) ** 2 + PRINTED_DIGIT**2 / 12
        rows.append(
            {"table": table, "learner": learner, "reading": reading}
            | {"n_datasets": len(part), "mean": part["mean"].mean(), "paper_mean": printed}
            | _verdict(float(part["mean"].mean() - printed), float(variance))
        )
    return DataFrame(rows)


def verdicts_grid(cells: DataFrame) -> Grid:
    """How many cells of each method have each verdict, over all tables together."""
    chosen = {
        f"{learner}{f', headings {reading}' if reading else ''}": (
            (cells["learner"] == learner) & (cells["reading"] == reading)
        )
        for learner in PRINTED_LEARNERS
        for reading in readings(learner)
    }
    foot = {
        f"All methods, headings {reading}": cells["reading"].isin(["", reading])
        for reading in sorted(set(cells["reading"]) - {""})
    }
    header = ["Method", "Cells", *map(str.capitalize, VERDICTS)]
    header.append("Root mean square of difference / error")
    rows, total = (
        [_counts_row(name, cells[which]) for name, which in group.items() if which.any()]
        for group in (chosen, foot)
    )
    return Grid(
        "Cells of Tables 2 and 3 beside the paper's", header, rows, total, _notes(bool(total))
    )


def _counts_row(name: str, part: DataFrame) -> list[Cell]:
    counts = [int((part["verdict"] == verdict).sum()) for verdict in VERDICTS]
    spread = float(np.sqrt((part["standard_errors"] ** 2).mean()))
    numbers = [Cell(str(count), count) for count in (len(part), *counts)]
    return [name_cell(name), *numbers, Cell(f"{spread:.1f}", spread)]


def cells_grid(title: str, cells: DataFrame) -> Grid:
    """All cells of one table, under both readings of the headings."""
    header = ["Data set", "Method", "Splits", "Ours", "Paper", "Standard error"]
    header += ["Difference / error", "Verdict"]
    header += ["Paper, exchanged", "Difference / error, exchanged", "Verdict, exchanged"]
    rows = []
    for (dataset, learner), part in cells.groupby(["dataset", "learner"], sort=False):
        first, *other = part.itertuples()
        rows.append(
            [
                name_cell(dataset),
                name_cell(learner),
                Cell(str(first.n_splits), first.n_splits),
                Cell(f"{first.mean:.1f} ± {first.std:.1f}", first.mean),
                *_judged_cells(first, with_error=True),
                *(_judged_cells(other[0]) if other else ONE_READING),
            ]
        )
    return Grid(f"{title}, every cell beside the paper's", header, rows)


def _judged_cells(cell: Any, with_error: bool = False) -> list[Cell]:
    errors = [Cell(f"{cell.standard_error:.2f}", cell.standard_error)] if with_error else []
    return [
        Cell(f"{cell.paper_mean:.1f} ± {cell.paper_std:.1f}", cell.paper_mean),
        *errors,
        Cell(signed(cell.standard_errors), abs(cell.standard_errors)),
        Cell(cell.verdict, cell.verdict),
    ]


def draw_cells(cells: DataFrame) -> Figure:
    """Draw the differences from the paper in standard errors, a row of dots for each column.

    Parameters
    ----------
    cells : DataFrame
        The result of `judge_cells`.
    """
    parts = list(cells.groupby(["learner", "reading"], sort=False)["standard_errors"])
    with new_figure((8.0, 1.4 + 0.42 * len(parts)), n_axes=1) as (figure, axes):
        ax = axes[0]
        for position, ((learner, _), errors) in enumerate(parts):
            color, _ = styles([learner])[learner]
            inside = errors.clip(-OFF_SCALE, OFF_SCALE).to_numpy()
            ax.plot(inside, [position] * len(inside), "|", color=color, markersize=13)
        for limit in (CLOSE, BORDERLINE):
            for x in (-limit, limit):
                ax.axvline(x, color=INK, linewidth=0.8, linestyle=":" if limit > CLOSE else "--")
        names = [f"{learner}\n{reading}" if reading else learner for (learner, reading), _ in parts]
        ax.set_yticks(range(len(parts)), names)
        ax.set(xlim=(-OFF_SCALE - 0.4, OFF_SCALE + 0.4), ylim=(len(parts) - 0.5, -0.5))
        ax.set_xlabel("Ours minus the paper's, in standard errors")
        ax.grid(visible=False, axis="y")
        caption = (
            "Each mark is one cell of Tables 2 and 3: our mean minus the paper's, in standard "
            "errors of the difference. Dashed lines: two standard errors. Dotted lines: three. "
            f"Marks at the border are {OFF_SCALE} or more away."
        )
        return save(figure, "cells", caption)


def _notes(with_readings: bool) -> list[str]:
    """What the columns of the comparison mean."""
    other = [name for name in sorted(paper_datasets()) if not describe_dataset(name).paper_order]
    known = ", ".join(f"{value:g} for {name}" for name, value in REPEATABILITY.items())
    return [
        "The standard error is that of the difference between the two means: "
        f"s √(1/n + 1/{PAPER_SPLITS} − 2ρ/{PAPER_SPLITS}) for our n splits, and the error of the "
        "paper's rounding. s is the standard deviation over splits, pooled from ours and the "
        "paper's. Our splits are the paper's own, so results of a split are correlated; ρ is the "
        f"correlation of two runs of one method: {known}. It is 0 on "
        f"{', '.join(other[:-1])} and {other[-1]}, whose rows are in another order than the "
        "paper's, so that the splits differ.",
        "Same: our mean rounds to the printed one. Close: the difference is at most two standard "
        "errors, or at most 0.1. Borderline: at most three standard errors. Differs: more. Between "
        "two equally good runs, about one cell in 23 is borderline by chance, and one in 370 "
        "differs.",
        *[
            "Exchanged: our LMNN beside the paper's column headed GMML, and our GMML beside the "
            "column headed LMNN."
        ]
        * with_readings,
    ]
