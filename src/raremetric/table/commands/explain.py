"""``raremetric explain``: why a row of a file is classified as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from raremetric.files import quoted
from raremetric.table.commands import options
from raremetric.terminal import (
    AsJson,
    fail,
    note,
    print_json,
    print_rendered,
    progress,
    source_name,
    table_file,
    user_mistakes,
)

if TYPE_CHECKING:
    from raremetric.table.explanation import Explanation, FileImportances
    from raremetric.table.model import TableModel


def explain(
    model: options.ModelFile,
    file: options.TableFile,
    row: Annotated[
        int | None, typer.Option(min=1, help="Number of the row; the first is 1.")
    ] = None,
    importance: Annotated[
        bool,
        typer.Option(
            "--importance", help="Instead of a row: how much the model depends on each column."
        ),
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(help="With --importance: column with the class. Default: as in fit."),
    ] = None,
    distances: Annotated[
        bool,
        typer.Option("--distances", help="Also show what each column adds to the distances."),
    ] = False,
    plot: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Also draw a figure to this file (.png, .svg, .pdf)."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Explain the prediction for a row by its columns and the nearest examples of each class."""
    from raremetric.table import explain_row, importances_of_file, load_model

    if importance == (row is not None):
        fail("Pass either --row N, to explain one row, or --importance, for the whole model.")
    with user_mistakes():
        fitted = load_model(model)
        source = source_name(file)
        if row is None:
            description = f"permuting the columns of {source}"
            with table_file(file) as path, progress(None, description, counted=False) as step:
                importances = importances_of_file(fitted, path, target, on_progress=step.reach)
            _print_importances(importances, source, as_json)
            return
        with table_file(file) as path, progress(None, f"explaining row {row}"):
            found = explain_row(fitted, path, row)
        if plot is not None:
            _draw(found, plot)
    if as_json:
        about = {"weights": fitted.weights(), "n_metrics": fitted.n_metrics}
        print_json(found._asdict() | about)
        return
    name = f" ({found.id})" if found.id else ""
    typer.echo(
        f"Row {row}{name} of {source}: predicted {found.predicted!r}; probability of "
        f"{quoted(fitted.class_names[1])}: {found.probability:.3g}, threshold: "
        f"{found.threshold:.3g}."
    )
    if found.unlike:
        note(f"unlike the training data: {found.unlike.replace(';', ',')}.")
    _print_tables(found, fitted, distances)
    if plot is not None:
        typer.echo(f"The figure is in {plot}.")


def _print_tables(found: Explanation, fitted: TableModel, distances: bool) -> None:
    from raremetric.table.commands import tables
    from raremetric.table.explanation import SAME_POINT

    print_rendered(tables.contributions_table(found, fitted.class_names[1]))
    if not found.examples:
        return
    if fitted.n_metrics > 1:
        typer.echo(
            f"The prediction averages {fitted.n_metrics} metrics. The examples below are the "
            "nearest ones under the metric with the largest weight."
        )
    print_rendered(tables.examples_table(found, distances))
    if found.examples[0]["distance"] < SAME_POINT:
        note("the distance to the nearest example is 0: was this row part of the training data?")
    if distances and (weights := fitted.weights()):
        print_rendered(tables.weights_table(weights))


def _print_importances(found: FileImportances, file: str, as_json: bool) -> None:
    from raremetric.table.commands.tables import importances_table

    if found.optimistic:
        note(
            f"{found.known_share:.0%} of the rows of {file} are in the training data of the model: "
            "the importances are optimistic. Use a labeled file that the model has not seen, or: "
            "raremetric compare --importances"
        )
    if as_json:
        print_json(found._asdict() | {"optimistic": found.optimistic})
        return
    typer.echo(f"Average precision on the {found.n_rows} rows of {file}: {found.baseline:.3f}.")
    print_rendered(importances_table(found.columns))


def _draw(found: Explanation, path: str) -> None:
    import numpy as np

    from raremetric.explain.pictures import draw_parts
    from raremetric.files import atomic_write
    from raremetric.table.commands.tables import N_SHOWN

    formats, suffix = ("png", "svg", "pdf"), Path(path).suffix[1:]
    if suffix not in formats:
        fail(f"--plot {path}: the name must end in .{', .'.join(formats)}.")
    if not found.examples:
        fail("--plot draws distances to neighbors, but this model has none.")
    names = np.array(list(found.examples[0]["parts"]))
    parts = np.array([list(each["parts"].values()) for each in found.examples])
    titles = [f"{each['id']} ({each['class']})" for each in found.examples]
    figure = draw_parts(parts, names, titles, exact=found.parts_exact, n_features=N_SHOWN)
    figure.suptitle(f"Row {found.row}: {found.predicted}", fontsize=11, parse_math=False)
    with atomic_write(path) as stream:
        figure.savefig(stream, format=suffix, dpi=150)
