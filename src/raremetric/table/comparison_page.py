"""The page of a comparison of methods on a user's table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.calibration import calibration_curve
from sklearn.metrics import precision_recall_curve

from raremetric.pages import (
    Cell,
    Figure,
    Grid,
    Section,
    add_legend,
    name_cell,
    new_figure,
    save,
    styles,
    to_html,
)
from raremetric.table.aims import aim_of, measure_of, show_measure
from raremetric.table.results import BUDGETS, Comparison, title_of

N_COLUMNS = 50  # of the file, in the table of importances
RECALLS = np.linspace(0, 1, 201)
N_BINS = 10  # of the probabilities


def comparison_page(
    comparison: Comparison, command: str = "", sizes: Sequence[int] = BUDGETS
) -> str:
    """A standalone page of HTML, in which all texts are escaped.

    It repeats the command, and shows precision and recall for these numbers of alerts.
    """
    n, n_positive = len(comparison.y), int(comparison.y.sum())
    positive = comparison.class_names[1]
    sections = [
        Section("results", "Results", [results_grid(comparison)]),
        Section("budgets", "Alerts", [budget_grid(comparison, sizes)]),
        Section("curves", "Precision and recall", [], [draw_curves(comparison)]),
        Section("reliability", "Reliability", [], [draw_reliability(comparison)]),
        Section("counts", "Confusion matrices", [confusion_grid(comparison)]),
    ]
    if found := comparison.importances():
        grid = importances_grid(comparison, found)
        sections.insert(2, Section("importances", "Importances of the columns", [grid]))
    return to_html(
        "raremetric.table",
        "comparison.html",
        title=f"{Path(comparison.source).name}: {comparison.target_name} = {positive}",
        overview=(
            f"{n} rows, {len(comparison.columns)} columns, {n_positive} rows of class {positive} "
            f"({n_positive / n:.1%}). {comparison.protocol} All methods were tested on the same "
            f"folds and tuned for {measure_of(aim_of(comparison.scoring))[0]} within the "
            "training part."
        ),
        details={"Command": command} if command else {},
        remarks=comparison.remarks(),
        sections=sections,
    )


def results_grid(comparison: Comparison) -> Grid:
    """Mean and standard deviation of each measure; methods as good as the best in bold."""
    grid_rows = []
    for row in comparison.summary():
        cells = []
        for name in comparison.measures:
            best = name == comparison.aim and row["among_best"]
            text = " ± ".join(show_measure(name, row[name][key]) for key in ("mean", "std"))
            cells.append(Cell(text + " *" * best, row[name]["mean"], best=best))
        n_candidates, seconds = row["n_candidates"], row["seconds"]["mean"]
        cells += [Cell(str(n_candidates), n_candidates), Cell(f"{seconds:.2f}", seconds)]
        grid_rows.append([name_cell(row["title"]), *cells])
    measures = (name[0].upper() + name[1:] for name in comparison.measures)
    tuned = f"{measure_of(aim_of(comparison.scoring))[0]}, and so was the threshold"
    if comparison.scoring == "average_precision":
        tuned = "average precision; the threshold for F1"
    return Grid(
        f"Measures of class {comparison.class_names[1]} in percent",
        ["Method", *measures, "Candidates", "Seconds"],
        grid_rows,
        notes=[
            comparison.best_sentence,
            f"Mean ± standard deviation over {comparison.n_folds} folds, in percent, except for "
            "the log-loss, of which less is better. Seconds: time to tune and fit, per fold.",
            "All methods were tested on the same outer folds. Candidates are the settings among "
            "which each method chose by cross-validation within the training part of each fold; "
            f"they were chosen for {tuned}, which is compared with a probability.",
        ],
    )


def budget_grid(comparison: Comparison, sizes: Sequence[int]) -> Grid:
    """Precision and recall of each method if only the rows with the highest scores are checked."""
    found = comparison.budgets(sizes)
    used = list(dict.fromkeys(each["alerts"] for each in found))
    by_title: dict[str, list[Cell]] = {row["title"]: [] for row in comparison.summary()}
    for each in found:
        text = f"{100 * each['precision']:.0f} / {100 * each['recall']:.0f}"
        by_title[each["title"]].append(Cell(text, each["found"]))
    for row in comparison.summary():
        (_, fp), (_, tp) = row["confusion"]
        n_alerts = (fp + tp) / comparison.n_repeats
        by_title[row["title"]].append(Cell(f"{n_alerts:.0f}", n_alerts))
    return Grid(
        "Precision / recall in percent, by the number of rows that are checked",
        ["Method", *(f"Top {size}" for size in used), "Alerts at the threshold"],
        [[name_cell(title), *cells] for title, cells in by_title.items()],
        notes=[
            "If only the rows with the highest scores are checked: how many of them are of class "
            f"{comparison.class_names[1]} (precision), and how many of that class are among them "
            "(recall). The scores of all test rows are ranked together. The last column is the "
            "number of rows that the method predicts as positive at its threshold."
        ],
    )


def importances_grid(comparison: Comparison, importances: list[dict[str, Any]]) -> Grid:
    """Decrease of the average precision by column and method; those of the best method first."""
    best = comparison.best["title"]
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
        grid_rows.append([name_cell(name), *cells])
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


def confusion_grid(comparison: Comparison) -> Grid:
    """How many rows of both classes each method recognizes at its threshold."""
    other, positive = comparison.class_names
    grid_rows = []
    for row in comparison.summary():
        counts = [count for of_class in row["confusion"] for count in of_class]
        grid_rows.append([name_cell(row["title"]), *(Cell(str(n), n) for n in counts)])
    return Grid(
        "Rows by their true and their predicted class",
        [
            "Method",
            *(f"{true} as {found}" for true in (other, positive) for found in (other, positive)),
        ],
        grid_rows,
        notes=[
            "Each row is counted when it was in the test part. Of the two classes of a heading, "
            "the first one is the true class, and the second one is predicted."
        ],
    )


def draw_curves(comparison: Comparison) -> Figure:
    """Draw precision against recall, averaged over the folds."""
    entries = comparison.entries()
    share = float(comparison.y.mean())
    height = 4.0 + 0.1 * len(entries)  # the legend grows with the number of curves
    with new_figure((8.0, height), n_axes=1) as (figure, axes):
        ax = axes[0]
        titles = [title_of(method) for method in entries]
        for results, (color, _) in zip(entries.values(), styles(titles).values(), strict=True):
            curves = [_curve(comparison.y[each.test], each.score) for each in results]
            ax.plot(RECALLS, np.mean(curves, axis=0), linewidth=1.8, color=color)
        add_legend(figure, ax.get_lines(), titles)
        ax.axhline(share, color="#8a8a8a", linestyle=":", linewidth=1.2)
        ax.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1.02))
        caption = (
            f"Precision at each recall, mean over {comparison.n_folds} folds. Dotted: the share of "
            f"the class, {share:.1%}, which is the precision of random guessing."
        )
        return save(figure, "curves", caption)


def draw_reliability(comparison: Comparison) -> Figure:
    """Draw the share of positives against the predicted probability, of all test rows together."""
    entries = comparison.entries()
    with new_figure((8.0, 4.0 + 0.1 * len(entries)), n_axes=1) as (figure, axes):
        titles = [title_of(method) for method in entries]
        for results, (color, _) in zip(entries.values(), styles(titles).values(), strict=True):
            y, p = (
                np.concatenate(parts)
                for parts in zip(
                    *((comparison.y[r.test], expit(r.score)) for r in results), strict=True
                )
            )
            shares, means = calibration_curve(y, p, n_bins=N_BINS, strategy="quantile")
            axes[0].plot(means, shares, linewidth=1.8, color=color, marker="o", markersize=3)
        add_legend(figure, axes[0].get_lines(), titles)
        axes[0].axline((0, 0), slope=1, color="#8a8a8a", linestyle=":", linewidth=1.2)
        axes[0].set(xlabel="Predicted probability", ylabel="Share of positives")
        caption = (
            f"The test rows were divided into {N_BINS} parts of equal size by their predicted "
            "probability: its mean in each part, and the share of positives there. Dotted: both "
            "are equal."
        )
        return save(figure, "reliability", caption)


def _curve(y: NDArray, score: NDArray) -> NDArray:
    """The precision at the highest threshold that reaches each recall."""
    precision, recall, _ = precision_recall_curve(y, score)
    indices = np.searchsorted(recall[::-1], RECALLS, side="left")
    return precision[::-1][indices]
