"""``raremetric compare|fit|predict|explain``: for one's own table."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich import box
from rich.console import Console
from rich.table import Table

from raremetric.cli.common import AsJson, fail, note, print_json, progress, user_mistakes

if TYPE_CHECKING:
    from raremetric.table.model import Explanation, TableModel

N_SHOWN = 10
SAME_POINT = 1e-12  # distance

TableFile = Annotated[
    str, typer.Argument(help="CSV (also .gz), Parquet, ARFF or KEEL file, or openml:ID.")
]
Target = Annotated[
    str | None, typer.Option(help="Column with the class; ARFF and KEEL files know theirs.")
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL", help="The class of interest; repeat it for several. Default: the rarest."
    ),
]
Ignore = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Categorical = Annotated[
    str | None, typer.Option(help="Columns of codes to take as categories, separated by commas.")
]
ModelFile = Annotated[Path, typer.Argument(help="A file saved by fit.")]
Seed = Annotated[int, typer.Option(help="Of folds and draws.")]


def complete_model(incomplete: str) -> list[str]:
    """Names of the models that fit can make, for the shell."""
    from raremetric.table.methods import METHODS

    names = [name for name, method in METHODS.items() if method.has_neighbors]
    return [name for name in names if name.startswith(incomplete)]


def fit(
    file: TableFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="The file to save the model in.")],
    target: Target = None,
    positive: Positive = None,
    model: Annotated[
        str,
        typer.Option(help="plain, iml, lmnn, itml or gmml.", autocompletion=complete_model),
    ] = "iml",
    row_id: Annotated[
        str | None, typer.Option("--id", help="Column that names the rows; not a feature.")
    ] = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Read, encode, scale, tune and fit; save all of it in one file."""
    from raremetric.table import fit_table, save_model

    start = time.perf_counter()
    with user_mistakes():
        with progress(None, f"fitting {model} on {file}"):
            fitted = fit_table(
                file,
                target,
                positive,
                method=model,
                row_names=row_id,
                seed=seed,
                ignore=names(ignore),
                categorical=names(categorical),
            )
        save_model(fitted, out)
    n_positive = int(fitted.y.sum())
    about = {
        "file": str(out),
        "model": fitted.method,
        "rows": len(fitted.y),
        "positive": n_positive,
        "positive_class": fitted.class_names[1],
        "columns": fitted.encoder.feature_names_in_.tolist(),
        "features": fitted.X.shape[1],
        "seconds": round(time.perf_counter() - start, 3),
        "weights": fitted.weights(),
    }
    if as_json:
        print_json(about)
        return
    typer.echo(
        f"{file}: {len(fitted.y)} rows, {n_positive} of class {fitted.class_names[1]!r} "
        f"({n_positive / len(fitted.y):.1%}); {fitted.encoder.n_features_in_} columns, "
        f"{fitted.X.shape[1]} features."
    )
    typer.echo(f"Fitted {fitted.method} in {about['seconds']:.1f} s; saved to {out}.")
    Console().print(_weights_table(fitted.weights()))


def predict(
    model: ModelFile,
    file: TableFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file to write; default: stdout.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="One JSON object a row; with --out, a summary in JSON."),
    ] = False,
) -> None:
    """Class, probability and deciding neighbors of each row; the file may be larger than memory."""
    from raremetric.table import load_model
    from raremetric.table.predicting import BLOCK_BYTES, prediction_rows, write_predictions

    start = time.perf_counter()
    with user_mistakes():
        fitted = load_model(model)
        _tell_unused(fitted, file)
        if out is None and as_json:
            for found in fitted.predict_file(file):
                for row in prediction_rows(fitted, found):
                    typer.echo(json.dumps(row, ensure_ascii=False))
            return
        if out is None:
            write_predictions(fitted, file, sys.stdout.buffer)
            return
        n_pieces = -(-Path(file).stat().st_size // BLOCK_BYTES)
        total = None if file.endswith(".gz") else n_pieces
        with progress(total, f"predicting {file}", counted=False) as step:
            counts = write_predictions(fitted, file, out, lambda found: step())
    seconds = time.perf_counter() - start
    if as_json:
        print_json({"file": str(out), **counts, "seconds": round(seconds, 3)})
        return
    typer.echo(
        f"{counts['rows']} rows, {counts['positive']} predicted {fitted.class_names[1]!r}; "
        f"written to {out} in {seconds:.1f} s."
    )


def _tell_unused(fitted: TableModel, file: str) -> None:
    if unused := fitted.unused_columns(file):
        more = f" and {len(unused) - N_SHOWN} others" if len(unused) > N_SHOWN else ""
        note(f"columns that the model does not use: {', '.join(unused[:N_SHOWN])}{more}.")


def explain(
    model: ModelFile,
    file: TableFile,
    row: Annotated[int, typer.Option(min=1, help="Number of the row; the first is 1.")],
    neighbors: Annotated[
        int | None, typer.Option(min=1, help="How many to show; default: those that decide.")
    ] = None,
    features: Annotated[int, typer.Option(min=1, help="How many to show.")] = N_SHOWN,
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it to this file (.png, .svg, .pdf).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Why a row is classified so: its neighbors, and what each column adds to the distance."""
    from raremetric.table import load_model

    with user_mistakes():
        fitted = load_model(model)
        found = fitted.explain_file(file, row, neighbors)
        if plot is not None:
            _draw(found, plot, features)
    if as_json:
        print_json(found._asdict() | {"parts": _parts_by_name(found)})
        return
    console = Console()
    console.print(
        f"Row {row} of {file}: [bold]{found.predicted}[/bold], probability of "
        f"{fitted.class_names[1]!r} {found.probability:.2f}.",
        highlight=False,
    )
    console.print(_neighbors_table(found, features))
    if found.neighbors[0]["distance"] < SAME_POINT:
        note("its first neighbor is the same point: was this row one of those fitted on?")
    if found.exact:
        console.print(_weights_table(found.weights, features))
    if plot is not None:
        typer.echo(f"Drawn in {plot}.")


def _parts_by_name(found: Explanation) -> list[dict[str, float]]:
    columns = list(found.values)
    return [dict(zip(columns, row, strict=True)) for row in found.parts.tolist()]


def _neighbors_table(found: Explanation, n_shown: int) -> Table:
    """One row a column of the file; of each neighbor its value, and its part of the distance."""
    order = (-abs(found.parts)).sum(axis=0).argsort(kind="stable")
    n_shown = n_shown + 1 if len(order) == n_shown + 1 else n_shown
    shown, rest = order[:n_shown], order[n_shown:]
    table = Table(
        title="Its neighbors, and what each column adds to the squared distance"
        if found.exact
        else "Its neighbors, and how the squared distance would change if a column were equal "
        "(this model has no exact split of the distance)",
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_footer=True,
    )
    table.add_column("column", footer="squared distance")
    table.add_column("this row", justify="right")
    for each in found.neighbors:
        table.add_column(f"{each['id']}\n{each['class']}", justify="right", style="dim")
        table.add_column("adds" if found.exact else "change", footer=f"{each['distance'] ** 2:.3g}")
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


def _part(part: float) -> str:
    return f"{part:+.3g}" if part else "0"


def _value(value: Any) -> str:
    if value is None:
        return "(new)"
    return value if isinstance(value, str) else f"{value:.6g}"


def _weights_table(weights: dict[str, float], n_shown: int = N_SHOWN) -> Table:
    table = Table(title="What the metric stretches most", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("feature")
    table.add_column("share", justify="right")
    table.add_column("")
    largest = max([*weights.values(), 1e-300])
    for name, share in list(weights.items())[:n_shown]:
        table.add_row(name, f"{share:.1%}", "█" * round(24 * share / largest))
    return table


def _draw(found: Explanation, path: Path, n_features: int) -> None:
    from raremetric.explain.pictures import draw_parts
    from raremetric.table.files import replacing

    formats = ("png", "svg", "pdf")
    if path.suffix[1:] not in formats:
        fail(f"--plot {path}: the name must end in .{', .'.join(formats)}.")
    titles = [f"{each['id']} ({each['class']})" for each in found.neighbors]
    figure = draw_parts(
        found.parts, np.array(list(found.values)), titles, exact=found.exact, n_features=n_features
    )
    figure.suptitle(f"Row {found.row}: {found.predicted}", fontsize=11, parse_math=False)
    with replacing(path) as stream:
        figure.savefig(stream, format=path.suffix[1:], dpi=150)


def names(text: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: raremetric fit claims.csv --target fraud -o model.skops")(fit)
    app.command(epilog="Example: raremetric predict model.skops new.csv -o found.csv")(predict)
    app.command(epilog="Example: raremetric explain model.skops new.csv --row 17")(explain)
