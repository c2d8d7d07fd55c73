"""Tables of a terminal for ``raremetric compare|fit|explain``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

SAME_POINT = 1e-7  # distance: nothing but rounding is nearer

if TYPE_CHECKING:
    from raremetric.table.comparison import Comparison
    from raremetric.table.model import Explanation


def comparison_table(found: Comparison, rows: list[dict[str, Any]]) -> Table:
    """One row a method, the best means in bold."""
    from raremetric.table.comparison import MEASURES

    n_positive = int(found.y.sum())
    table = Table(
        title=f"{found.source}: {len(found.y)} rows, {n_positive} of class "
        f"{found.class_names[1]!r} ({n_positive / len(found.y):.1%}).\n"
        f"Mean ± standard deviation over {found.n_folds} folds, in percent; seconds per fold.",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,  # fits 80 columns
        pad_edge=False,
    )
    table.add_column("method")
    for name in MEASURES:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("sec.", justify="right", no_wrap=True)
    best = {name: max(row[name]["mean"] for row in rows) for name in MEASURES}
    for row in rows:
        cells = []
        for name in MEASURES:
            text = f"{100 * row[name]['mean']:.1f} ±{100 * row[name]['std']:.0f}"
            cells.append(Text(text, style="bold" if row[name]["mean"] == best[name] else ""))
        table.add_row(row["title"], *cells, f"{row['seconds']['mean']:.1f}")
    return table


def neighbors_table(found: Explanation, n_shown: int) -> Table:
    """One row a column of the file; of each neighbor its value, and its part of the distance."""
    order = (-abs(found.parts)).sum(axis=0).argsort(kind="stable")
    n_shown = n_shown + 1 if len(order) == n_shown + 1 else n_shown
    shown, rest = order[:n_shown], order[n_shown:]
    table = Table(
        title="Its neighbors, and what each column adds to the squared distance d²."
        if found.exact
        else "Its neighbors, and how much the squared distance d² would change if a column were "
        "the same as in this row. (Behind a curved map there is no exact split of d².)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column("column", footer="d²", no_wrap=True)
    table.add_column("this row", justify="right")
    for each in found.neighbors:
        name = f"row {each['id']}" if isinstance(each["id"], int) else each["id"]
        table.add_column(f"{name}\n{each['class']}", justify="right", style="dim")
        table.add_column("adds" if found.exact else "change", footer=_square(each["distance"]))
    columns = list(found.values)
    for j in shown:
        name = columns[j]
        cells = [
            cell
            for each, part in zip(found.neighbors, found.parts[:, j], strict=True)
            for cell in (_value(each["values"][name]), _part(part))
        ]
        table.add_row(name, _value(found.values[name]), *cells)
    if len(rest) and found.exact:
        sums = found.parts[:, rest].sum(axis=1)
        table.add_row(
            f"{len(rest)} others", "", *(cell for part in sums for cell in ("", _part(part)))
        )
    return table


def _square(distance: float) -> str:
    return "0" if distance < SAME_POINT else f"{distance**2:.3g}"


def _part(part: float) -> str:
    return f"{part:+.2g}" if part else "0"


def _value(value: Any) -> str:
    if value is None:
        return "(new)"
    return value if isinstance(value, str) else f"{value:.4g}"


def weights_table(weights: dict[str, float], n_shown: int) -> Table:
    """Shares with bars, the largest first."""
    table = Table(title="What the metric stretches most", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("feature")
    table.add_column("share", justify="right")
    table.add_column("")
    largest = max([*weights.values(), 1e-300])
    for name, share in list(weights.items())[:n_shown]:
        table.add_row(name, f"{share:.1%}", "█" * round(24 * share / largest))
    return table
