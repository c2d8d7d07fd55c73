"""``raremetric compare``: compare methods on the user's own table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from raremetric.table import DEFAULT_METHODS, METHODS
from raremetric.table.commands import options
from raremetric.terminal import (
    AsJson,
    Step,
    note,
    progress,
    source_name,
    split_names,
    table_file,
    user_mistakes,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from raremetric.table.results import Comparison, Failure, FoldResult


def compare(
    file: options.TableFile,
    target: options.Target = None,
    positive: options.Positive = None,
    methods: options.Methods = None,
    method: options.OwnMethod = None,
    scoring: options.Scoring = None,
    min_precision: options.MinPrecision = None,
    min_recall: options.MinRecall = None,
    folds: options.Folds = 5,
    repeats: options.Repeats = 1,
    time: options.Time = None,
    group: options.Group = None,
    weight: options.Weight = None,
    max_rows: options.MaxTrainRows = None,
    top: options.Alerts = None,
    importances: options.Importances = False,
    out: options.Page = "comparison.html",
    ignore: options.Ignore = None,
    categorical: options.Categorical = None,
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    as_json: AsJson = False,
) -> None:
    """Compare methods by nested cross-validation; print a table and write an HTML page."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table.comparison import compare_table
    from raremetric.table.comparison_page import comparison_page
    from raremetric.table.results import BUDGETS

    columns = {"time": time, "group": group, "weight": weight}
    sizes = sorted({*BUDGETS, *([top] if top else [])})
    with user_mistakes("Stopped before any method had finished all folds; nothing was written."):
        check_output(out, [file])
        aim = options.choose_scoring(scoring, min_precision, min_recall)
        with progress(None, f"reading {source_name(file)}") as step, table_file(file) as path:
            found = compare_table(
                path,
                target,
                positive,
                methods=[*split_names(methods, DEFAULT_METHODS), *(method or [])],
                scoring=aim,
                n_folds=folds,
                n_repeats=repeats,
                **columns,
                max_samples=max_rows,
                seed=seed,
                n_jobs=jobs,
                ignore=split_names(ignore),
                categorical=split_names(categorical),
                importances=importances,
                on_start=lambda n_results: step.begin(n_results, "comparing"),
                on_result=lambda result: _report(result, step),
            )
        found = replace(found, source=source_name(file))
        keeps = not found.is_whole and Path(out).exists()  # an earlier page may be whole
        about = {"file": None if keeps else out, "rows": len(found.y), "scoring": found.scoring}
        about |= {"methods": found.summary(), "budgets": found.budgets(sizes)}
        about |= {"importances": found.importances(), "failed": found.failed()}
        options.print_result(as_json, about | {"notes": found.notes}, _tables(found))
        for each in found.remarks():
            note(each)
        if keeps:
            note(f"Stopped: {out} is the page of an earlier comparison and was kept.")
        else:
            command = shlex.join(["raremetric", *sys.argv[1:]])
            with atomic_write(out, replace=found.is_whole) as stream:
                stream.write(comparison_page(found, command, sizes).encode())
    if not as_json:
        if not keeps:
            typer.echo(f"Alerts, curves and confusion matrices are in {out}.")
        given: dict[str, Any] = {"positive": positive, "ignore": ignore, "categorical": categorical}
        given |= {**columns, "scoring": None if aim == "f1" else aim, "max-rows": max_rows}
        _print_next_step(found, file, given)
    if not found.is_whole:
        raise typer.Exit(130)


def _report(result: FoldResult | Failure, step: Step) -> None:
    """Report a result by a bar, or by a line for each fold."""
    from raremetric.table.results import Failure, title_of

    title = title_of(result.method)
    done = "failed" if isinstance(result, Failure) else f"{result.seconds:.1f} s"
    step(f"done: {title}", f"{title}, fold {result.fold + 1}: {done}")


def _tables(found: Comparison) -> Iterator[RenderableType]:
    """The results, and the importances for the best method, if they were measured."""
    from raremetric.table.commands.tables import comparison_table, importances_table

    yield comparison_table(found)
    best = found.best["title"]
    for each in found.importances():
        if each["title"] == best:
            title = (
                f"Importances for {best}: decrease of the average precision when a column is "
                "permuted in the test folds (other methods: see the page)"
            )
            yield importances_table(each["columns"], title)


def _print_next_step(found: Comparison, file: str, given: dict[str, Any]) -> None:
    """Print the command that fits the best method, if any method finds the class."""
    best = found.best["method"]
    if best not in METHODS or not found.is_better_than_chance:
        return  # fit knows no others
    words = ["raremetric", "fit", file, "--target", found.target_name]
    for name, values in given.items():
        for value in values if isinstance(values, list) else [values] if values else []:
            words += [f"--{name}", str(value)]
    words += ["--model", best, "-o", "model.skops"]
    typer.echo(f"Next, fit a model on all rows:\n  {shlex.join(words)}")
