"""The page of a comparison on one's own table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

from raremetric.report.figures import Figure, add_legend, drawing, save, styles
from raremetric.report.grid import Cell, Grid
from raremetric.report.render import Section, fill
from raremetric.table.comparison import MEASURES, Comparison, FoldResult, title_of

RECALLS = np.linspace(0, 1, 201)
MATRICES_IN_A_ROW = 4
COMMON_COLOR, RARE_COLOR = "#8a8a8a", "#d9541e"
SHOWN_METRICS = ("rare", "iml", "iml-score", "gmml", "lmnn", "itml")  # the first there is


def comparison_page(comparison: Comparison, command: str = "") -> str:
    """A standalone page: table, precision-recall curves, confusion matrices, directions.

    Parameters
    ----------
    comparison : Comparison
    command : str
        How to get it again.

    Returns
    -------
    str
        HTML; every text in it is escaped.
    """
    n, n_positive = len(comparison.y), int(comparison.y.sum())
    positive = comparison.class_names[1]
    figures = [draw_directions(comparison)]
    sections = [
        Section("results", "Which method finds it", [results_grid(comparison)]),
        Section("curves", "Precision and recall", [], [draw_curves(comparison)]),
        Section("counts", "Confusion matrices", [], [draw_counts(comparison)]),
        Section("directions", "The table in two directions", [], [f for f in figures if f]),
    ]
    details = {"Command": command, "Remark": comparison.remark.strip()}
    return fill(
        "comparison.html",
        title=f"{Path(comparison.source).name}: {comparison.target_name} = {positive}",
        overview=(
            f"{n} rows, {comparison.n_columns} columns, {n_positive} rows of class {positive} "
            f"({n_positive / n:.1%}). Each row is tested once, in {comparison.n_folds} folds; each "
            "method is tuned for F1 within the rest, which alone it learns from."
        ),
        details={name: text for name, text in details.items() if text},
        sections=[section for section in sections if section.grids or section.figures],
    )


def results_grid(comparison: Comparison) -> Grid:
    """Mean and standard deviation of each measure, one row a method; the best mean in bold."""
    rows = comparison.summary()
    best = {name: max(row[name]["mean"] for row in rows) for name in MEASURES}
    grid_rows = []
    for row in rows:
        cells = [
            Cell(
                f"{100 * row[name]['mean']:.1f} ± {100 * row[name]['std']:.1f}",
                row[name]["mean"],
                best=row[name]["mean"] == best[name],
            )
            for name in MEASURES
        ]
        seconds = row["seconds"]["mean"]
        grid_rows.append(
            [Cell(row["title"], row["title"]), *cells, Cell(f"{seconds:.2f}", seconds)]
        )
    return Grid(
        f"Measures of class {comparison.class_names[1]} in percent",
        ["Method", *(name[0].upper() + name[1:] for name in MEASURES), "Seconds"],
        grid_rows,
        notes=[
            f"Mean ± standard deviation over {comparison.n_folds} folds, in percent; seconds to "
            "tune and fit, a fold. Methods whose means differ by less than their deviations are "
            "not told apart by this table."
        ],
    )


def draw_curves(comparison: Comparison) -> Figure:
    """Precision against recall, averaged over the folds."""
    entries = comparison.entries()
    titles = [title_of(*key) for key in entries]
    share = float(comparison.y.mean())
    with drawing((8.0, 4.8), n_axes=1) as (figure, axes):
        ax = axes[0]
        for title, results in zip(titles, entries.values(), strict=True):
            curves = [_curve(comparison.y[each.test], each.score) for each in results]
            ax.plot(RECALLS, np.mean(curves, axis=0), color=styles(titles)[title][0], linewidth=1.8)
        add_legend(figure, ax, titles)
        ax.axhline(share, color=COMMON_COLOR, linestyle=":", linewidth=1.2)
        ax.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1.02))
        caption = (
            f"Precision at each recall, mean over {comparison.n_folds} folds. Dotted: the share of "
            f"the class, {share:.1%}, which guessing reaches. Methods that count votes have only "
            "a few levels to choose from."
        )
        return save(figure, "curves", caption)


def _curve(y: NDArray, score: NDArray) -> NDArray:
    """The precision of the fewest rows that reach each recall."""
    precision, recall, _ = precision_recall_curve(y, score)
    places = np.searchsorted(recall[::-1], RECALLS, side="left")
    return precision[::-1][places]


def draw_counts(comparison: Comparison) -> Figure:
    """A confusion matrix a method, shaded by the share of its row."""
    entries = comparison.entries()
    n_columns, n_rows = MATRICES_IN_A_ROW, -(-len(entries) // MATRICES_IN_A_ROW)
    size = (2.6 * n_columns + 0.8, 2.5 * n_rows + 0.3)
    names = [name if len(name) <= 12 else name[:11] + "…" for name in comparison.class_names]
    with drawing(size, n_columns * n_rows, n_rows) as (figure, axes):
        for ax, (key, results) in zip(axes, entries.items(), strict=False):
            counts = comparison.confusion(results)
            _draw_matrix(ax, counts, names, title_of(*key))
        for ax in axes[len(entries) :]:
            ax.set_axis_off()
        caption = (
            "Rows: what it is; columns: what was predicted. All rows, each tested once; shaded by "
            "the share of its class."
        )
        return save(figure, "counts", caption)


def _draw_matrix(ax: Any, counts: NDArray, names: list[str], title: str) -> None:
    shares = counts / counts.sum(axis=1, keepdims=True)
    for (i, j), share in np.ndenumerate(shares):
        ax.fill_between([j, j + 1], i, i + 1, color=RARE_COLOR, alpha=0.6 * share, linewidth=0)
        ax.text(j + 0.5, i + 0.5, f"{counts[i, j]}\n{share:.0%}", ha="center", va="center")
    ax.set(xlim=(0, 2), ylim=(2, 0))
    ax.set_xticks([0.5, 1.5], names, parse_math=False)
    ax.set_yticks([0.5, 1.5], names, rotation=90, va="center", parse_math=False)
    ax.set_title(title, fontsize=10, parse_math=False)
    ax.grid(visible=False)
    ax.tick_params(length=0)


def draw_directions(comparison: Comparison) -> Figure | None:
    """All rows along two directions, under the plain and under a learned metric."""
    learned = _shown_metric(comparison)
    if learned is None or learned.plane is None or comparison.plain is None:
        return None
    planes = {
        "plain distance": comparison.plain,
        f"learned: {title_of(learned.method, learned.resampling)}": learned.plane,
    }
    held_out = np.isin(np.arange(len(comparison.y)), learned.test)
    groups = [(0, COMMON_COLOR, "o", 14), (1, RARE_COLOR, "D", 22)]
    with drawing((9.0, 4.6), n_axes=2) as (figure, axes):
        for ax, (title, plane) in zip(axes, planes.items(), strict=True):
            for label, color, marker, size in groups:
                for rows, alpha in ((~held_out, 0.22), (held_out, 0.95)):
                    points = plane[rows & (comparison.y == label)]
                    ax.scatter(*points.T, s=size, c=color, marker=marker, alpha=alpha, linewidths=0)
            ax.set_title(title, fontsize=10, parse_math=False)
            ax.set(xticks=[], yticks=[], xlabel="first direction", ylabel="second direction")
            _clip(ax, plane)
        caption = (
            f"Diamonds: class {comparison.class_names[1]}. Strong: rows held out; faint: the rows "
            "that directions and metric were learned from. A few far rows may lie outside."
        )
        return save(figure, "directions", caption)


def _shown_metric(comparison: Comparison) -> FoldResult | None:
    with_plane = [each for each in comparison.results if each.plane is not None]
    for name in SHOWN_METRICS:
        for each in with_plane:
            if (each.method, each.resampling) in comparison.entries() and each.method == name:
                return each
    return None


def _clip(ax: Any, plane: NDArray) -> None:
    """Show all but the farthest hundredth, so that one far row does not hide the others."""
    low, high = np.quantile(plane, [0.005, 0.995], axis=0)
    room = 0.06 * (high - low) + 1e-9
    ax.set(xlim=(low[0] - room[0], high[0] + room[0]), ylim=(low[1] - room[1], high[1] + room[1]))
