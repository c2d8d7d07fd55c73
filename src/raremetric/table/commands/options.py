"""What several commands for a table share: their options, and how they print results."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import RenderableType

from raremetric.table import METHODS
from raremetric.terminal import print_json, print_rendered


def complete_methods(incomplete: str) -> list[str]:
    """Names of methods, for shell completion; also after a comma."""
    given, comma, last = incomplete.rpartition(",")
    return [given + comma + name for name in METHODS if name.startswith(last)]


def print_result(as_json: bool, about: Any, words: Iterable[RenderableType]) -> None:
    """Print the result of a command: JSON, or else sentences and tables."""
    if as_json:
        print_json(about)
        return
    for each in words:
        if isinstance(each, str):
            typer.echo(each)
        else:
            print_rendered(each)


# Files
TableFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A CSV (also .gz) or Parquet file, or - for CSV from standard input."
    ),
]
TableFiles = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="A CSV (also .gz) or Parquet file, or - for CSV from standard input. Also many files: "
        "a directory, or a pattern in quotation marks, such as 'data/*.csv'.",
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")]
SavedModel = Annotated[
    str, typer.Option("--out", "-o", metavar="PATH", help="File to save the model to.")
]
LabeledTarget = Annotated[
    str | None, typer.Option("--target", help="Column with the class. Default: as in fit.")
]
Page = Annotated[str, typer.Option("--out", "-o", metavar="PATH", help="HTML page to write.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="For several files: a Dask scheduler, such as tcp://host:8786, whose workers can read "
        "them. Default: processes on this machine.",
    ),
]

# Columns; those of time, group and weight are not used as features
Target = Annotated[
    str | None,
    typer.Option(help="Column that contains the class."),
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
    typer.Option(metavar="COLUMNS", help="Leave out columns, separated by commas; repeatable."),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMNS", help="Treat numbers as categories, separated by commas; repeatable."
    ),
]
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Dates or numbers: test and tune on rows that are later than those learned from.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Such as a customer: keep rows with the same value on one side to test and tune.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Weights of the rows, at least 0, for fits, thresholds and all measures.",
    ),
]

# What is maximized
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
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed for folds and random draws.")]

# What compare does
Methods = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Methods to compare, separated by commas; repeatable. Default: all but those that "
        "are slow on large tables; see the list below. lightgbm and catboost need the "
        "packages of the same names.",
        autocompletion=complete_methods,
    ),
]
OwnMethod = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:CLASS",
        help="Also compare a class of your own with scikit-learn's interface, such as "
        "mypackage.module:MyLearner; repeatable.",
    ),
]
MaxTrainRows = Annotated[
    int | None,
    typer.Option(
        min=20,
        help="Learn from at most this number of rows: all positives, up to half of it, and "
        "others drawn at random. All rows are tested. Default: as many as in fit.",
    ),
]
Importances = Annotated[
    bool,
    typer.Option("--importances", help="Also measure how much each method depends on each column."),
]
Alerts = Annotated[
    int | None,
    typer.Option(min=1, help="Also show precision and recall for this number of alerts."),
]
Folds = Annotated[int, typer.Option(min=2, help="Number of outer folds.")]
Repeats = Annotated[int, typer.Option(min=1, help="Number of times to repeat the folds.")]
Jobs = Annotated[int, typer.Option(min=1, help="Number of processes.")]


def choose_scoring(
    scoring: str | None, min_precision: float | None, min_recall: float | None
) -> str:
    """The aim of three options, of which at most one can be given."""
    minima = {"precision": min_precision, "recall": min_recall}
    aims = [f"{name}>={value}" for name, value in minima.items() if value is not None]
    given = [*([] if scoring is None else [scoring]), *aims]
    if len(given) > 1:
        raise ValueError("Give only one of --scoring, --min-precision and --min-recall.")
    return given[0] if given else "f1"
