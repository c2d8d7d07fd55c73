"""``raremetric fit``, ``predict`` and ``info``: a model of the user's own table."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.cli.common import (
    AsJson,
    Categorical,
    Ignore,
    ModelFile,
    Positive,
    Seed,
    TableFile,
    Target,
    fail,
    note,
    print_json,
    print_table,
    progress,
    split_names,
    user_mistakes,
    with_names,
)
from raremetric.cli.explain import weights_table
from raremetric.cli.info import info
from raremetric.cli.interrupts import stop_if_interrupted

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
            help="A method; see the list below. Also a class of scikit-learn, such as "
            "sklearn.naive_bayes:GaussianNB.",
            autocompletion=complete_model,
        ),
    ] = "rare",
    scoring: Annotated[
        str | None,
        typer.Option(
            help="What to maximize: f1 (the default), f2, f0.5, balanced_accuracy, "
            "average_precision, or costs such as cost:fp=1,fn=20."
        ),
    ] = None,
    min_precision: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Maximize the recall with at least this precision."),
    ] = None,
    min_recall: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Maximize the precision with at least this recall."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Predict the class of interest from this probability on."),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=20, help="Learn from at most this number of rows. Default: 10000 if more are slow."
        ),
    ] = None,
    row_id: Annotated[
        str | None,
        typer.Option("--id", help="Column with the names of the rows; not used as a feature."),
    ] = None,
    no_ids: Annotated[
        bool, typer.Option("--no-ids", help="Do not save the names of the training rows.")
    ] = False,
    ignore: Ignore = None,
    categorical: Categorical = None,
    reviewed: Annotated[
        Path | None,
        typer.Option(
            help="CSV file exported by the page of review: rows to add, with their class."
        ),
    ] = None,
    reviewed_from: Annotated[
        str | None, typer.Option(help="With --reviewed: the file that was reviewed.")
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Tune and fit a model, and save it together with its preprocessing in one file."""
    from raremetric.files import check_output
    from raremetric.table import fit_table, save_model, with_reviewed_rows
    from raremetric.table.files import check_method

    start = time.perf_counter()
    with user_mistakes():
        check_output(out, [each for each in (file, reviewed, reviewed_from) if each])
        check_method(model)
        data: Any = file
        if reviewed or reviewed_from:
            if not (reviewed and reviewed_from and target):
                fail("--reviewed, --reviewed-from and --target must be given together.")
            data = with_reviewed_rows(file, target, reviewed, reviewed_from, row_names=row_id)
        with progress(None, f"fitting {model} on {file}"):
            fitted = fit_table(
                data,
                target,
                positive,
                method=model,
                scoring=_choose_scoring(scoring, min_precision, min_recall),
                threshold=threshold,
                max_rows=max_rows,
                row_names=row_id,
                keep_names=not no_ids,
                seed=seed,
                ignore=split_names(ignore),
                categorical=split_names(categorical),
            )
        stop_if_interrupted()
        save_model(fitted, out)
    seconds = time.perf_counter() - start
    if as_json:
        print_json(_about(fitted, out, seconds))
    else:
        _print_fit(fitted, file, out, seconds)


def _choose_scoring(
    scoring: str | None, min_precision: float | None, min_recall: float | None
) -> str:
    """The aim of three options, of which at most one can be given."""
    minima = {"precision": min_precision, "recall": min_recall}
    aims = [f"{name}>={value}" for name, value in minima.items() if value is not None]
    given = [*([] if scoring is None else [scoring]), *aims]
    if len(given) > 1:
        raise ValueError("Give only one of --scoring, --min-precision and --min-recall.")
    return given[0] if given else "f1"


def _about(fitted: TableModel, out: Path, seconds: float) -> dict[str, Any]:
    from raremetric.table.card import describe_scoring

    return {
        "file": str(out),
        "model": fitted.method,
        "rows": len(fitted.y),
        "positive": int(fitted.y.sum()),
        "positive_class": fitted.class_names[1],
        "columns": fitted.encoder.feature_names_in_.tolist(),
        "features": fitted.X.shape[1],
        "scoring": describe_scoring(fitted.scoring),
        "threshold": fitted.threshold,
        **{key: fitted.training[key] for key in ("rows_used", "score", "score_std", "chosen")},
        "validation": fitted.training["validation"],
        "seconds": round(seconds, 3),
        "weights": fitted.weights(),
    }


def _print_fit(fitted: TableModel, file: str, out: Path, seconds: float) -> None:

    from raremetric.table.card import describe_score, describe_scoring

    training, n_rows, n_positive = fitted.training, len(fitted.y), int(fitted.y.sum())
    typer.echo(
        f"{file}: {n_rows} rows, {n_positive} of class {fitted.class_names[1]!r} "
        f"({n_positive / n_rows:.1%}); {fitted.encoder.n_features_in_} columns, "
        f"{fitted.X.shape[1]} features."
    )
    if len(training["classes"]) > 2:
        note(
            f"the file has {len(training['classes'])} classes. The model predicts "
            f"{fitted.class_names[1]!r} against all others; choose with --positive."
        )
    if training["rows_used"] < n_rows:
        typer.echo(
            f"It learned from {training['rows_used']} rows, drawn with as many of each class as "
            "possible; its probabilities are those for all rows."
        )
    if fitted.fixed_threshold is None:
        typer.echo(
            f"Cross-validated {describe_scoring(fitted.scoring)}: {describe_score(training)}; "
            f"threshold {fitted.threshold:.3g}."
        )
    else:
        typer.echo(
            f"Threshold {fitted.threshold:.3g}, as given. With the best one, the cross-validated "
            f"{describe_scoring(fitted.scoring)} is {describe_score(training)}."
        )
    if training["validation"]:
        measures = (f"{name} {value:.3f}" for name, value in training["validation"].items())
        typer.echo(f"At the best threshold, cross-validated: {', '.join(measures)}.")
    typer.echo(f"Chosen: {training['chosen']}.")
    typer.echo(f"Fitted {fitted.method} in {seconds:.1f} s; saved to {out}.")
    if weights := fitted.weights():
        print_table(weights_table(weights, N_SHOWN))


def predict(
    model: ModelFile,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="A CSV (also .gz), Parquet, ARFF or KEEL file; - for CSV from standard input.",
        ),
    ],
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
        BLOCK_BYTES,
        PredictionCounts,
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
        csv: dict[str, Any] = {**choice, "spreadsheet_safe": spreadsheet_safe}
        with _table_file(file) as path:
            _note_unused_columns(fitted, path)
            if out is None and as_json:
                counts = PredictionCounts()
                for table in output_tables(fitted, path, counts=counts, **choice):
                    for row in table.to_pylist():
                        print_json(row, indent=None)
            elif out is None:
                counts = write_predictions(fitted, path, sys.stdout.buffer, **csv)
            else:
                n_pieces = -(-Path(path).stat().st_size // BLOCK_BYTES)
                total = None if path.endswith(".gz") else n_pieces
                with progress(total, f"predicting {file}", counted=False) as step:
                    counts = write_predictions(fitted, path, out, lambda found: step(), **csv)
        for sentence in counts.sentences():
            note(sentence)
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


@contextmanager
def _table_file(file: str) -> Iterator[str]:
    """The path of a file; standard input is copied to a temporary one."""
    if file != "-":
        yield file
        return
    from raremetric.files import copied_to_file

    with copied_to_file(sys.stdin.buffer, ".csv") as copied:
        yield copied


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
    app.command(epilog="Example: raremetric info model.skops --markdown")(info)
