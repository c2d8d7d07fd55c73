"""``raremetric compare``: which method finds the rare class in one's own table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from raremetric.cli.common import AsJson, note, print_json, progress, user_mistakes
from raremetric.cli.options import Categorical, Ignore, Positive, Seed, TableFile, Target, names
from raremetric.cli.shown import comparison_table

if TYPE_CHECKING:
    from raremetric.table.comparison import FoldResult


def complete_methods(incomplete: str) -> list[str]:
    """Names of all methods, for the shell; also after a comma."""
    from raremetric.table.methods import METHODS

    given, comma, last = incomplete.rpartition(",")
    return [given + comma + name for name in METHODS if name.startswith(last)]


def compare(
    file: TableFile,
    target: Target = None,
    positive: Positive = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Only some of plain, iml, iml-score, rare, lmnn, itml, gmml, logistic, boosting; "
            "separated by commas.",
            autocompletion=complete_methods,
        ),
    ] = None,
    resampling: Annotated[
        str, typer.Option(help="none, smote, rus, or several, separated by commas.")
    ] = "none",
    folds: Annotated[int, typer.Option(min=2, help="Outer folds.")] = 5,
    max_rows: Annotated[
        int, typer.Option(min=20, help="Of a longer table draw so many rows.")
    ] = 5000,
    out: Annotated[Path, typer.Option("--out", "-o", help="The page to write.")] = Path(
        "comparison.html"
    ),
    ignore: Ignore = None,
    categorical: Categorical = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare methods by honest nested cross-validation; print a table and write a page."""
    from raremetric.files import atomic_write
    from raremetric.report import comparison_page
    from raremetric.table.comparison import compare_table, title_of

    with user_mistakes("Stopped before a method was through all folds; nothing was written."):
        with progress(None, f"reading {file}") as step:

            def tell(total: int, result: FoldResult | None) -> None:
                if result is None:
                    step.begin(total, "comparing")
                    return
                title = title_of(result.method, result.resampling)
                step(f"done: {title}", f"{title}, fold {result.fold + 1}: {result.seconds:.1f} s")

            found = compare_table(
                file,
                target,
                positive,
                methods=names(methods) or None,
                resamplings=names(resampling),
                n_folds=folds,
                max_rows=max_rows,
                seed=seed,
                n_jobs=jobs,
                ignore=names(ignore),
                categorical=names(categorical),
                tell=tell,
            )
        rows = found.summary()
        with atomic_write(out) as stream:
            command = shlex.join(["raremetric", *sys.argv[1:]])
            stream.write(comparison_page(found, rows, command).encode())
    if found.remark:
        note(found.remark)
    if as_json:
        print_json({"file": str(out), "rows": len(found.y), "methods": rows})
    else:
        Console().print(comparison_table(found, rows))
        typer.echo(f"Curves, confusion matrices and pictures are in {out}.")
    if not found.is_whole:
        raise typer.Exit(130)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric compare claims.csv --target fraud -o page.html")(
        compare
    )
