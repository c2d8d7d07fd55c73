"""``raremetric compare``: compare methods on the user's own table."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.cli.common import (
    AsJson,
    Categorical,
    Ignore,
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

if TYPE_CHECKING:
    from rich.table import Table

    from raremetric.table.results import Comparison, FoldResult


def complete_methods(incomplete: str) -> list[str]:
    """Names of methods, for shell completion; also after a comma."""
    from raremetric.contenders import CONTENDERS

    given, comma, last = incomplete.rpartition(",")
    names = [each.alias for each in CONTENDERS.values() if each.alias]
    return [given + comma + name for name in names if name.startswith(last)]


def list_methods() -> str:
    """All methods, for the help."""
    from raremetric.table import DEFAULT_METHODS

    others = [name for name in complete_methods("") if name not in DEFAULT_METHODS]
    return (
        f"Methods compared by default: {', '.join(DEFAULT_METHODS)}. Also available: "
        f"{', '.join(others)}."
    )


def compare(
    file: TableFile,
    target: Target = None,
    positive: Positive = None,
    methods: Annotated[
        str | None,
        typer.Option(
            help="Methods to compare, separated by commas. Default: all but those that are slow "
            "on large tables; see the list below.",
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
        str, typer.Option(help="One or more of none, smote and rus, separated by commas.")
    ] = "none",
    folds: Annotated[int, typer.Option(min=2, help="Number of outer folds.")] = 5,
    max_rows: Annotated[
        int,
        typer.Option(min=20, help="If the table has more rows, draw this number at random."),
    ] = 5000,
    out: Annotated[Path, typer.Option("--out", "-o", help="HTML page to write.")] = Path(
        "comparison.html"
    ),
    ignore: Ignore = None,
    categorical: Categorical = None,
    seed: Seed = 0,
    jobs: Annotated[int, typer.Option(min=1, help="Number of processes.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Compare methods by nested cross-validation; print a table and write an HTML page."""
    from rich.console import Console

    from raremetric.files import atomic_write, check_output
    from raremetric.report import comparison_page
    from raremetric.table import DEFAULT_METHODS
    from raremetric.table.comparison import compare_table
    from raremetric.table.results import title_of

    with user_mistakes("Stopped before any method had finished all folds; nothing was written."):
        check_output(out, [file])
        with progress(None, f"reading {file}") as step:

            def on_result(result: FoldResult) -> None:
                title = title_of(result.method, result.resampling)
                step(f"done: {title}", f"{title}, fold {result.fold + 1}: {result.seconds:.1f} s")

            found = compare_table(
                file,
                target,
                positive,
                methods=[*(split_names(methods) or DEFAULT_METHODS), *(method or [])],
                resamplings=split_names(resampling),
                n_folds=folds,
                max_rows=max_rows,
                seed=seed,
                n_jobs=jobs,
                ignore=split_names(ignore),
                categorical=split_names(categorical),
                on_start=lambda n_results: step.begin(n_results, "comparing"),
                on_result=on_result,
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
        typer.echo(f"Curves, confusion matrices and scatter plots are in {out}.")
    if not found.is_whole:
        raise typer.Exit(130)


def comparison_table(found: Comparison, rows: list[dict[str, Any]]) -> Table:
    """A table for the terminal with one row per method; the best means are bold."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from raremetric.table.results import MEASURES

    n_positive = int(found.y.sum())
    title = (
        f"{found.source}: {len(found.y)} rows, {n_positive} of class {found.class_names[1]!r} "
        f"({n_positive / len(found.y):.1%}).\n"
        f"Mean ± standard deviation over {found.n_folds} folds, in percent, and seconds per fold."
    )
    # Without padding the table fits in 80 columns.
    table = Table(
        title=escape(title), title_justify="left", box=box.SIMPLE_HEAD, padding=0, pad_edge=False
    )
    table.add_column("method")
    for name in MEASURES:
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("sec.", justify="right", no_wrap=True)
    best = {name: max(row[name]["mean"] for row in rows) for name in MEASURES}
    for row in rows:
        cells = []
        for name in MEASURES:
            text = f"{100 * row[name]['mean']:.1f} ±{100 * row[name]['std']:.0f}"
            cells.append(Text(text, style="bold" if row[name]["mean"] == best[name] else ""))
        table.add_row(Text(row["title"]), *cells, f"{row['seconds']['mean']:.1f}")
    return table


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(
        cls=with_names(list_methods),
        epilog="Example: raremetric compare claims.csv --target fraud -o page.html",
    )(compare)
