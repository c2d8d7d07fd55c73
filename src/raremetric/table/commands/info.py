"""``raremetric info``: what is in a model file."""

from __future__ import annotations

from typing import Annotated

import typer

from raremetric.table.commands.options import ModelFile
from raremetric.terminal.common import AsJson, print_json, print_rendered, user_mistakes


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
