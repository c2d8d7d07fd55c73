"""Why a model decides as it does about some rows: deciding columns and examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.explain import (
    column_contributions,
    counterfactual_changes,
    distance_contributions,
    has_exact_split,
)
from raremetric.rare import RareClassifier
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.files import is_frame
from raremetric.validation import check_integer

SAME_POINT = 1e-7  # a smaller distance is zero except for rounding
MAX_EXACT = 8  # columns; with more, exact contributions take seconds per row
PER_CLASS = 2  # deciding examples to show, if the model compares the classes
SEED = 0  # the same row always gets the same explanation


class Explanation(NamedTuple):
    """The decision about one row and the reasons for it."""

    row: int  # number in the file, starting at 1
    id: str | None  # name of the row, if the model has an id_name and the file has that column
    predicted: str
    probability: float  # of the positive class
    threshold: float  # probability from which the positive class is predicted
    unlike: str  # what is unlike the training data, as `predict` describes it
    columns: list[dict[str, Any]]  # column, value, contribution, std_error; the largest first
    columns_exact: bool  # False: the contributions are sampled
    scale: str  # of the contributions: "log-odds", "probability" or "decision function"
    # Deciding: id, class, distance, values and parts of the squared distance by column; the nearest
    # first, none if the model has no neighbors.
    examples: list[dict[str, Any]]
    parts_exact: bool  # False: the parts do not sum to the distance, see counterfactual_changes

    @property
    def unit(self) -> str:
        """The scale of the contributions in a sentence."""
        return "score" if self.scale == "decision function" else self.scale


def explain_rows(
    model: TableModel,
    X: Any,
    rows: Sequence[int] | None = None,
    *,
    n_neighbors: int | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> list[Explanation]:
    """Explain the decisions about the rows of a DataFrame, as `iter_table` reads them.

    ``rows`` are their numbers in the file, by default from 1. ``n_neighbors`` is the number of
    deciding examples of any class; None for the nearest
    of each class under the metric with the largest weight.
    """
    found, encoded, training = model.classify(X), model.encoder.transform(X), model.X
    names = model.encoder.feature_names_in_.tolist()
    parts_exact = model.has_neighbors and has_exact_split(model.metric)
    explanations = []
    for i, row in enumerate(range(1, len(X) + 1) if rows is None else rows):
        moved = column_contributions(
            model.classifier,
            encoded[[i]],
            training,
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
        explanations.append(
            Explanation(
                row=int(row),
                id=None if found.names is None else found.names[i],
                predicted=model.class_names[int(found.positive[i])],
                probability=float(found.probability[i]),
                threshold=model.threshold,
                unlike=str(found.unlike[i]),
                columns=columns,
                columns_exact=moved.exact,
                scale=moved.scale,
                examples=_examples(model, encoded[[i]], n_neighbors, parts_exact),
                parts_exact=parts_exact,
            )
        )
        on_row()
    return explanations


def _examples(
    model: TableModel, encoded: NDArray, n_neighbors: int | None, parts_exact: bool
) -> list[dict[str, Any]]:
    """The training examples that decide about one encoded row; see `Explanation`."""
    if not model.has_neighbors:
        return []
    distances, nearest = _deciding(model, encoded, n_neighbors)
    names, rows = model.encoder.feature_names_in_.tolist(), model.data.iloc[nearest]
    examples, groups = model.encoder.transform(rows), model.encoder.column_groups()
    if parts_exact:
        by_feature = distance_contributions(model.metric, encoded[0], examples)
        parts = np.column_stack([by_feature[:, group].sum(axis=1) for group in groups])
    else:
        parts = counterfactual_changes(model.metric, encoded[0], examples, groups=groups)
    return [
        {
            "id": model.ids.item(i),
            "class": model.class_names[model.y[i]],
            "distance": float(distance),
            "values": {name: _plain(rows[name].iloc[rank]) for name in names},
            "parts": dict(zip(names, own.tolist(), strict=True)),
        }
        for rank, (i, distance, own) in enumerate(zip(nearest, distances, parts, strict=True))
    ]


def _deciding(
    model: TableModel, encoded: NDArray, n_neighbors: int | None
) -> tuple[NDArray, NDArray]:
    """Distances and rows of the training examples that decide about one encoded row."""
    last = model.last
    if n_neighbors is None and isinstance(last, RareClassifier):
        reason = last.explain(model.mapped(encoded))[0][last.ensemble_.main_member]
        sides = [reason["positive"], reason["negative"]]
        distances, rows = (
            np.concatenate([side[key][:PER_CLASS] for side in sides])
            for key in ("distances", "rows")
        )
        order = np.lexsort((rows, distances))
        return distances[order], rows[order]
    if n_neighbors is not None:
        check_integer(n_neighbors, "The number of neighbors", low=1, high=len(model.y))
    distances, rows = model.kneighbors(encoded, n_neighbors)
    return distances[0], rows[0]


def explain_row(
    model: TableModel, path: Any, row: int, n_neighbors: int | None = None
) -> Explanation:
    """Explain the decision about one row of a table.

    Parameters
    ----------
    model : TableModel
    path : str, Path, DataFrame or Arrow table
        A table with the columns of the model.
    row : int
        Number of the row, starting at 1.
    n_neighbors : int or None, default=None
        Number of nearest examples; None for the nearest of each class.

    Returns
    -------
    Explanation
        With the fields ``predicted``, ``probability`` and ``threshold``; ``columns``, a list of
        dict with the ``column``, its ``value`` and its ``contribution`` to the score, the largest
        first; ``columns_exact``, whether the contributions are exact or sampled; ``examples``, the
        deciding examples with their ``class``, ``values``, ``distance`` and what each column adds
        to its square, ``parts``; ``parts_exact``, whether these sum to it; and ``unlike``, the
        columns that are unlike the training data.
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


def show_value(value: Any) -> str:
    """A value of a table as short text: whole numbers in full, others with six digits."""
    if value is None:
        return "(missing)"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.6g}"
    return str(value)


def example_name(example: dict[str, Any]) -> str:
    """The name of a training example, which is its row if the model has no names."""
    return example["id"] if isinstance(example["id"], str) else f"row {example['id']}"


def _plain(value: Any) -> Any:
    """A value of a DataFrame as a type that JSON knows; None if it is missing."""
    if value is None or value != value:
        return None
    if hasattr(value, "isoformat"):
        return value.isoformat(sep=" ").removesuffix(" 00:00:00")
    return value.item() if isinstance(value, np.generic) else value
