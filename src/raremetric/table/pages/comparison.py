"""The page of a comparison of methods on a user's table."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from raremetric.pages.page import Cell, Grid, Section, to_html
from raremetric.table.pages.comparison_figures import draw_counts, draw_curves, draw_directions
from raremetric.table.results import BUDGETS, Comparison, title_of

N_COLUMNS = 50  # of the file, in the table of importances
HOPELESS = (
    "No method ranks the rows better than chance: no average precision is above the share of the "
    "class by two standard errors. These columns may say nothing about the class, or there are too "
    "few examples of it."
)


def comparison_page(
    comparison: Comparison,
    rows: list[dict[str, Any]],
    command: str = "",
    sizes: Sequence[int] = BUDGETS,
) -> str:
    """A standalone page: results, alerts, curves, confusion matrices, tuning, directions.

    Parameters
    ----------
    comparison : Comparison
    rows : list of dict
        Its summary, one row per method.
    command : str
        The command that repeats the comparison.
    sizes : sequence of int
        Numbers of alerts to show precision and recall for.

    Returns
    -------
    str
        HTML. All texts in it are escaped.
    """
    n, n_positive = len(comparison.y), int(comparison.y.sum())
    positive = comparison.class_names[1]
    directions = draw_directions(comparison)
    sections = [
        Section("results", "Results", [results_grid(comparison, rows)]),
        Section("budgets", "Alerts", [budget_grid(comparison, sizes)]),
        Section("curves", "Precision and recall", [], [draw_curves(comparison)]),
        Section("counts", "Confusion matrices", [], [draw_counts(comparison)]),
        Section("tuning", "How the methods were tuned", [tuning_grid(comparison, rows)]),
    ]
    if found := comparison.importances():
        grid = importances_grid(comparison, found, rows)
        sections.insert(2, Section("importances", "Importances of the columns", [grid]))
    if directions:
        sections.append(Section("directions", "The table in two directions", [], [directions]))
    return to_html(
        "raremetric.table.pages",
        "comparison.html",
        title=f"{Path(comparison.source).name}: {comparison.target_name} = {positive}",
        overview=(
            f"{n} rows, {comparison.n_columns} columns, {n_positive} rows of class {positive} "
            f"({n_positive / n:.1%}). {comparison.protocol} All methods were tested on the same "
            f"folds and tuned for {comparison.aim} within the training part."
        ),
        details={"Command": command} if command else {},
        remarks=remarks(comparison, rows),
        sections=sections,
    )


def remarks(comparison: Comparison, rows: list[dict[str, Any]]) -> list[str]:
    """The notes, the methods that could not be tested, and whether any method finds anything."""
    failed = [f"{each['title']} failed: {each['error']}" for each in comparison.failed()]
    hopeless = [] if any_better_than_chance(comparison, rows) else [HOPELESS]
    return [*comparison.notes, *failed, *hopeless]


def any_better_than_chance(comparison: Comparison, rows: list[dict[str, Any]]) -> bool:
    """Whether a method has an average precision above the share of the positive class.

    It must be above it by two standard errors over the folds.
    """
    share = np.average(comparison.y, weights=comparison.weights)
    found = [row["average precision"] for row in rows]
    return any(
        each["mean"] - 2 * each["std"] / math.sqrt(comparison.n_folds) > share for each in found
    )


def best_sentence(comparison: Comparison, rows: list[dict[str, Any]]) -> str:
    """What the marks of the best methods mean."""
    n_marked = sum(row["among_best"] for row in rows)
    if len(rows) == 1:
        return "Only one method was tested."
    if n_marked == 1:
        which = f"the best {comparison.aim}; the differences to all others are larger than chance"
    else:
        which = f"the best {comparison.aim}, and methods whose difference to it can be chance"
    return f"Marked with *: {which} (paired t-test over the folds, 5 % level)."


def results_grid(comparison: Comparison, rows: list[dict[str, Any]]) -> Grid:
    """Mean and standard deviation of each measure; methods as good as the best in bold."""
    grid_rows = []
    for row in rows:
        cells = []
        for name in comparison.measures:
            best = name == comparison.aim and row["among_best"]
            text = f"{100 * row[name]['mean']:.1f} ± {100 * row[name]['std']:.1f}"
            cells.append(Cell(text + " *" * best, row[name]["mean"], best=best))
        seconds = row["seconds"]["mean"]
        grid_rows.append(
            [Cell(row["title"], row["title"]), *cells, Cell(f"{seconds:.2f}", seconds)]
        )
    return Grid(
        f"Measures of class {comparison.class_names[1]} in percent",
        ["Method", *(name[0].upper() + name[1:] for name in comparison.measures), "Seconds"],
        grid_rows,
        notes=[
            best_sentence(comparison, rows),
            f"Mean ± standard deviation over {comparison.n_folds} folds, in percent. Seconds: time "
            "to tune and fit, per fold.",
        ],
    )


def budget_grid(comparison: Comparison, sizes: Sequence[int] = BUDGETS) -> Grid:
    """Precision and recall of each method if only the rows with the highest scores are checked."""
    found = comparison.budgets(sizes)
    used = list(dict.fromkeys(each["alerts"] for each in found))
    by_title: dict[str, list[Cell]] = {}
    for each in found:
        text = f"{100 * each['precision']:.0f} / {100 * each['recall']:.0f}"
        by_title.setdefault(each["title"], []).append(Cell(text, each["found"]))
    for (method, resampling), results in comparison.entries().items():
        cells = by_title.setdefault(title_of(method, resampling), [])
        (_, fp), (_, tp) = comparison.confusion(results) / comparison.n_repeats
        cells.append(Cell(f"{fp + tp:.0f}", float(fp + tp)))
    return Grid(
        "Precision / recall in percent, by the number of rows that are checked",
        ["Method", *(f"Top {size}" for size in used), "Alerts at the threshold"],
        [[Cell(title, title), *cells] for title, cells in by_title.items()],
        notes=[
            "If only the rows with the highest scores are checked: how many of them are of class "
            f"{comparison.class_names[1]} (precision), and how many of that class are among them "
            "(recall). The scores of all test rows are ranked together. The last column is the "
            "number of rows that the method predicts as positive at its threshold."
        ],
    )


def tuning_grid(comparison: Comparison, rows: list[dict[str, Any]]) -> Grid:
    """How many candidates each method tried, and how it decides."""
    tuned = "average precision; the threshold for F1"
    if comparison.scoring != "average_precision":
        tuned = f"{comparison.aim}, and so was the threshold"
    return Grid(
        "Candidates and decision of each method",
        ["Method", "Candidates", "Threshold on the"],
        [
            [
                Cell(row["title"], row["title"]),
                Cell(str(row["n_candidates"]), row["n_candidates"]),
                Cell(row["decides_by"], row["decides_by"]),
            ]
            for row in rows
        ],
        notes=[
            "All methods were tested on the same outer folds. Candidates are the settings among "
            "which each method chose by cross-validation within the training part of each fold; "
            f"they were chosen for {tuned}. A share of the votes of three neighbors has only a few "
            "values, and so has its threshold."
        ],
    )


def best_method(comparison: Comparison, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The row of the summary with the highest mean of what was tuned for."""
    return max(rows, key=lambda row: row[comparison.aim]["mean"])


def importances_grid(
    comparison: Comparison, importances: list[dict[str, Any]], rows: list[dict[str, Any]]
) -> Grid:
    """Decrease of the average precision by column and method; those of the best method first."""
    best = best_method(comparison, rows)["title"]
    by_title = {
        each["title"]: {column["column"]: column for column in each["columns"]}
        for each in importances
    }
    names = list(by_title.get(best, next(iter(by_title.values()))))
    grid_rows = []
    for name in names[:N_COLUMNS]:
        cells = [
            Cell(
                f"{100 * found[name]['importance']:z.1f} ± {100 * found[name]['std']:.1f}",
                found[name]["importance"],
            )
            for found in by_title.values()
        ]
        grid_rows.append([Cell(name, name), *cells])
    notes = [
        "How much the average precision decreases, in percentage points, when the values of a "
        "column are permuted in the test part: mean ± standard deviation over "
        f"{comparison.n_folds} folds. The models have not seen these rows. If two columns contain "
        "the same information, a model can use the other one, and both are low."
    ]
    if len(names) > N_COLUMNS:
        notes.append(f"The {N_COLUMNS} most important of {len(names)} columns for {best}.")
    return Grid(
        f"Decrease of the average precision, sorted by {best}",
        ["Column", *by_title],
        grid_rows,
        notes=notes,
    )
