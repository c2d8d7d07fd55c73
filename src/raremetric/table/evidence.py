"""Why a model decides as it does about some rows: deciding examples and columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from raremetric.explain import ColumnImportances, column_contributions, column_importances
from raremetric.files import existing_file, quoted
from raremetric.performance import OnProgress
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.files import arrow_table, is_frame, naming, read_arrow
from raremetric.table.reading.labels import read_labels
from raremetric.validation import check_integer

SAME_POINT = 1e-7  # a smaller distance is zero except for rounding
MAX_EXACT = 8  # columns; with more, exact contributions take seconds per row
PER_CLASS = 2  # deciding examples to show, if the model compares the classes
SEED = 0  # the same row always gets the same explanation
KNOWN_SHARE = 0.5  # of rows that are in the training data, from which importances are optimistic


class Evidence(NamedTuple):
    """The decision about one row and the reasons for it."""

    row: int  # number in the file, starting at 1
    id: str | None  # name of the row, if the model has an id_name and the file has that column
    predicted: str
    probability: float  # of the positive class
    threshold: float  # probability from which the positive class is predicted
    columns: list[dict[str, Any]]  # column, value, contribution, std_error; the largest first
    scale: str  # of the contributions: "log-odds", "probability" or "decision function"
    exact: bool  # False: the contributions are sampled
    examples: list[dict[str, Any]]  # deciding: id, class, distance, values; may be empty
    unlike: str = ""  # what is unlike the training data, as `predict` describes it


def explain_rows(
    model: TableModel,
    X: Any,
    rows: Sequence[int] | None = None,
    *,
    n_neighbors: int | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> list[Evidence]:
    """Explain the decisions about the rows of a DataFrame.

    Parameters
    ----------
    model : TableModel
    X : DataFrame
        Raw columns, as for `TableModel.predict`.
    rows : sequence of int or None, default=None
        Their numbers in the file; None to count from 1.
    n_neighbors : int or None, default=None
        Number of deciding examples; None for those that vote.
    on_row : callable
        Called after each row.

    Returns
    -------
    list of Evidence
    """
    found = model.classify(X)
    ids = X.index.tolist() if model.id_name and X.index.name == model.id_name else [None] * len(X)
    threshold, names = model.threshold, model.encoder.feature_names_in_.tolist()
    evidence = []
    for i in range(len(X)):
        encoded = model.encoder.transform(X.iloc[[i]])
        moved = column_contributions(
            model.classifier,
            encoded,
            model.X,
            model.encoder.column_groups(),
            max_exact=MAX_EXACT,
            random_state=SEED,
        )
        columns = [
            {
                "column": names[j],
                "value": _plain(X[names[j]].iloc[i]),
                "contribution": float(moved.values[0, j]),
                "std_error": float(moved.std_error[0, j]),
            }
            for j in np.argsort(-abs(moved.values[0]), kind="stable")
        ]
        evidence.append(
            Evidence(
                row=i + 1 if rows is None else int(rows[i]),
                id=ids[i],
                predicted=model.class_names[int(found.positive[i])],
                probability=float(found.probability[i]),
                threshold=threshold,
                columns=columns,
                scale=moved.scale,
                exact=moved.exact,
                examples=deciding_examples(model, X.iloc[[i]], n_neighbors),
                unlike=str(found.unlike[i]),
            )
        )
        on_row()
    return evidence


def deciding_examples(
    model: TableModel, X: Any, n_neighbors: int | None = None
) -> list[dict[str, Any]]:
    """The training examples that decide about a DataFrame with one row, the nearest first.

    If the model compares distances to both classes, these are the nearest examples of each class
    under the metric with the largest weight, otherwise the nearest examples of any class.

    Parameters
    ----------
    model : TableModel
    X : DataFrame of one row
    n_neighbors : int or None, default=None
        Number of examples of any class; None for those that decide.

    Returns
    -------
    list of dict
        With the ``id``, ``class``, ``distance`` and ``values`` of each example; empty if the model
        has no neighbors.
    """
    last = _last_step(model)
    if not model.has_neighbors:
        return []
    if n_neighbors is not None or not hasattr(last, "explain"):
        return model.explain(X, 1, n_neighbors).neighbors
    encoded = model.encoder.transform(X)
    if isinstance(model.classifier, Pipeline):
        encoded = model.classifier[:-1].transform(encoded)
    reason = last.explain(encoded)[0][0]
    pairs = [
        (float(distance), int(row))
        for each in (reason["positive"], reason["negative"])
        for distance, row in list(zip(each["distances"], each["rows"], strict=True))[:PER_CLASS]
    ]
    return [
        {
            "id": model.ids.item(row),
            "class": model.class_names[model.y[row]],
            "distance": distance,
            "values": model.encoder.decode(model.X[row]),
        }
        for distance, row in sorted(pairs)
    ]


def explain_row(model: TableModel, path: Any, row: int, n_neighbors: int | None = None) -> Evidence:
    """Explain the decision about one row of a table.

    Parameters
    ----------
    model : TableModel
    path : str, Path, DataFrame or Arrow table
        A table with the columns of the model.
    row : int
        Number of the row, starting at 1.
    n_neighbors : int or None, default=None
        Number of deciding examples; None for those that vote.

    Returns
    -------
    Evidence
        With the fields ``predicted``, ``probability`` and ``threshold``; ``columns``, a list of
        dict with the ``column``, its ``value`` and its ``contribution`` to the score, the largest
        first; ``exact``, whether the contributions are exact or sampled; ``examples``, the deciding
        examples with their ``class`` and ``values``; and ``unlike``, the columns that are unlike
        the training data.
    """
    check_integer(row, "row", low=1)
    seen = 0
    for piece in iter_table(path, model.encoder, row_names=model.id_name):
        if row <= seen + len(piece):
            wanted = piece.iloc[[row - 1 - seen]]
            return explain_rows(model, wanted, [row], n_neighbors=n_neighbors)[0]
        seen += len(piece)
    source, what = ("The table", "it") if is_frame(path) else (path, "the file")
    raise TableError(f"{source}: there is no row {row}; {what} has {seen} rows.")


class FileImportances(NamedTuple):
    """Permutation importances of the columns, measured on a labeled file."""

    columns: list[dict[str, Any]]  # column, importance, std; the largest first
    baseline: float  # average precision on the unchanged file
    known_share: float  # share of the rows that are in the training data
    n_rows: int

    @property
    def optimistic(self) -> bool:
        """Whether the file is (in large part) the training data."""
        return self.known_share >= KNOWN_SHARE


def importances_of_file(
    model: TableModel,
    path: Any,
    target: str | None = None,
    *,
    n_repeats: int = 5,
    on_progress: OnProgress | None = None,
) -> FileImportances:
    """How much the average precision on a labeled table decreases if a column is permuted.

    Parameters
    ----------
    model : TableModel
    path : str, Path, DataFrame or Arrow table
        A table with the columns of the model and the class.
    target : str or None, default=None
        The column with the class; None for the one that the model was fitted on.
    n_repeats : int, default=5
        Number of permutations.
    on_progress : callable (n_done, n_steps) or None, default=None
        See :func:`raremetric.explain.column_importances`.

    Returns
    -------
    FileImportances
        With the fields ``columns``, a list of dict with the ``column``, its ``importance`` and the
        standard deviation ``std``, the largest first; ``baseline``, the average precision on the
        unchanged table; and ``optimistic``, whether most rows are in the training data.
    """
    target = model.target_name if target is None else target
    name = model.class_names[1]
    source = "The table" if is_frame(path) else path
    with naming(source):
        if is_frame(path):
            table = arrow_table(path)
        else:
            table = read_arrow(existing_file(path), target=target).table
        if target not in table.column_names:
            raise TableError(f"There is no column {target!r} with the class.")
        labels = read_labels(target, table.column(target))
    positive = [name, *name.split(", ")]  # several classes can be positive together
    y = np.isin([str(each) for each in labels.classes], positive)[labels.codes].astype(np.int64)
    if not 0 < y.sum() < len(y):
        raise TableError(
            f"{source}: {int(y.sum())} of {len(y)} rows have the class {quoted(name)} in "
            f"column {target!r}; importances need both classes."
        )
    X = np.concatenate([model.encoder.transform(part) for part in iter_table(path, model.encoder)])
    known = {row.tobytes() for row in model.X}
    found: ColumnImportances = column_importances(
        model.classifier,
        X,
        y,
        model.encoder.column_groups(),
        n_repeats=n_repeats,
        random_state=SEED,
        on_progress=on_progress,
    )
    names = model.encoder.feature_names_in_
    return FileImportances(
        columns=[
            {
                "column": str(names[j]),
                "importance": float(found.mean[j]),
                "std": float(found.std[j]),
            }
            for j in np.argsort(-found.mean, kind="stable")
        ],
        baseline=found.baseline,
        known_share=float(np.mean([row.tobytes() in known for row in X])),
        n_rows=len(X),
    )


def show_value(value: Any) -> str:
    """A value of a table as short text: whole numbers in full, others with six digits."""
    if value is None:
        return "(missing)"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def _last_step(model: TableModel) -> Any:
    classifier = model.classifier
    return classifier[-1] if isinstance(classifier, Pipeline) else classifier


def _plain(value: Any) -> Any:
    """A value of a DataFrame as a type that JSON knows; None if it is missing."""
    if value is None or value != value:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return value.item() if isinstance(value, np.generic) else value
