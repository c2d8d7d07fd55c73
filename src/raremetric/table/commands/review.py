"""``raremetric review``: a page for working through the most likely positives of a file."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Annotated

import typer

from raremetric.files import quoted
from raremetric.table.commands import options
from raremetric.terminal.common import (
    AsJson,
    print_json,
    progress,
    source_name,
    table_file,
    user_mistakes,
)


def review(
    model: options.ModelFile,
    file: options.NewFile,
    top: Annotated[
        int, typer.Option(min=1, help="Number of rows to review, the most likely first.")
    ] = 50,
    out: options.Page = "review.html",
    as_json: AsJson = False,
) -> None:
    """Write a page with the most likely rows and their evidence, to give each a verdict."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table import load_model, review_file, review_page
    from raremetric.table.predictions import count_pieces

    start = time.perf_counter()
    with user_mistakes():
        check_output(out, [model, file])
        fitted = load_model(model)
        description = f"finding and explaining the {top} most likely rows"
        with table_file(file) as path:
            n_steps = (count_pieces(path) or 1) + top
            with progress(n_steps, description, counted=False) as step:
                found = review_file(fitted, path, top, on_step=lambda: step())
        found = found._replace(source=source_name(file))
        page = review_page(found, shlex.join(["raremetric", *sys.argv[1:]]))
        with atomic_write(out) as stream:
            stream.write(page.encode())
    if as_json:
        alerts = [each._asdict() for each in found.alerts]
        seconds = round(time.perf_counter() - start, 3)
        print_json({"file": out, **found._asdict(), "alerts": alerts, "seconds": seconds})
        return
    typer.echo(
        f"{len(found.alerts)} of {found.n_rows} rows to review; predicted "
        f"as {quoted(found.class_names[1])} in the whole file: {found.n_positive}. "
        f"Open {out} in a browser."
    )
