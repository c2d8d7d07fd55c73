"""``raremetric explain``: why a row of a file is classified as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.cli.common import (
    AsJson,
    ModelFile,
    NewFile,
    fail,
    note,
    print_json,
    print_table,
    progress,
    user_mistakes,
)

if TYPE_CHECKING:
    from rich.table import Table

    from raremetric.table.model import Explanation

N_SHOWN = 10  # features
SAME_POINT = 1e-7  # a smaller distance is zero except for rounding


def explain(
    model: ModelFile,
    file: NewFile,
    row: Annotated[int, typer.Option(min=1, help="Number of the row; the first is 1.")],
    neighbors: Annotated[
        int | None,
        typer.Option(min=1, help="Number of neighbors to show. Default: those that vote."),
    ] = None,
    features: Annotated[int, typer.Option(min=1, help="Number of features to show.")] = N_SHOWN,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw a figure to this file (.png, .svg, .pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the prediction for a row by its neighbors and by the columns that differ."""
    from raremetric.table import load_model

    with user_mistakes():
        fitted = load_model(model)
        with progress(None, f"reading row {row}"):
            found = fitted.explain_file(file, row, neighbors)
        if plot is not None:
            _draw(found, plot, features)
    if as_json:
        columns = list(found.values)
        parts = [dict(zip(columns, values, strict=True)) for values in found.parts.tolist()]
        print_json(found._asdict() | {"parts": parts})
        return
    typer.echo(
        f"Row {row} of {file}: predicted {found.predicted!r}; probability of "
        f"{fitted.class_names[1]!r}: {found.probability:.2f}."
    )
    _print_explanation(found, features)
    if plot is not None:
        typer.echo(f"The figure is in {plot}.")


def _print_explanation(found: Explanation, n_features: int) -> None:
    if found.n_metrics > 1:
        typer.echo(
            f"The prediction averages {found.n_metrics} metrics. The neighbors are those under the "
            "metric with the largest weight."
        )
    print_table(neighbors_table(found, n_features))
    if found.neighbors[0]["distance"] < SAME_POINT:
        note("the distance to the nearest example is 0: was this row part of the training data?")
    if found.weights:
        print_table(weights_table(found.weights, n_features))


def _draw(found: Explanation, path: Path, n_features: int) -> None:
    import numpy as np

    from raremetric.explain.pictures import draw_parts
    from raremetric.files import atomic_write

    formats = ("png", "svg", "pdf")
    if path.suffix[1:] not in formats:
        fail(f"--plot {path}: the name must end in .{', .'.join(formats)}.")
    titles = [f"{each['id']} ({each['class']})" for each in found.neighbors]
    figure = draw_parts(
        found.parts, np.array(list(found.values)), titles, exact=found.exact, n_features=n_features
    )
    figure.suptitle(f"Row {found.row}: {found.predicted}", fontsize=11, parse_math=False)
    with atomic_write(path) as stream:
        figure.savefig(stream, format=path.suffix[1:], dpi=150)


def neighbors_table(found: Explanation, n_shown: int) -> Table:
    """One row per column of the file, with the value and the contribution of each neighbor."""
    order = (-abs(found.parts)).sum(axis=0).argsort(kind="stable")
    n_shown = n_shown + 1 if len(order) == n_shown + 1 else n_shown
    shown, rest = order[:n_shown], order[n_shown:]
    table = _empty_neighbors_table(found)
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


def _empty_neighbors_table(found: Explanation) -> Table:
    """The title, and two columns per neighbor, with the squared distances below."""
    from rich import box
    from rich.table import Table

    table = Table(
        title="Nearest examples, and the contribution of each column to the squared distance d²."
        if found.exact
        else "Nearest examples, and the change of the squared distance d² if a column had the same "
        "value as in this row. (The metric is nonlinear: d² is not a sum over columns.)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column("column", footer="d²", no_wrap=True)
    table.add_column("this row", justify="right")
    for each in found.neighbors:
        name = f"row {each['id']}" if isinstance(each["id"], int) else each["id"]
        table.add_column(f"{name}\n{each['class']}", justify="right", style="dim")
        footer = "0" if each["distance"] < SAME_POINT else f"{each['distance'] ** 2:.3g}"
        table.add_column("adds" if found.exact else "change", footer=footer)
    return table


def _part(part: float) -> str:
    return f"{part:+.2g}" if part else "0"


def _value(value: Any) -> str:
    if value is None:
        return "(new)"
    return value if isinstance(value, str) else f"{value:.4g}"


def weights_table(weights: dict[str, float], n_shown: int) -> Table:
    """Shares of the features with bars, the largest first."""
    from rich import box
    from rich.table import Table

    table = Table(title="Feature weights of the metric", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("feature")
    table.add_column("share", justify="right")
    table.add_column("")
    largest = max([*weights.values(), 1e-300])
    for name, share in list(weights.items())[:n_shown]:
        table.add_row(name, f"{share:.1%}", "█" * round(24 * share / largest))
    return table


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric explain model.skops new.csv --row 17")(explain)
