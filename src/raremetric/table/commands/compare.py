"""``raremetric compare``: compare methods on the user's own table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.table import DEFAULT_METHODS, METHODS
from raremetric.table.commands.options import (
    Categorical,
    Ignore,
    MinPrecision,
    MinRecall,
    Positive,
    Scoring,
    Seed,
    TableFile,
    Target,
    Weight,
    choose_scoring,
)
from raremetric.terminal.commands import with_names
from raremetric.terminal.common import (
    note,
    print_json,
    print_rendered,
    progress,
    source_name,
    table_file,
    user_mistakes,
)
from raremetric.terminal.options import AsJson, split_names

if TYPE_CHECKING:
    from raremetric.table.results import Comparison, Failure, FoldResult

N_SHOWN = 10  # columns with their importance


def complete_methods(incomplete: str) -> list[str]:
    """Names of methods, for shell completion; also after a comma."""
    given, comma, last = incomplete.rpartition(",")
    return [given + comma + name for name in METHODS if name.startswith(last)]


def list_methods() -> str:
    """All methods, for the help."""
    others = [name for name in METHODS if name not in DEFAULT_METHODS]
    return (
        f"Methods compared by default: {', '.join(DEFAULT_METHODS)}. Also available: "
        f"{', '.join(others)}."
    )


def compare(
    file: TableFile,
    target: Target = None,
    positive: Positive = None,
    methods: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Methods to compare, separated by commas; may be repeated. Default: all but those "
            "that are slow on large tables; see the list below.",
            autocompletion=complete_methods,
        ),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(
            metavar="MODULE:CLASS",
            help="Also compare a class of your own with scikit-learn's interface, such as "
            "mypackage.module:MyLearner; repeat the option for several.",
        ),
    ] = None,
    resampling: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="One or more of none, smote and rus, separated by commas; may be repeated. Only "
            "for methods in which neighbors vote; all others run with none. Default: none.",
        ),
    ] = None,
    scoring: Scoring = None,
    min_precision: MinPrecision = None,
    min_recall: MinRecall = None,
    folds: Annotated[int, typer.Option(min=2, help="Number of outer folds.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Number of times to repeat the folds.")] = 1,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Train on the past and test on the future by this column of dates or numbers; "
            "methods are tuned in the same way.",
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Keep rows with the same value in this column, such as a customer, on one side; "
            "also when methods are tuned.",
        ),
    ] = None,
    weight: Weight = None,
    max_rows: Annotated[
        int | None,
        typer.Option(
            min=20,
            help="Learn from at most this number of rows: all positives, up to half of it, and "
            "others drawn at random. All rows are tested. Default: 5000, or fewer if the table has "
            "more than 30 columns.",
        ),
    ] = None,
    top: Annotated[
        int | None,
        typer.Option(min=1, help="Also show precision and recall for this number of alerts."),
    ] = None,
    importances: Annotated[
        bool,
        typer.Option(
            "--importances",
            help="Also measure how much each method depends on each column, on the test folds.",
        ),
    ] = False,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="PATH", help="HTML page to write.")
    ] = "comparison.html",
    ignore: Ignore = None,
    categorical: Categorical = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare methods by nested cross-validation; print a table and write an HTML page."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table.commands.comparison_tables import comparison_table
    from raremetric.table.pages.comparison import comparison_page, remarks
    from raremetric.table.results import BUDGETS

    settings: dict[str, Any] = {
        "methods": [*split_names(methods, DEFAULT_METHODS), *(method or [])],
        "resamplings": split_names(resampling, ("none",)),
        "n_folds": folds,
        "n_repeats": repeats,
        "time": time,
        "group": group,
        "weight": weight,
        "max_samples": "auto" if max_rows is None else max_rows,
        "seed": seed,
        "n_jobs": jobs,
        "ignore": split_names(ignore),
        "categorical": split_names(categorical),
        "importances": importances,
    }
    sizes = sorted({*BUDGETS, *([top] if top else [])})
    with user_mistakes("Stopped before any method had finished all folds; nothing was written."):
        check_output(out, [file])
        aim = choose_scoring(scoring, min_precision, min_recall)
        settings["scoring"] = aim
        found = _compare_with_progress(file, target, positive, settings)
        rows = found.summary()
        keeps = not found.is_whole and Path(out).exists()  # an earlier page may be whole
        if as_json:
            print_json(_json_values(found, rows, sizes, None if keeps else out))
        else:
            print_rendered(comparison_table(found, rows))
            _print_importances(found, rows)
        for each in remarks(found, rows):
            note(each)
        if keeps:
            note(f"Stopped: {out} is the page of an earlier comparison and was kept.")
        else:
            command = shlex.join(["raremetric", *sys.argv[1:]])
            with atomic_write(out, replace=found.is_whole) as stream:
                stream.write(comparison_page(found, rows, command, sizes).encode())
    if not as_json:
        if not keeps:
            typer.echo(f"Alerts, curves, confusion matrices and scatter plots are in {out}.")
        options: dict[str, Any] = {"positive": positive, "ignore": ignore}
        options |= {"categorical": categorical, "time": time, "group": group, "weight": weight}
        options["scoring"] = None if aim == "f1" else aim
        _print_next_step(found, rows, file, options)
    if not found.is_whole:
        raise typer.Exit(130)


def _compare_with_progress(
    file: str, target: str | None, positive: list[str] | None, settings: dict[str, Any]
) -> Comparison:
    """Compare the methods, with a bar or one line per fold."""
    from dataclasses import replace

    from raremetric.table.comparison import compare_table
    from raremetric.table.results import title_of

    with progress(None, f"reading {source_name(file)}") as step, table_file(file) as path:

        def on_result(result: FoldResult | Failure) -> None:
            title = title_of(result.method, result.resampling)
            done = "failed" if hasattr(result, "error") else f"{result.seconds:.1f} s"
            step(f"done: {title}", f"{title}, fold {result.fold + 1}: {done}")

        found = compare_table(
            path,
            target,
            positive,
            on_start=lambda n_results: step.begin(n_results, "comparing"),
            on_result=on_result,
            **settings,
        )
    return replace(found, source=source_name(file))


def _json_values(
    found: Comparison, rows: list[dict[str, Any]], sizes: list[int], out: str | None
) -> dict[str, Any]:
    """What --json prints."""
    return {
        "file": out,
        "rows": len(found.y),
        "scoring": found.scoring,
        "methods": rows,
        "budgets": found.budgets(sizes),
        "importances": found.importances(),
        "failed": found.failed(),
        "notes": found.notes,
    }


def _print_importances(found: Comparison, rows: list[dict[str, Any]]) -> None:
    """Print the importances of the columns for the best method, if they were measured."""
    from raremetric.table.commands.explanation_tables import importances_table
    from raremetric.table.pages.comparison import best_method

    best = best_method(found, rows)
    for each in found.importances():
        if (each["method"], each["resampling"]) == (best["method"], best["resampling"]):
            title = (
                f"Importances for {each['title']}: decrease of the average precision when a column "
                "is permuted in the test folds (other methods: see the page)"
            )
            print_rendered(importances_table(each["columns"], N_SHOWN, title))


def _print_next_step(
    found: Comparison, rows: list[dict[str, Any]], file: str, options: dict[str, Any]
) -> None:
    """Print the command that fits the best method, if any method finds the class."""
    from raremetric.table.pages.comparison import any_better_than_chance, best_method

    best = best_method(found, rows)
    if ":" in best["method"] or not any_better_than_chance(found, rows):
        return  # fit knows no classes outside the package
    words = ["raremetric", "fit", file, "--target", found.target_name]
    for name, values in options.items():
        for value in values if isinstance(values, list) else [values] if values else []:
            words += [f"--{name}", value]
    words += ["--model", best["method"], "-o", "model.skops"]
    typer.echo(f"Next, fit a model on all rows:\n  {shlex.join(words)}")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(
        cls=with_names(list_methods),
        epilog="Example: raremetric compare claims.csv --target fraud -o page.html",
    )(compare)
