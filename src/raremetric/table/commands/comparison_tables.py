"""The table of a comparison in the terminal."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from raremetric.files import quoted
from raremetric.table.pages.comparison import best_sentence
from raremetric.table.results import Comparison

UNLIMITED = 1000  # columns of a terminal in which nothing is cut


def comparison_table(found: Comparison, rows: list[dict[str, Any]]) -> Table:
    """A table for the terminal with one row per method; those as good as the best are marked.

    In a narrow terminal, only what was tuned for has its standard deviation.
    """
    console = Console()
    table = _make_table(found, rows, [*found.measures])
    unlimited = console.options.update(width=UNLIMITED)
    if console.measure(table, options=unlimited).maximum > console.width:
        table = _make_table(found, rows, [found.aim])
    return table


def _make_table(found: Comparison, rows: list[dict[str, Any]], spread: list[str]) -> Table:
    """The table with the standard deviations of some measures."""
    n_positive = int(found.y.sum())
    what = "standard deviation" if len(spread) > 1 else f"standard deviation ({found.aim} only)"
    table = Table(
        title=(
            f"{found.source}: {len(found.y)} rows, {n_positive} of class "
            f"{quoted(found.class_names[1])} ({n_positive / len(found.y):.1%}).\n"
            f"Mean ± {what} over {found.n_folds} folds in percent; seconds per fold."
        ),
        title_justify="left",
        caption=best_sentence(found, rows),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    table.add_column("method", overflow="fold")
    for name in found.measures:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("sec.", justify="right", no_wrap=True)
    for row in rows:
        cells = []
        for name in found.measures:
            text = f"{100 * row[name]['mean']:.1f}"
            if name in spread:
                text += f" ±{100 * row[name]['std']:.0f}"
            best = name == found.aim and row["among_best"]
            if name == found.aim:
                text += "*" if best else " "
            cells.append(Text(text, style="bold" if best else ""))
        table.add_row(Text(row["title"]), *cells, f"{row['seconds']['mean']:.1f}")
    return table
