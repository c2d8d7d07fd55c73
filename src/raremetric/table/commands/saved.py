"""``raremetric info``, ``export`` and ``review``: what is in a model, and further uses of it."""

from __future__ import annotations

import shlex
import sys
import time
from typing import Annotated

import typer

from raremetric.files import quoted
from raremetric.table.commands.options import ModelFile, Page, TableFile
from raremetric.terminal import (
    AsJson,
    print_json,
    print_rendered,
    progress,
    source_name,
    table_file,
    user_mistakes,
)


def info(
    model: ModelFile,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print Markdown, for a file or a wiki.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what is in a model file: columns, training data, threshold, expected quality, limits."""
    from raremetric.table import load_model
    from raremetric.table.card import card_markdown, model_card

    with user_mistakes():
        fitted = load_model(model)
        if as_json:
            print_json(model_card(fitted))
        elif markdown:
            typer.echo(card_markdown(fitted))
        else:
            from rich.markdown import Markdown

            print_rendered(Markdown(card_markdown(fitted)))


def export(
    model: ModelFile,
    out: Annotated[str, typer.Option("--out", "-o", metavar="PATH", help="ONNX file to write.")],
    as_json: AsJson = False,
) -> None:
    """Write the classifier of a model as an ONNX file, whose input is the encoded columns."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table import load_model

    with user_mistakes():
        from raremetric.export import to_onnx  # here, because the extra may not be installed

        check_output(out, [model])
        fitted = load_model(model)
        if not fitted.has_neighbors:
            raise ValueError(
                f"{model}: {fitted.method!r} cannot be exported to ONNX, only the methods of this "
                "package can, which decide by distances to examples. Fit one of them, such as "
                "--model rare."
            )
        names = [str(name) for name in fitted.encoder.get_feature_names_out()]
        content = to_onnx(fitted.classifier, threshold=fitted.fixed_threshold, feature_names=names)
        with atomic_write(out) as stream:
            stream.write(content)
    labels = dict(enumerate(fitted.class_names))
    if as_json:
        print_json({"file": str(out), "bytes": len(content), "X": names, "label": labels})
        return
    typer.echo(f"Input X: doubles of shape (rows, {len(names)}), the encoded columns:")
    typer.echo(f"  {', '.join(names)}")
    typer.echo(
        f"Outputs: label, 1 for {labels[1]!r} and 0 for {labels[0]!r}; probabilities of 0 and 1."
    )
    typer.echo(f"Wrote {len(content) / 1e6:.1f} MB to {out}.")


def review(
    model: ModelFile,
    file: TableFile,
    top: Annotated[
        int, typer.Option(min=1, help="Number of rows to review, the most likely first.")
    ] = 50,
    out: Page = "review.html",
    as_json: AsJson = False,
) -> None:
    """Write a page with the most likely rows and their evidence, to give each a verdict."""
    from raremetric.files import atomic_write, check_output
    from raremetric.table import load_model, review_file
    from raremetric.table.pages.review import review_page
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
