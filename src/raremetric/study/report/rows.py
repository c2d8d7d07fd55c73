"""The rows of a study: what they must contain, and the scores computed from them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raremetric.datasets import describe_dataset
from raremetric.extras import import_optional
from raremetric.study.tasks import COUNTS, REPORTED

if TYPE_CHECKING:
    from pandas import DataFrame, Series

OPTIONAL_NUMBERS = ("average_precision", "test_size")
OPTIONAL = (*OPTIONAL_NUMBERS, "fingerprint")  # treated as empty if the column is missing
REQUIRED = [name for name in REPORTED if name not in OPTIONAL]
BOUNDS = {"share": "neither", "test_size": "neither", "average_precision": "both"}
KEY = ["dataset", "share", "test_size", "resampling", "split", "learner"]

FEW = 20  # a data set with fewer positives in the training part has few


def check_rows(rows: DataFrame) -> DataFrame:
    """Check and sort the rows of a study.

    Parameters
    ----------
    rows : DataFrame
        One row per finished task, with at least the columns `REQUIRED`. `share` may be empty; the
        columns `OPTIONAL` may be empty or missing.

    Returns
    -------
    DataFrame
        With exactly the columns `REPORTED`, sorted by task: the same tasks give
        the same frame, in whatever order they were run.

    Raises
    ------
    ValueError
        If a column is missing, a value is not allowed, or a task occurs twice.
    """
    missing = [name for name in REQUIRED if name not in rows.columns]
    if missing:
        raise ValueError(
            f"The rows of a study need the columns {', '.join(REQUIRED)}; missing: "
            f"{', '.join(missing)}."
        )
    rows = rows.reindex(columns=list(REPORTED))
    for name in ["share", *OPTIONAL_NUMBERS]:
        rows[name] = _numbers(rows, name).round(6)
    rows["seconds"] = _numbers(rows, "seconds").astype(float)
    for name in ["split", *COUNTS]:
        rows[name] = _whole_numbers(rows, name)
    for name in ["dataset", "resampling", "learner"]:
        rows[name] = rows[name].astype(str)
    rows["fingerprint"] = rows["fingerprint"].astype(object).fillna("").astype(str)
    _check_tasks(rows)
    return sort_rows(rows)


def sort_rows(rows: DataFrame) -> DataFrame:
    """Sort rows by task."""
    return rows.sort_values(KEY, na_position="first", kind="stable", ignore_index=True)


def _numbers(rows: DataFrame, name: str) -> Series:
    pandas = import_optional("pandas")
    column = rows[name].replace("", None) if rows[name].dtype == object else rows[name]
    try:
        return pandas.to_numeric(column).astype(float)
    except (ValueError, TypeError) as error:
        raise ValueError(f"The column {name} must hold numbers: {error}.") from error


def _whole_numbers(rows: DataFrame, name: str) -> Series:
    column = _numbers(rows, name)
    wrong = ~((column >= 0) & (column % 1 == 0))
    if wrong.any():
        raise ValueError(
            f"The column {name} must hold whole numbers of at least 0; got "
            f"{rows.loc[wrong, name].iloc[0]} in the row of {_task(rows[wrong])}."
        )
    return column.astype(int)


def _check_tasks(rows: DataFrame) -> None:
    repeated = rows.duplicated(KEY)
    if repeated.any():
        raise ValueError(
            f"Each task of a study must occur once; found twice: {_task(rows[repeated])}. "
            "Report one store at a time."
        )
    empty = rows[[*COUNTS]].sum(axis=1) == 0
    if empty.any():
        raise ValueError(f"The four counts are all 0 in the row of {_task(rows[empty])}.")
    for name, bounds in BOUNDS.items():
        outside = rows[name].notna() & ~rows[name].between(0, 1, inclusive=bounds)
        if outside.any():
            raise ValueError(
                f"The column {name} must be empty or between 0 and 1, such as 0.05 for 5 %; got "
                f"{rows.loc[outside, name].iloc[0]:g}."
            )


def _task(rows: DataFrame) -> str:
    return ", ".join(f"{name}={rows[name].iloc[0]}" for name in KEY)


def with_scores(rows: DataFrame) -> DataFrame:
    """Add `f1` of the positive class, `accuracy` and `average_precision`, all in percent.

    F1 = tp / (tp + (fp + fn) / 2), and 0 if there are no true positives.
    """
    errors = rows["fp"] + rows["fn"]
    f1 = (rows["tp"] / (rows["tp"] + errors / 2)).where(rows["tp"] > 0, 0.0)
    accuracy = (rows["tp"] + rows["tn"]) / rows[[*COUNTS]].sum(axis=1)
    return rows.assign(
        f1=100 * f1, accuracy=100 * accuracy, average_precision=100 * rows["average_precision"]
    )


def datasets_with_few_positives(rows: DataFrame) -> list[str]:
    """The data sets with few positives outside the test part, that is, to learn from."""
    tested = (rows["tp"] + rows["fn"]).groupby(rows["dataset"]).mean()
    return [
        name for name, count in tested.items() if describe_dataset(name).n_positive - count < FEW
    ]
