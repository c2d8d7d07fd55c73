"""Tables in the terminal; imported only when they are printed."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from raremetric.files import quoted
from raremetric.table.aims import show_measure
from raremetric.table.explanation import Explanation, example_name, show_value
from raremetric.table.results import Comparison

UNLIMITED = 1000  # columns of a terminal in which nothing is cut
BAR = 24  # characters of the longest bar
N_SHOWN = 10  # columns of the file


def comparison_table(found: Comparison) -> Table:
    """One row per method; those as good as the best are marked.

    In a narrow terminal, only what was tuned for has its standard deviation.
    """
    console = Console()
    table = _comparison_table(found, [*found.measures])
    unlimited = console.options.update(width=UNLIMITED)
    if console.measure(table, options=unlimited).maximum > console.width:
        table = _comparison_table(found, [found.aim])
    return table


def _comparison_table(found: Comparison, spread: list[str]) -> Table:
    """The table with the standard deviations of some measures."""
    what = "standard deviation" if len(spread) > 1 else f"standard deviation ({found.aim} only)"
    n_positive = int(found.y.sum())
    table = Table(
        title=(
            f"{found.source}: {len(found.y)} rows, {n_positive} of class "
            f"{quoted(found.class_names[1])} ({n_positive / len(found.y):.1%}).\n"
            f"Mean ± {what} over {found.n_folds} folds in percent; seconds per fold."
        ),
        title_justify="left",
        caption=found.best_sentence,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        pad_edge=False,
    )
    table.add_column("method", overflow="fold")
    for name in (*found.measures, "sec."):
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in found.summary():
        cells = []
        for name in found.measures:
            best = name == found.aim and row["among_best"]
            text = show_measure(name, row[name]["mean"])
            if name in spread:
                text += f" ±{show_measure(name, row[name]['std'], 0)}"
            text += ("*" if best else " ") if name == found.aim else ""
            cells.append(Text(text, style="bold" if best else ""))
        table.add_row(Text(row["title"]), *cells, f"{row['seconds']['mean']:.1f}")
    return table


def contributions_table(found: Explanation, positive: str) -> Table:
    """One row per column of the file: its value and how much it moves the score."""
    how = "exact" if found.columns_exact else "sampled, with standard errors"
    table = _table(f"How much each column moves the {found.unit} of {positive!r} ({how})")
    table.add_column("column", overflow="fold")
    table.add_column("value", justify="right", overflow="fold")
    table.add_column(f"moves the {found.unit} by", overflow="fold")
    shown, rest = _split(found.columns)
    for each in shown:
        error = "" if found.columns_exact else f" ± {each['std_error']:.2f}"
        moved = f"{each['contribution']:+.2f}{error}"
        table.add_row(Text(each["column"]), Text(show_value(each["value"])), moved)
    if rest:
        total = sum(each["contribution"] for each in rest)
        table.add_row(f"{len(rest)} others", "", f"{total:+.2f}")
    return table


def examples_table(found: Explanation) -> Table:
    """The row beside the nearest training examples, with the columns that matter most first."""
    table = _table("The nearest training examples of each class, sorted by distance")
    table.add_column("column", overflow="fold")
    table.add_column("this row", justify="right", overflow="fold")
    for each in found.examples:
        heading = f"{example_name(each)}\n{each['class']}\ndistance {each['distance']:.3g}"
        table.add_column(Text(heading), justify="right", overflow="fold")
    for column in _split(found.columns)[0]:
        values = [column["value"], *(each["values"][column["column"]] for each in found.examples)]
        table.add_row(Text(column["column"]), *(Text(show_value(value)) for value in values))
    return table


def importances_table(columns: list[dict[str, Any]], title: str = "") -> Table:
    """Decrease of the average precision when a column is permuted, the largest first."""
    table = _table(title or "Decrease of the average precision when the column is permuted")
    table.add_column("column", overflow="fold")
    table.add_column("decrease", justify="right")
    table.add_column("")
    largest = max(columns[0]["importance"], 1e-300)
    for each in _split(columns)[0]:
        text = f"{each['importance']:z.3f} ± {each['std']:.3f}"
        bar = "█" * max(0, round(BAR * each["importance"] / largest))
        table.add_row(Text(each["column"]), text, bar)
    return table


def _split(columns: list[dict[str, Any]]) -> tuple[list, list]:
    """The columns to show, and the rest; a rest of one is shown too."""
    n_shown = N_SHOWN + (len(columns) == N_SHOWN + 1)
    return columns[:n_shown], columns[n_shown:]


def _table(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)
