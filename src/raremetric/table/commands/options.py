"""The options of the commands for a table; those of several commands are the same in all."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from raremetric.table import METHODS


def complete_methods(incomplete: str) -> list[str]:
    """Names of methods, for shell completion; also after a comma."""
    given, comma, last = incomplete.rpartition(",")
    return [given + comma + name for name in METHODS if name.startswith(last)]


# Files
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
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="A file saved by fit.")]
Page = Annotated[str, typer.Option("--out", "-o", metavar="PATH", help="HTML page to write.")]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="For several files: a Dask scheduler, such as tcp://host:8786, whose workers can read "
        "them. Default: processes on this machine.",
    ),
]

# Columns
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
Time = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Test and tune on rows that are later than those learned from, by this column of "
        "dates or numbers. It is not used as a feature.",
    ),
]
Group = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Keep rows with the same value in this column, such as a customer, on one side when "
        "methods are tested and tuned. It is not used as a feature.",
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with weights of the rows, at least 0. Fits, thresholds and all measures are "
        "weighted. It is not used as a feature.",
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
        help="Methods to compare, separated by commas; may be repeated. Default: all but those "
        "that are slow on large tables; see the list below.",
        autocompletion=complete_methods,
    ),
]
OwnMethod = Annotated[
    list[str] | None,
    typer.Option(
        metavar="MODULE:CLASS",
        help="Also compare a class of your own with scikit-learn's interface, such as "
        "mypackage.module:MyLearner; repeat the option for several.",
    ),
]
Resampling = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="One or more of none, smote and rus, separated by commas; may be repeated. Only "
        "for methods in which neighbors vote; all others run with none. Default: none.",
    ),
]
MaxTrainRows = Annotated[
    int | None,
    typer.Option(
        min=20,
        help="Learn from at most this number of rows: all positives, up to half of it, and "
        "others drawn at random. All rows are tested. Default: 5000, or fewer if the table has "
        "more than 30 columns.",
    ),
]
Importances = Annotated[
    bool,
    typer.Option(
        "--importances",
        help="Also measure how much each method depends on each column, on the test folds.",
    ),
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
    if scoring is not None:
        from raremetric.table.aims import check_scoring

        try:
            check_scoring(scoring)
        except ValueError as error:
            raise ValueError(f"--scoring {scoring}: {error}") from error
    return given[0] if given else "f1"
