"""The figures of a comparison: curves, confusion matrices, and the rows in two directions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import precision_recall_curve

from raremetric.pages.drawing import Figure, add_legend, new_figure, save, styles
from raremetric.table.results import Comparison, FoldResult, title_of

RECALLS = np.linspace(0, 1, 201)
MATRICES_PER_ROW = 4
COMMON_COLOR, RARE_COLOR = "#8a8a8a", "#d9541e"
SHOWN_METRICS = ("rare", "iml", "gmml", "lmnn", "itml")  # in this order, then others


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
        ax.axhline(share, color=COMMON_COLOR, linestyle=":", linewidth=1.2)
        ax.set(xlabel="Recall", ylabel="Precision", xlim=(0, 1), ylim=(0, 1.02))
        caption = (
            f"Precision at each recall, mean over {comparison.n_folds} folds. Dotted: the share of "
            f"the class, {share:.1%}, which is the precision of random guessing."
        )
        return save(figure, "curves", caption)


def _curve(y: NDArray, score: NDArray) -> NDArray:
    """The precision at the highest threshold that reaches each recall."""
    precision, recall, _ = precision_recall_curve(y, score)
    indices = np.searchsorted(recall[::-1], RECALLS, side="left")
    return precision[::-1][indices]


def draw_counts(comparison: Comparison) -> Figure:
    """Draw one confusion matrix per method, shaded by the share of each cell in its row."""
    entries = comparison.entries()
    n_columns, n_rows = MATRICES_PER_ROW, -(-len(entries) // MATRICES_PER_ROW)
    size = (2.6 * n_columns + 0.8, 2.5 * n_rows + 0.3)
    names = [name if len(name) <= 12 else name[:11] + "…" for name in comparison.class_names]
    with new_figure(size, n_columns * n_rows, n_rows) as (figure, axes):
        for ax, (method, results) in zip(axes, entries.items(), strict=False):
            counts = comparison.confusion(results)
            _draw_matrix(ax, counts, names, title_of(method))
        for ax in axes[len(entries) :]:
            ax.set_axis_off()
        caption = (
            "Rows: true class. Columns: predicted class. Each row is counted when it was in the "
            "test part. Shading and percentages: share of the true class."
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
    """Draw all rows along two directions, under the plain and under a learned metric."""
    learned = _shown_metric(comparison)
    if learned is None or learned.plane is None or comparison.plain is None:
        return None
    planes = {
        "plain distance": comparison.plain,
        f"learned: {title_of(learned.method)}": learned.plane,
    }
    shown = np.arange(len(comparison.y)) if comparison.shown is None else comparison.shown
    held_out, y = np.isin(shown, learned.test), comparison.y[shown]
    groups = [(0, COMMON_COLOR, "o", 14), (1, RARE_COLOR, "D", 22)]
    with new_figure((9.0, 4.6), n_axes=2) as (figure, axes):
        for ax, (title, plane) in zip(axes, planes.items(), strict=True):
            for label, color, marker, size in groups:
                for rows, alpha in ((~held_out, 0.22), (held_out, 0.95)):
                    points = plane[rows & (y == label)]
                    ax.scatter(*points.T, s=size, c=color, marker=marker, alpha=alpha, linewidths=0)
            ax.set_title(title, fontsize=10, parse_math=False)
            ax.set(xticks=[], yticks=[], xlabel="first direction", ylabel="second direction")
            _clip(ax, plane)
        caption = (
            f"Diamonds: class {comparison.class_names[1]}. Strong colors: rows of the test fold. "
            "Faint colors: the rows that directions and metric were learned from. A few outlying "
            "rows may lie outside the axes."
        )
        if len(shown) < len(comparison.y):
            caption += (
                f" {len(shown)} of {len(comparison.y)} rows are drawn, and more of class "
                f"{comparison.class_names[1]} than its share."
            )
        return save(figure, "directions", caption)


def _shown_metric(comparison: Comparison) -> FoldResult | None:
    order = {name: position for position, name in enumerate(SHOWN_METRICS)}
    first = [results[0] for results in comparison.entries().values()]
    found = [each for each in first if each.plane is not None]  # that of the first fold
    return min(found, key=lambda each: order.get(each.method, len(order)), default=None)


def _clip(ax: Any, plane: NDArray) -> None:
    """Limit the axes to all but the outermost 1 %, so that outliers do not compress the rest."""
    low, high = np.quantile(plane, [0.005, 0.995], axis=0)
    margin = 0.06 * (high - low) + 1e-9
    x, y = zip(low - margin, high + margin, strict=True)
    ax.set(xlim=x, ylim=y)
