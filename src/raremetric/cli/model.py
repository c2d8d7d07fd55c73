"""``raremetric fit`` and ``raremetric predict``: a model of the user's own table."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raremetric.cli.common import (
    AsJson,
    Categorical,
    Ignore,
    ModelFile,
    NewFile,
    Positive,
    Seed,
    TableFile,
    Target,
    note,
    print_json,
    progress,
    split_names,
    user_mistakes,
    with_names,
)
from raremetric.cli.explain import weights_table

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

N_SHOWN = 10  # features or columns


def complete_model(incomplete: str) -> list[str]:
    """Names of the models that can be fitted, for shell completion."""
    from raremetric.table.fitting import model_names

    return [name for name in model_names() if name.startswith(incomplete)]


def fit(
    file: TableFile,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to save the model to.")],
    target: Target = None,
    positive: Positive = None,
    model: Annotated[
        str,
        typer.Option(
            help="A method that has neighbors; see the list below.",
            autocompletion=complete_model,
        ),
    ] = "rare",
    row_id: Annotated[
        str | None,
        typer.Option("--id", help="Column with the names of the rows; not used as a feature."),
    ] = None,
    ignore: Ignore = None,
    categorical: Categorical = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Tune and fit a model, and save it together with its preprocessing in one file."""
    from rich.console import Console

    from raremetric.files import check_output
    from raremetric.table import fit_table, save_model

    start = time.perf_counter()
    with user_mistakes():
        check_output(out, [file])
        with progress(None, f"fitting {model} on {file}"):
            fitted = fit_table(
                file,
                target,
                positive,
                method=model,
                row_names=row_id,
                seed=seed,
                ignore=split_names(ignore),
                categorical=split_names(categorical),
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
        Path | None, typer.Option("--out", "-o", help="CSV file to write. Default: stdout.")
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object per row, or with --out, a summary in JSON."
        ),
    ] = False,
) -> None:
    """Predict the class of each row, with its probability and the nearest training examples."""
    from raremetric.files import check_output
    from raremetric.table import load_model
    from raremetric.table.files import BLOCK_BYTES, prediction_rows, write_predictions

    start = time.perf_counter()
    with user_mistakes():
        if out is not None:
            check_output(out, [model, file])
        fitted = load_model(model)
        _note_unused_columns(fitted, file)
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
            counts = write_predictions(fitted, file, out, on_result=lambda found: step())
    seconds = time.perf_counter() - start
    if as_json:
        print_json({"file": str(out), **counts, "seconds": round(seconds, 3)})
        return
    typer.echo(
        f"{counts['rows']} rows, {counts['positive']} predicted as {fitted.class_names[1]!r}; "
        f"written to {out} in {seconds:.1f} s."
    )


def _note_unused_columns(fitted: TableModel, file: str) -> None:
    if unused := fitted.unused_columns(file):
        more = f" and {len(unused) - N_SHOWN} others" if len(unused) > N_SHOWN else ""
        note(f"the model does not use these columns: {', '.join(unused[:N_SHOWN])}{more}.")


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(
        cls=with_names(lambda: f"Models: {', '.join(complete_model(''))}."),
        epilog="Example: raremetric fit claims.csv --target fraud -o model.skops",
    )(fit)
    app.command(epilog="Example: raremetric predict model.skops new.csv -o found.csv")(predict)
