"""``raremetric predict``: classify the rows of a file."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.cli.common import (
    note,
    print_json,
    progress,
    source_name,
    table_file,
    user_mistakes,
)
from raremetric.cli.options import ModelFile, NewFile

if TYPE_CHECKING:
    from raremetric.table.model import TableModel

N_SHOWN = 10  # columns


def predict(
    model: ModelFile,
    file: NewFile,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="CSV file to write. Default: stdout.")
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            help="Predict the class of interest from this probability on. Default: the model's.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(
            min=0, help="Predict the class of interest for this number of rows, the most likely."
        ),
    ] = None,
    spreadsheet_safe: Annotated[
        bool,
        typer.Option(
            "--spreadsheet-safe",
            help="In CSV, put an apostrophe before text that a spreadsheet would run as a formula.",
        ),
    ] = False,
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
    from raremetric.table.predictions import (
        PredictionCounts,
        count_pieces,
        output_tables,
        write_predictions,
    )

    start = time.perf_counter()
    with user_mistakes():
        if threshold is not None and top is not None:
            raise ValueError("Give only one of --threshold and --top.")
        if out is not None:
            check_output(out, [model, file])
        fitted = load_model(model)
        choice: dict[str, Any] = {"threshold": threshold, "top": top}
        with table_file(file) as path:
            _note_unused_columns(fitted, path)
            shown = out is not None or not sys.stdout.isatty()
            total = count_pieces(path)
            with progress(
                total, f"predicting {source_name(file)}", counted=False, shown=shown
            ) as step:
                choice["on_result"] = lambda found: step()
                if out is None and as_json:
                    counts = PredictionCounts()
                    for table in output_tables(fitted, path, counts=counts, **choice):
                        for row in table.to_pylist():
                            print_json(row, indent=None)
                else:
                    target = sys.stdout.buffer if out is None else out
                    counts = write_predictions(
                        fitted, path, target, spreadsheet_safe=spreadsheet_safe, **choice
                    )
        for sentence in counts.sentences():
            note(sentence)
        if not counts.rows:
            note(f"{source_name(file)} has no rows of data; the output is a header only.")
    seconds = time.perf_counter() - start
    if out is None:
        return
    if as_json:
        numbers = {"rows": counts.rows, "positive": counts.positive, "unlike": counts.unlike}
        print_json({"file": str(out), **numbers, "seconds": round(seconds, 3)})
        return
    unlike = f" {counts.unlike} rows are unlike the training data." if counts.unlike else ""
    typer.echo(
        f"{counts.rows} rows, {counts.positive} predicted as {fitted.class_names[1]!r}; "
        f"written to {out} in {seconds:.1f} s.{unlike}"
    )


def _note_unused_columns(fitted: TableModel, file: str) -> None:
    if unused := fitted.unused_columns(file):
        more = f" and {len(unused) - N_SHOWN} others" if len(unused) > N_SHOWN else ""
        note(f"the model does not use these columns: {', '.join(unused[:N_SHOWN])}{more}.")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric predict model.skops new.csv -o found.csv")(predict)
