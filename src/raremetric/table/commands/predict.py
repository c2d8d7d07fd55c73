"""``raremetric predict``: classify the rows of a file."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.files import quoted
from raremetric.table.commands.options import ModelFile, Scheduler, TableFiles, print_result
from raremetric.terminal import (
    note,
    print_json,
    progress,
    source_name,
    stopping,
    table_file,
    user_mistakes,
)

if TYPE_CHECKING:
    from raremetric.table.model import TableModel
    from raremetric.table.predictions import PredictionCounts

N_SHOWN = 10  # columns


def predict(
    model: ModelFile,
    file: TableFiles,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="File to write: Parquet if its name ends so, else CSV. Default: CSV to stdout. "
            "For many files a directory; if the command is stopped, the same command continues.",
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
            min=0,
            help="Predict the class of interest for this number of rows, the most likely, whatever "
            "the model's threshold. With --threshold: for at most this number, from that "
            "probability on.",
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
    """Predict the class of each row, with its probability and the nearest training examples.

    The columns neighbor_1, class_1, distance_1 and so on are the nearest training examples, their
    classes and their distances.
    """
    from raremetric.files import check_not_open, check_output
    from raremetric.table import load_model
    from raremetric.table.reading.files import collection_files

    start = time.perf_counter()
    with user_mistakes():
        files = collection_files(file)
        if files and (out is None or top is not None):
            raise ValueError("For several files, give a directory with --out, and not --top.")
        if out is not None and files:
            check_not_open(Path(out))
        elif out is not None:
            check_output(out, [model, file])
        fitted = load_model(model)
        choice: dict[str, Any] = {"threshold": threshold, "spreadsheet_safe": spreadsheet_safe}
        if files:
            _note_unused_columns(fitted, files[0])
            counts = _predict_parts(fitted, file, str(out), scheduler=scheduler, **choice)
        else:
            with table_file(file) as path:
                _note_unused_columns(fitted, path)
                title = f"predicting {source_name(file)}"
                counts = _predict_file(fitted, path, title, out, as_json, top=top, **choice)
        _report(fitted, source_name(file), out, counts, as_json, time.perf_counter() - start)


def _predict_file(
    fitted: TableModel, path: str, title: str, out: str | None, as_json: bool, **choice: Any
) -> PredictionCounts:
    """Classify the rows of a file; write the predictions, or print them."""
    from raremetric.table.predictions import (
        PredictionCounts,
        count_pieces,
        output_tables,
        write_predictions,
    )

    shown = out is not None or not sys.stdout.isatty()
    with progress(count_pieces(path), title, counted=False, shown=shown) as step:
        choice["on_result"] = lambda found: step()
        if out is not None or not as_json:
            target = sys.stdout.buffer if out is None else out
            return write_predictions(fitted, path, target, **choice)
        counts = PredictionCounts()
        del choice["spreadsheet_safe"]  # of CSV
        for table in output_tables(fitted, path, counts=counts, **choice):
            for row in table.to_pylist():
                print_json(row, indent=None)
        return counts


def _predict_parts(fitted: TableModel, source: str, out: str, **choice: Any) -> PredictionCounts:
    """Classify many files, and write one file for each."""
    from raremetric.table import predict_collection

    stopped = f"Stopped. The finished parts in {out} are kept; the same command continues."
    with stopping(stopped), progress(None, f"predicting {source}") as step:

        def begin(n_done: int, n_parts: int) -> None:
            if n_done:
                note(f"{n_done} of {n_parts} parts in {out} are finished already.")
            step.begin(n_parts - n_done, f"predicting {source}")

        return predict_collection(fitted, source, out, on_start=begin, on_part=step, **choice)


def _report(
    fitted: TableModel,
    source: str,
    out: str | None,
    counts: PredictionCounts,
    as_json: bool,
    seconds: float,
) -> None:
    """Say what was predicted, unless the predictions themselves were printed."""
    if len(counts.empty_files) == 1:
        note(f"{counts.empty_files[0]} has no rows of data.")
    elif counts.empty_files:
        found = _first_of(counts.empty_files)
        note(f"{len(counts.empty_files)} files have no rows of data: {found}.")
    for sentence in counts.sentences():
        note(sentence)
    if not counts.rows:
        note(f"{source} has no rows of data; the output is a header only.")
    if out is None:
        return
    numbers = {"rows": counts.rows, "positive": counts.positive, "unlike": counts.unlike}
    unlike = f" {counts.unlike} rows are unlike the training data." if counts.unlike else ""
    sentence = (
        f"{counts.rows} rows, {counts.positive} predicted as {quoted(fitted.class_names[1])}; "
        f"written to {out} in {seconds:.1f} s.{unlike}"
    )
    about = {"file": str(out), **numbers, "seconds": round(seconds, 3)}
    print_result(as_json, about, [sentence])


def _note_unused_columns(fitted: TableModel, file: str | Path) -> None:
    if unused := fitted.unused_columns(file):
        note(f"the model does not use these columns: {_first_of(unused)}.")


def _first_of(names: Sequence[str]) -> str:
    more = f" and {len(names) - N_SHOWN} others" if len(names) > N_SHOWN else ""
    return f"{', '.join(names[:N_SHOWN])}{more}"
