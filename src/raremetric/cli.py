"""The ``raremetric`` command. Thin: parse, call, print."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, NoReturn

from raremetric import __version__
from raremetric.datasets import DatasetInfo, describe_dataset, list_datasets

try:
    import typer
    from rich.console import Console
    from rich.table import Table
except ImportError:
    sys.stderr.write('The raremetric command needs: pip install "raremetric[study]"\n')
    raise SystemExit(2) from None

app = typer.Typer(
    help="Metric learning for the class you care about and have few examples of.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def fail(sentence: object) -> NoReturn:
    """End with one sentence on stderr and exit code 2."""
    typer.echo(f"Error: {' '.join(str(sentence).split())}", err=True)
    raise typer.Exit(2)


@contextmanager
def user_mistakes() -> Iterator[None]:
    """Turn the errors that a user can mend into one sentence; any other is a bug and stays."""
    try:
        yield
    except (ValueError, OSError, ImportError) as error:
        fail(error)


def _print_version(wanted: bool) -> None:
    if wanted:
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
    """Metric learning for the class you care about and have few examples of."""


@app.command()
def datasets(
    name: Annotated[str | None, typer.Argument(help="Show this data set only.")] = None,
    collection: Annotated[
        str | None, typer.Option(help='Only the "paper" or the "keel" collection.')
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the data sets that come with raremetric, or show one."""
    with user_mistakes():
        names = list_datasets(collection) if name is None else [name]
        infos = [describe_dataset(each) for each in names]
    if as_json:
        found = [info.to_dict() for info in infos]
        typer.echo(json.dumps(found if name is None else found[0], indent=2, ensure_ascii=False))
    elif name is None:
        Console().print(_overview(infos))
    else:
        Console().print(_details(infos[0]))


def _overview(infos: list[DatasetInfo]) -> Table:
    table = Table(title=f"{len(infos)} data sets", title_justify="left")
    table.add_column("name", no_wrap=True)
    for heading in ("n", "d", "n⁺", "share"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("source", no_wrap=True)
    for info in infos:
        counts = (info.n_samples, info.n_features, info.n_positive)
        table.add_row(info.name, *map(str, counts), f"{info.share:.2%}", _short(info.source))
    return table


def _short(source: str) -> str:
    """UCI 109 or KEEL: the whole address is shown with a single data set."""
    repository, number = ("UCI", source.rpartition("/")[2]) if "uci.edu" in source else ("KEEL", "")
    return f"{repository} {number}".strip()


def _details(info: DatasetInfo) -> Table:
    table = Table(title=info.name, title_justify="left", show_header=False)
    rows = {
        "examples (n)": str(info.n_samples),
        "features (d)": str(info.n_features),
        "positive (n⁺)": f"{info.n_positive} ({info.share:.2%})",
        "positive label": ", ".join(map(str, info.positive)),
        "rows": "in the paper's order" if info.paper_order else "not in the paper's order",
        "collection": info.collection,
        "source": info.source,
        "licence": info.licence,
        "note": info.note,
    }
    if info.collection != "paper":
        del rows["rows"]
    for heading, value in rows.items():
        if value:
            table.add_row(heading, value)
    return table
