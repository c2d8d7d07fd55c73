"""Figures of a study: scores against the share of the minority, and rank diagrams."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pandas as pd

from raremetric.pages import INK, Figure, add_legend, new_figure, save, short_names, styles
from raremetric.study.report.grids import share_cell
from raremetric.study.report.ranks import RankTests
from raremetric.study.report.tables import Table, splits_text

EMPHASIZED = "IML"  # drawn with a thicker line, in front of the others


def draw_means(table: Table) -> Figure:
    """Draw means against the share, over the data sets that all learners have at that share."""
    parts = {share: table.complete(share=share) for share in table.shares}
    splits = splits_text(table.shared["n_splits"])
    with new_figure((8.0, 4.2), n_axes=1) as (figure, (ax,)):
        labels = [f"{share_cell(share).text}\n({len(part)})" for share, part in parts.items()]
        draw_curves(ax, pd.DataFrame([part.mean() for part in parts.values()]), labels)
        ax.set_xlabel("Share of the minority (number of data sets)")
        ax.set_ylabel(f"Mean {table.measure_name} (%)")
        add_legend(figure, ax.get_lines(), table.learners)
        figure.suptitle(f"Mean over the data sets; splits: {splits}", parse_math=False, fontsize=11)
        caption = (
            f"Mean {table.measure_name} over the data sets as the minority shrinks. In "
            "parentheses: the number of data sets with a result of every learner at that share. "
            f"Number of splits: {splits}."
        )
        return save(figure, f"{table.name}-mean", caption)


def draw_ranks(table: Table, tests: RankTests) -> Figure:
    """Draw a critical-difference diagram: a bar joins learners that do not differ significantly."""
    splits = splits_text(table.complete("n_splits").to_numpy().ravel())
    with new_figure((7.5, 1.6 + 0.28 * len(table.learners)), n_axes=1) as (figure, (ax,)):
        _draw_diagram(ax, tests)
        title = (
            f"Average rank over {tests.n_datasets} data sets; splits: {splits} "
            f"(critical difference {tests.critical_difference:.2f})"
        )
        figure.suptitle(title, fontsize=11)
        caption = (
            f"Average ranks over {tests.n_datasets} data sets. Friedman's test: "
            f"χ² = {tests.statistic:.2f}, p = {tests.p_value:.2g}. The average ranks of learners "
            "joined by a bar differ by less than Nemenyi's critical difference of "
            f"{tests.critical_difference:.2f} at the 5 % level. Number of splits: {splits}."
        )
        return save(figure, f"{table.name}-ranks", caption)


def _draw_diagram(ax: Any, tests: RankTests) -> None:
    # Matplotlib interprets the labels as formulas, and scikit-posthocs has no option for it.
    labels = {name: short.replace("$", r"\$") for name, short in short_names(tests.ranks).items()}
    from scikit_posthocs import critical_difference_diagram

    drawn = critical_difference_diagram(
        {labels[name]: rank for name, rank in tests.ranks.items()},
        tests.nemenyi.rename(index=labels, columns=labels),
        ax=ax,
        label_fmt_left="{label} ({rank:.2f}) ",
        label_fmt_right=" ({rank:.2f}) {label}",
        color_palette={labels[name]: color for name, (color, _) in styles(labels).items()},
        crossbar_props={"color": INK},
        marker_props={"s": 28},
        text_h_margin=0.2,
    )
    # Each bar goes through a set of learners, whose order differs between processes.
    for bar in chain.from_iterable(drawn["crossbars"]):
        bar.set_xdata(sorted(bar.get_xdata()))
    ax.grid(visible=False)
    ax.set_xticks(range(1, len(labels) + 1))
    ax.spines["top"].set(visible=True, bounds=(1, len(labels)))


def draw_curves(ax: Any, wide: pd.DataFrame, labels: list[str]) -> None:
    """Draw one line per column of a frame over its rows, which are equally spaced."""
    for learner, (color, marker) in styles(wide.columns).items():
        emphasized = learner == EMPHASIZED
        ax.plot(
            range(len(wide)),
            wide[learner].to_numpy(),
            color=color,
            marker=marker,
            markersize=5,
            linewidth=2.4 if emphasized else 1.5,
            zorder=3 if emphasized else 2,
        )
    ax.set_xticks(range(len(wide)), labels)
