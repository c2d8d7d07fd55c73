"""``raremetric datasets``: the data sets that come with the package."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from raremetric.terminal.common import print_json, print_rendered, user_mistakes
from raremetric.terminal.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from raremetric.datasets import DatasetInfo


def complete_dataset(incomplete: str) -> list[str]:
    """Names of data sets, for shell completion."""
    from raremetric.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


def datasets(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this data set only.", autocompletion=complete_dataset),
    ] = None,
    collection: Annotated[
        str | None, typer.Option(help='List only one collection: "paper", "keel" or "large".')
    ] = None,
    export: Annotated[
        str | None,
        typer.Option("--export", metavar="PATH", help="Write the data set to this CSV file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the data sets that come with raremetric, show one, or write one to a file."""
    from raremetric.datasets import describe_dataset, list_datasets

    with user_mistakes():
        if export is not None:
            _export(name, export, as_json)
            return
        names = list_datasets(collection) if name is None else [name]
        infos = [describe_dataset(each) for each in names]
    if as_json:
        found = [info.to_dict() for info in infos]
        print_json(found if name is None else found[0])
    elif name is None:
        print_rendered(_overview(infos))
    else:
        print_rendered(_details(infos[0]))


def _export(name: str | None, path: str, as_json: bool) -> None:
    from raremetric.datasets import load_dataset
    from raremetric.files import atomic_write

    if name is None:
        raise ValueError("Which data set? For example: raremetric datasets wine --export wine.csv")
    bunch: Any = load_dataset(name, original=True, as_frame=True)
    target = "class"
    frame = bunch.data.assign(**{target: bunch.target.to_numpy()})
    with atomic_write(path) as stream:
        frame.to_csv(stream, index=False)
    if as_json:
        print_json({"file": str(path), "target": target, "positive": list(bunch.positive)})
        return
    options = " ".join(f"--positive {shlex.quote(str(label))}" for label in bunch.positive)
    command = f"raremetric compare {shlex.quote(str(path))} --target class {options}"
    typer.echo(f"{path}: {len(frame)} rows. Try: {command}")


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog="Example: raremetric datasets wine --export wine.csv")(datasets)


def _overview(infos: list[DatasetInfo]) -> Table:
    from rich.table import Table

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
    """A short form of the source, such as "UCI 109" or "KEEL"."""
    if "uci.edu" in source:
        return f"UCI {source.rpartition('/')[2]}"
    return "KEEL" if "keel" in source else "challenge"


def _details(info: DatasetInfo) -> Table:
    from rich.table import Table

    table = Table(title=info.name, title_justify="left", show_header=False)
    rows = {
        "examples (n)": str(info.n_samples),
        "features (d)": str(info.n_features),
        "positive (n⁺)": f"{info.n_positive} ({info.share:.2%})",
        "positive label": ", ".join(map(str, info.positive)),
        "rows": "in the paper's order" if info.paper_order else "not in the paper's order",
        "collection": info.collection,
        "source": info.source,
        "license": info.license,
        "note": info.note,
    }
    if info.collection != "paper":
        del rows["rows"]
    for heading, value in rows.items():
        if value:
            table.add_row(heading, value)
    return table
