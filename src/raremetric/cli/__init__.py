"""The ``raremetric`` command: parse the arguments, call the library, print the result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from raremetric import __version__
from raremetric.extras import import_optional

try:
    import_optional("typer", "The raremetric command")
except ImportError as error:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(2) from None

import typer

from raremetric.cli import datasets
from raremetric.study.commands import study_app
from raremetric.table.commands import compare, explain, export, fit, info, predict, review
from raremetric.terminal.commands import EXIT_CODES, App, Commands

app = App(
    cls=Commands,
    help="Metric learning for the class you care about but have few examples of.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    epilog=EXIT_CODES,
)


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Metric learning for the class you care about but have few examples of."""
    if (folder := str(Path.cwd())) not in sys.path:
        sys.path.append(folder)  # where a user's own learners may be


for command in (compare, fit, predict, info, explain, review, export, datasets):
    command.add_to(app)
app.add_typer(study_app, name="study")
