"""Tables of ``raremetric explain``; imported only when they are printed."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from raremetric.table.evidence import SAME_POINT, Evidence, show_value
from raremetric.table.model import Explanation


def contributions_table(found: Evidence, positive: str, n_shown: int) -> Table:
    """One row per column of the file: its value and how much it moves the score."""
    unit = "score" if found.scale == "decision function" else found.scale
    how = "exact" if found.exact else "sampled, with standard errors"
    table = _table(f"How much each column moves the {unit} of {positive!r} ({how})")
    table.add_column("column", overflow="fold")
    table.add_column("value", justify="right", overflow="fold")
    table.add_column(f"moves the {unit} by", overflow="fold")
    shown, rest = _split(found.columns, n_shown)
    for each in shown:
        error = "" if found.exact else f" ± {each['std_error']:.2f}"
        moved = f"{each['contribution']:+.2f}{error}"
        table.add_row(Text(each["column"]), Text(show_value(each["value"])), moved)
    if rest:
        total = sum(each["contribution"] for each in rest)
        table.add_row(f"{len(rest)} others", "", f"{total:+.2f}")
    return table


def examples_table(found: Evidence, n_shown: int) -> Table:
    """The row beside the examples that decide, with the columns that matter most first."""
    table = _table("The training examples that decide, the nearest first")
    table.add_column("column", overflow="fold")
    table.add_column("this row", justify="right", overflow="fold")
    for each in found.examples:
        name = f"row {each['id']}" if isinstance(each["id"], int) else each["id"]
        heading = f"{name}\n{each['class']}\ndistance {each['distance']:.3g}"
        table.add_column(Text(heading), justify="right", overflow="fold")
    for column in _split(found.columns, n_shown)[0]:
        name = column["column"]
        values = [show_value(each["values"][name]) for each in found.examples]
        table.add_row(Text(name), Text(show_value(column["value"])), *map(Text, values))
    return table


def importances_table(columns: list[dict[str, Any]], n_shown: int, title: str = "") -> Table:
    """Decrease of the average precision when a column is permuted, the largest first."""
    table = _table(title or "Decrease of the average precision when the column is permuted")
    table.add_column("column", overflow="fold")
    table.add_column("decrease", justify="right")
    table.add_column("")
    largest = max(columns[0]["importance"], 1e-300)
    for each in _split(columns, n_shown)[0]:
        bar = "█" * max(0, round(24 * each["importance"] / largest))
        decrease = f"{each['importance']:z.3f} ± {each['std']:.3f}"
        table.add_row(Text(each["column"]), decrease, bar)
    return table


def _split(columns: list[dict[str, Any]], n_shown: int) -> tuple[list, list]:
    """The columns to show, and the rest; a rest of one is shown too."""
    n_shown += len(columns) == n_shown + 1
    return columns[:n_shown], columns[n_shown:]


def _table(title: str) -> Table:
    return Table(title=Text(title), title_justify="left", box=box.SIMPLE_HEAD)


def neighbors_table(found: Explanation, n_shown: int) -> Table:
    """One row per column of the file, with the value and the contribution of each neighbor."""
    order = (-abs(found.parts)).sum(axis=0).argsort(kind="stable")
    n_shown = n_shown + 1 if len(order) == n_shown + 1 else n_shown
    shown, rest = order[:n_shown], order[n_shown:]
    table = Table(
        title="Nearest examples, and in parentheses what each column adds to the squared distance "
        "d²."
        if found.exact
        else "Nearest examples, and in parentheses the change of the squared distance d² if a "
        "column had the same value as in this row. (The metric is nonlinear: d² is not a sum over "
        "columns.)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column("column", footer="d²", overflow="fold")
    table.add_column("this row", justify="right", overflow="fold")
    for each in found.neighbors:
        name = f"row {each['id']}" if isinstance(each["id"], int) else each["id"]
        footer = "0" if each["distance"] < SAME_POINT else f"{each['distance'] ** 2:.3g}"
        heading = Text(f"{name}\n{each['class']}")
        table.add_column(heading, footer=footer, justify="right", overflow="fold")
    columns = list(found.values)
    for j in shown:
        name = columns[j]
        cells = [
            Text(f"{show_value(each['values'][name])} ({_part(part)})")
            for each, part in zip(found.neighbors, found.parts[:, j], strict=True)
        ]
        table.add_row(Text(name), Text(show_value(found.values[name])), *cells)
    if len(rest) and found.exact:
        sums = found.parts[:, rest].sum(axis=1)
        table.add_row(f"{len(rest)} others", "", *(f"({_part(part)})" for part in sums))
    return table


def _part(part: float) -> str:
    return f"{part:+.2g}" if part else "0"
