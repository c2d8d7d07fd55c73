"""``raremetric predict``: classify the rows of a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.files import quoted
from raremetric.table.commands.options import ModelFile, Scheduler
from raremetric.terminal.common import (
    note,
    print_json,
    progress,
    source_name,
    table_file,
    user_mistakes,
)
from raremetric.terminal.interrupts import stopping

if TYPE_CHECKING:
    from raremetric.table.model import TableModel
    from raremetric.table.predictions import PredictionCounts

N_SHOWN = 10  # columns


def predict(
    model: ModelFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV (also .gz), Parquet, ARFF or KEEL file; - for CSV from standard input. "
            "Also many files: a directory, or a pattern in quotation marks, such as 'data/*.csv'.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="CSV file to write. Default: stdout. For many files a directory; if the command "
            "is stopped, the same command continues.",
        ),
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
    scheduler: Scheduler = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object per row, or with --out, a summary in JSON."
        ),
    ] = False,
) -> None:
    """Predict the class of each row, with its probability and the nearest training examples."""
    from raremetric.files import check_not_open, check_output
    from raremetric.table import load_model
    from raremetric.table.predictions import (
        PredictionCounts,
        count_pieces,
        output_tables,
        write_predictions,
    )
    from raremetric.table.reading.files import collection_files

    start = time.perf_counter()
    with user_mistakes():
        if threshold is not None and top is not None:
            raise ValueError("Give only one of --threshold and --top.")
        files = collection_files(file)
        if files and (out is None or top is not None):
            raise ValueError("For several files, give a directory with --out, and not --top.")
        if out is not None and files:
            check_not_open(Path(out))
        elif out is not None:
            check_output(out, [model, file])
        fitted = load_model(model)
        if files:
            _note_unused_columns(fitted, files[0])
            counts = _predict_parts(fitted, file, out, threshold, spreadsheet_safe, scheduler)
            _note_empty_files(str(out))
            _report(fitted, file, out, counts, as_json, time.perf_counter() - start)
            return
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
        _report(fitted, file, out, counts, as_json, time.perf_counter() - start)


def _predict_parts(
    fitted: TableModel,
    source: str,
    out: str | None,
    threshold: float | None,
    spreadsheet_safe: bool,
    scheduler: str | None,
) -> PredictionCounts:
    """Classify many files, and write one file for each."""
    from raremetric.table import predict_collection

    stopped = f"Stopped. The finished parts in {out} are kept; the same command continues."
    with stopping(stopped), progress(None, f"predicting {source}") as step:

        def begin(n_done: int, n_parts: int) -> None:
            if n_done:
                note(f"{n_done} of {n_parts} parts in {out} are finished already.")
            step.begin(n_parts - n_done, f"predicting {source}")

        return predict_collection(
            fitted,
            source,
            str(out),
            threshold=threshold,
            spreadsheet_safe=spreadsheet_safe,
            scheduler=scheduler,
            on_start=begin,
            on_part=step,
        )


def _note_empty_files(out: str) -> None:
    """Name the files without rows, which may be the result of a mistake."""
    from raremetric.table.parts import MANIFEST

    manifest = json.loads(Path(out, MANIFEST).read_text(encoding="utf-8"))
    numbers = {int(Path(part).stem.removeprefix("part-")): part for part in manifest["done"]}
    empty = [
        manifest["inputs"][number][0]
        for number, part in sorted(numbers.items())
        if not manifest["done"][part]["rows"]
    ]
    if len(empty) == 1:
        note(f"{empty[0]} has no rows of data.")
    elif empty:
        note(f"{len(empty)} files have no rows of data: {_first_of(empty)}.")


def _report(
    fitted: TableModel,
    file: str,
    out: str | None,
    counts: PredictionCounts,
    as_json: bool,
    seconds: float,
) -> None:
    """Say what was predicted, unless the predictions themselves were printed."""
    for sentence in counts.sentences():
        note(sentence)
    if not counts.rows:
        note(f"{source_name(file)} has no rows of data; the output is a header only.")
    if out is None:
        return
    if as_json:
        numbers = {"rows": counts.rows, "positive": counts.positive, "unlike": counts.unlike}
        print_json({"file": str(out), **numbers, "seconds": round(seconds, 3)})
        return
    unlike = f" {counts.unlike} rows are unlike the training data." if counts.unlike else ""
    typer.echo(
        f"{counts.rows} rows, {counts.positive} predicted as {quoted(fitted.class_names[1])}; "
        f"written to {out} in {seconds:.1f} s.{unlike}"
    )


def _note_unused_columns(fitted: TableModel, file: str | Path) -> None:
    if unused := fitted.unused_columns(file):
        note(f"the model does not use these columns: {_first_of(unused)}.")


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - N_SHOWN} others" if len(names) > N_SHOWN else ""
    return f"{', '.join(names[:N_SHOWN])}{more}"


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric predict model.skops new.csv -o found.csv")(predict)
