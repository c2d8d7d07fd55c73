"""What a report lists beside its tables: pairs of learners, differences from the paper, time."""

from __future__ import annotations

from raremetric.report.grid import Cell, Grid
from raremetric.report.ranks import LEVEL, Comparison
from raremetric.report.summarize import Summary, Table
from raremetric.report.tables import signed

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
