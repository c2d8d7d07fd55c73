"""Options that several commands for a table have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV (also .gz), Parquet, ARFF or KEEL file, openml:ID, or - for CSV from standard "
        "input.",
    ),
]
NewFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV (also .gz), Parquet, ARFF or KEEL file, or - for CSV from standard input.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="For several files: a Dask scheduler, such as tcp://host:8786, whose workers can read "
        "them. Default: processes on this machine.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")]
Target = Annotated[
    str | None,
    typer.Option(help="Column that contains the class. ARFF and KEEL files declare theirs."),
]
Positive = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL",
        help="Class of interest; repeat the option for several labels. Default: the rarest class.",
    ),
]
Ignore = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Columns to leave out, separated by commas; may be repeated."
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS",
        help="Numeric columns to treat as categories, separated by commas; may be repeated.",
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed for folds and random draws.")]
Scoring = Annotated[
    str | None,
    typer.Option(
        help="What to maximize: f1 (the default), f2, f0.5, balanced_accuracy, "
        "average_precision, or costs such as cost:fp=1,fn=20."
    ),
]
MinPrecision = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Maximize the recall with at least this precision."),
]
MinRecall = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="Maximize the precision with at least this recall."),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with weights of the rows, at least 0. Fits, thresholds and all measures are "
        "weighted. It is not used as a feature.",
    ),
]


def choose_scoring(
    scoring: str | None, min_precision: float | None, min_recall: float | None
) -> str:
    """The aim of three options, of which at most one can be given."""
    minima = {"precision": min_precision, "recall": min_recall}
    aims = [f"{name}>={value}" for name, value in minima.items() if value is not None]
    given = [*([] if scoring is None else [scoring]), *aims]
    if len(given) > 1:
        raise ValueError("Give only one of --scoring, --min-precision and --min-recall.")
    if scoring is not None:
        from raremetric.table.aims import check_scoring

        try:
            check_scoring(scoring)
        except ValueError as error:
            raise ValueError(f"--scoring {scoring}: {error}") from error
    return given[0] if given else "f1"
