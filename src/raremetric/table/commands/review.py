"""``raremetric review``: a page for working through the most likely positives of a file."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Annotated

import typer

from raremetric.files import quoted
from raremetric.table.commands.options import ModelFile, NewFile
from raremetric.terminal.common import (
    print_json,
    progress,
    source_name,
    table_file,
    user_mistakes,
)
from raremetric.terminal.options import AsJson

TOP = 50


def review(
    model: ModelFile,
    file: NewFile,
    top: Annotated[
        int, typer.Option(min=1, help="Number of rows to review, the most likely first.")
    ] = TOP,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="PATH", help="HTML file to write.")
    ] = "review.html",
    as_json: AsJson = False,
) -> None:
    """Write a page with the most likely rows and their evidence, to give each a verdict."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table import load_model
    from raremetric.table.pages.review import review_page
    from raremetric.table.predictions import count_pieces
    from raremetric.table.review import review_file

    start = time.perf_counter()
    with user_mistakes():
        check_output(out, [model, file])
        fitted = load_model(model)
        description = f"finding and explaining the {top} most likely rows"
        with table_file(file) as path:
            n_steps = (count_pieces(path) or 1) + top
            with progress(n_steps, description, counted=False) as step:
                steps = {"on_row": lambda: step(), "on_piece": lambda: step()}
                found = review_file(fitted, path, top, **steps)
        found = found._replace(source=source_name(file))
        command = shlex.join(["raremetric", *sys.argv[1:]])
        page = review_page(found, command)
        with atomic_write(out) as stream:
            stream.write(page.encode())
    if as_json:
        print_json(
            {"file": str(out), **found._asdict()}
            | {
                "alerts": [each._asdict() for each in found.alerts],
                "seconds": round(time.perf_counter() - start, 3),
            }
        )
        return
    typer.echo(
        f"{len(found.alerts)} of {found.n_rows} rows to review; predicted "
        f"as {quoted(found.class_names[1])} in the whole file: {found.n_positive}. "
        f"Open {out} in a browser."
    )


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric review model.skops new.csv --top 50 -o review.html")(
        review
    )
