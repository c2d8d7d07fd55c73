"""The ``raremetric`` command: parse the arguments, call the library, print the result."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from raremetric import __version__
from raremetric.extras import import_optional

try:
    import_optional("typer", "The raremetric command")
except ImportError as error:
    sys.stderr.write(f"{error}\n")
    raise SystemExit(2) from None

import typer
from rich.table import Table

from raremetric.study.commands import study_app
from raremetric.table import DEFAULT_METHODS, METHODS
from raremetric.table.commands.compare import compare
from raremetric.table.commands.fit import fit
from raremetric.table.commands.predict import predict
from raremetric.table.commands.saved import explain, export, info, recalibrate, review
from raremetric.terminal import (
    EXIT_CODES,
    App,
    AsJson,
    Commands,
    print_json,
    print_rendered,
    user_mistakes,
)

if TYPE_CHECKING:
    from raremetric.datasets import DatasetInfo

OTHER_METHODS = ", ".join(name for name in METHODS if name not in DEFAULT_METHODS)
# Below the help of each command of a table: an example, and the methods that it knows.
EPILOGS = {
    compare: "Example: raremetric compare claims.csv --target fraud -o page.html\n\n"
    f"Methods compared by default: {', '.join(DEFAULT_METHODS)}. Also available: {OTHER_METHODS}.",
    fit: "Example: raremetric fit claims.csv --target fraud -o model.skops\n\n"
    f"Models: {', '.join(METHODS)}.",
    predict: "Example: raremetric predict model.skops new.csv -o found.csv",
    info: "Example: raremetric info model.skops",
    explain: "Example: raremetric explain model.skops new.csv --row 17",
    review: "Example: raremetric review model.skops new.csv --top 50 -o review.html",
    recalibrate: "Example: raremetric recalibrate model.skops labeled.csv -o newer.skops",
    export: "Example: raremetric export model.skops -o model.onnx",
}

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


for command, epilog in EPILOGS.items():
    app.command(epilog=epilog)(command)


def complete_dataset(incomplete: str) -> list[str]:
    """Names of data sets, for shell completion."""
    from raremetric.datasets import list_datasets

    return [name for name in list_datasets() if name.startswith(incomplete)]


@app.command(epilog="Example: raremetric datasets wine --export wine.csv")
def datasets(
    name: Annotated[
        str | None,
        typer.Argument(help="Show this data set only.", autocompletion=complete_dataset),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(
            help='List only one collection: "paper", "keel", "large", "real", or one half of the '
            'latter: "real-choose" or "real-report".'
        ),
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
        found = [each.to_dict() for each in infos]
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
    if bunch.groups is not None:
        frame["group"] = bunch.groups
    with atomic_write(path) as stream:
        frame.to_csv(stream, index=False)
    if as_json:
        print_json({"file": str(path), "target": target, "positive": list(bunch.positive)})
        return
    options = " ".join(f"--positive {shlex.quote(str(label))}" for label in bunch.positive)
    options += " --group group" * (bunch.groups is not None)
    command = f"raremetric compare {shlex.quote(str(path))} --target class {options}"
    typer.echo(f"{path}: {len(frame)} rows. Try: {command}")


def _overview(infos: list[DatasetInfo]) -> Table:
    table = Table(title=f"{len(infos)} data sets", title_justify="left")
    for heading in ("name", "n", "d", "n⁺", "share", "source"):
        side: Any = "left" if heading in ("name", "source") else "right"
        table.add_column(heading, justify=side, no_wrap=True)
    for each in infos:
        counts = (each.n_samples, each.n_features, each.n_positive)
        table.add_row(each.name, *map(str, counts), f"{each.share:.2%}", _short(each.source))
    return table


def _short(source: str) -> str:
    """A short form of the source, such as "UCI 109" or "KEEL"."""
    if "uci.edu" in source:
        return f"UCI {source.rpartition('/')[2]}"
    if "://" not in source:  # the name of a package
        return source
    return "KEEL" if "keel" in source else "challenge"


def _details(info: DatasetInfo) -> Table:
    table = Table(title=info.name, title_justify="left", show_header=False)
    rows = {
        "examples (n)": info.n_samples,
        "features (d)": info.n_features,
        "positive (n⁺)": f"{info.n_positive} ({info.share:.2%})",
        "positive label": ", ".join(map(str, info.positive)),
        "collection": info.collection,
        "source": info.source,
        "license": info.license,
        "note": info.note,
    }
    if info.collection == "paper" and not info.paper_order:
        rows["rows"] = "not in the paper's order"
    for heading, value in rows.items():
        if value:
            table.add_row(heading, str(value))
    return table


app.add_typer(study_app, name="study")
