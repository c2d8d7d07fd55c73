"""Options that the commands for one's own table share."""

from __future__ import annotations

from typing import Annotated

import typer

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="CSV (also .gz), Parquet, ARFF or KEEL file, or openml:ID."
    ),
]
Target = Annotated[
    str | None, typer.Option(help="Column with the class; ARFF and KEEL files know theirs.")
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL", help="The class of interest; repeat it for several. Default: the rarest."
    ),
]
Ignore = Annotated[str | None, typer.Option(help="Columns to leave out, separated by commas.")]
Categorical = Annotated[
    str | None, typer.Option(help="Columns of codes to take as categories, separated by commas.")
]
Seed = Annotated[int, typer.Option(help="Of folds and draws.")]


def names(text: str | None) -> list[str]:
    """Names separated by commas."""
    return [name.strip() for name in text.split(",") if name.strip()] if text else []
