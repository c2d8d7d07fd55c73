"""``raremetric info``, ``explain``, ``review`` and ``export``: what a saved model says."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from raremetric.files import quoted
from raremetric.table.commands.options import (
    LabeledTarget,
    ModelFile,
    Page,
    SavedModel,
    TableFile,
    print_result,
)
from raremetric.terminal import (
    AsJson,
    fail,
    note,
    progress,
    source_name,
    table_file,
    user_mistakes,
)

if TYPE_CHECKING:
    from rich.console import RenderableType

    from raremetric.table.explanation import Explanation, FileImportances
    from raremetric.table.model import TableModel


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Show what is in a model file, as Markdown: columns, threshold, expected quality, limits."""
    from raremetric.table import load_model
    from raremetric.table.card import card_markdown, model_card

    with user_mistakes():
        fitted = load_model(model)
        print_result(as_json, model_card(fitted), [card_markdown(fitted)])


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
    words = [
        f"Input X: doubles of shape (rows, {len(names)}), the encoded columns:",
        f"  {', '.join(names)}",
        f"Outputs: label, 1 for {labels[1]!r} and 0 for {labels[0]!r}; probabilities of 0 and 1.",
        f"Wrote {len(content) / 1e6:.1f} MB to {out}.",
    ]
    about = {"file": str(out), "bytes": len(content), "X": names, "label": labels}
    print_result(as_json, about, words)


def recalibrate(
    model: ModelFile,
    file: TableFile,
    out: SavedModel,
    target: LabeledTarget = None,
    as_json: AsJson = False,
) -> None:
    """Fit probabilities and threshold of a model to new labeled rows, such as after a change."""
    from raremetric.files import check_output
    from raremetric.table import load_model, save_model
    from raremetric.table import recalibrate as recalibrated
    from raremetric.table.card import describe_model, model_card

    with user_mistakes():
        check_output(out, [model, file])
        before = load_model(model)
        with table_file(file) as path:
            found = recalibrated(before, path, target)
        save_model(found, out)
    end = f"The threshold was {before.threshold:.4g}. Saved to {out}."
    print_result(as_json, {"file": out, **model_card(found)}, [*describe_model(found), end])


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
    from raremetric.table.predictions import count_pieces
    from raremetric.table.review_page import review_page

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
    seconds = round(time.perf_counter() - start, 3)
    alerts = [each._asdict() for each in found.alerts]
    about = {"file": out, **found._asdict(), "alerts": alerts, "seconds": seconds}
    sentence = (
        f"{len(found.alerts)} of {found.n_rows} rows to review; predicted "
        f"as {quoted(found.class_names[1])} in the whole file: {found.n_positive}. "
        f"Open {out} in a browser."
    )
    print_result(as_json, about, [sentence])


def explain(
    model: ModelFile,
    file: TableFile,
    row: Annotated[
        int | None, typer.Option(min=1, help="Number of the row; the first is 1.")
    ] = None,
    importance: Annotated[
        bool,
        typer.Option(
            "--importance", help="Instead of a row: how much the model depends on each column."
        ),
    ] = False,
    target: LabeledTarget = None,
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
            about = importances._asdict() | {"optimistic": importances.optimistic}
            words = _importances_in_words(importances, source)
        else:
            with table_file(file) as path, progress(None, f"explaining row {row}"):
                found = explain_row(fitted, path, row)
            about = found._asdict() | {"n_settings": fitted.n_settings}
            words = _explanation_in_words(found, fitted, source)
    print_result(as_json, about, words)


def _explanation_in_words(
    found: Explanation, fitted: TableModel, source: str
) -> Iterator[RenderableType]:
    from raremetric.table.commands import tables
    from raremetric.table.explanation import SAME_POINT

    name, positive = f" ({found.id})" if found.id else "", fitted.class_names[1]
    yield (
        f"Row {found.row}{name} of {source}: predicted {found.predicted!r}; probability of "
        f"{quoted(positive)}: {found.probability:.3g}, threshold: {found.threshold:.3g}."
    )
    if found.unlike:
        note(f"unlike the training data: {found.unlike.replace(';', ',')}.")
    yield tables.contributions_table(found, positive)
    if not found.examples:
        return
    if fitted.n_settings > 1:
        yield (
            f"The prediction averages {fitted.n_settings} settings. The examples below are the "
            "nearest ones under the metric with the largest weight."
        )
    yield tables.examples_table(found)
    if found.examples[0]["distance"] < SAME_POINT:
        note("the distance to the nearest example is 0: was this row part of the training data?")


def _importances_in_words(found: FileImportances, file: str) -> Iterator[RenderableType]:
    from raremetric.table.commands.tables import importances_table

    if found.optimistic:
        note(
            f"{found.known_share:.0%} of the rows of {file} are in the training data of the model: "
            "the importances are optimistic. Use a labeled file that the model has not seen, or: "
            "raremetric compare --importances"
        )
    if found.n_measured < found.n_rows:
        note(
            f"the importances were measured on {found.n_measured} of {found.n_rows} rows, "
            f"{found.n_measured_positive} of them positive, to save time."
        )
    yield f"Average precision on {file}: {found.baseline:.3f}."
    yield importances_table(found.columns)
