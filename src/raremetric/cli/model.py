"""``raremetric fit|predict|explain``: a model of one's own table."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console

from raremetric.cli.common import AsJson, fail, note, print_json, progress, user_mistakes
from raremetric.cli.options import Categorical, Ignore, Positive, Seed, TableFile, Target, names
from raremetric.cli.shown import SAME_POINT, neighbors_table, weights_table

if TYPE_CHECKING:
    from raremetric.table.model import Explanation, TableModel

N_SHOWN = 10

NewFile = Annotated[
    str, typer.Argument(metavar="FILE", help="CSV (also .gz), Parquet, ARFF or KEEL file.")
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")]


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
        typer.Option(
            help="rare, iml, iml-score, plain, lmnn, itml or gmml.", autocompletion=complete_model
        ),
    ] = "rare",
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
    if weights := fitted.weights():
        Console().print(weights_table(weights, N_SHOWN))


def predict(
    model: ModelFile,
    file: NewFile,
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
    file: NewFile,
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
        with progress(None, f"looking for row {row}"):
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
    if found.n_metrics > 1:
        console.print(
            f"{found.n_metrics} metrics decide together; below, the one that counts most."
        )
    console.print(neighbors_table(found, features))
    if found.neighbors[0]["distance"] < SAME_POINT:
        note("its first neighbor is the same point: was this row one of those fitted on?")
    if found.weights:
        console.print(weights_table(found.weights, features))
    if plot is not None:
        typer.echo(f"Drawn in {plot}.")


def _parts_by_name(found: Explanation) -> list[dict[str, float]]:
    columns = list(found.values)
    return [dict(zip(columns, row, strict=True)) for row in found.parts.tolist()]


def _draw(found: Explanation, path: Path, n_features: int) -> None:
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


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: raremetric fit claims.csv --target fraud -o model.skops")(fit)
    app.command(epilog="Example: raremetric predict model.skops new.csv -o found.csv")(predict)
    app.command(epilog="Example: raremetric explain model.skops new.csv --row 17")(explain)
