"""Why a model decides as it does: columns and nearest examples of a row, and importances."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score

from raremetric.explain import column_contributions
from raremetric.files import quoted
from raremetric.performance import OnProgress, Progress
from raremetric.selection import draw_rows
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.files import is_frame, naming
from raremetric.table.reading.labels import labeled
from raremetric.table.reading.tables import encoder_frame, find_target, iter_arrow
from raremetric.table.results import ranked_columns
from raremetric.validation import check_integer

SAME_POINT = 1e-7  # a smaller distance is zero except for rounding
MAX_EXACT = 6  # columns; with more, exact contributions take seconds per row
N_BACKGROUND = 12  # training rows that a row is compared with,
N_RANKED = 500  # evenly spaced among so many that are ranked by their score
N_PREDICTIONS = 45_000  # for importances; a model with neighbors takes 0.3 ms for each
MIN_MEASURED = 200  # rows
PER_CLASS = 2  # nearest examples to show
SEED = 0  # the same rows always get the same explanation
KNOWN_SHARE = 0.5  # of rows that are in the training data, from which importances are optimistic


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
    # The nearest of each class: id, class, distance and values by column; none if the model has no
    # neighbors.
    examples: list[dict[str, Any]]

    @property
    def unit(self) -> str:
        """The scale of the contributions in a sentence."""
        return "score" if self.scale == "decision function" else self.scale


def explain_rows(
    model: TableModel,
    X: Any,
    rows: Sequence[int] | None = None,
    *,
    on_row: Callable[[], None] = lambda: None,
) -> list[Explanation]:
    """Explain the decisions about the rows of a DataFrame, as `iter_table` reads them.

    ``rows`` are their numbers in the file, by default from 1.
    """
    found, encoded, training = model.classify(X), model.encoder.transform(X), _background(model)
    names = model.encoder.feature_names_in_.tolist()
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
                examples=_examples(model, encoded[[i]]),
            )
        )
        on_row()
    return explanations


def _background(model: TableModel) -> NDArray[np.float64]:
    """Training rows to compare with; with neighbors, which take time, a few of all scores."""
    if not model.has_neighbors:
        return model.X
    rows = np.random.RandomState(SEED).permutation(len(model.data))[:N_RANKED]
    some = model.encoder.transform(model.data.iloc[rows])
    order = np.argsort(model.decide(some)[1], kind="stable")
    return some[order[np.linspace(0, len(some) - 1, N_BACKGROUND).round().astype(np.int64)]]


def _examples(model: TableModel, encoded: NDArray) -> list[dict[str, Any]]:
    """The nearest training examples of each class to one encoded row; see `Explanation`.

    The distance is that of the metric with the largest weight.
    """
    if not model.has_neighbors:
        return []
    reason = model.classifier.explain(encoded)[0][model.classifier.ensemble_.main_member]
    sides = [reason["positive"], reason["negative"]]
    distances, nearest = (
        np.concatenate([side[key][:PER_CLASS] for side in sides]) for key in ("distances", "rows")
    )
    order = np.lexsort((nearest, distances))
    distances, nearest = distances[order], nearest[order]
    rows = model.data.iloc[nearest]
    return [
        {
            "id": model.ids.item(i),
            "class": model.class_names[model.y[i]],
            "distance": float(distance),
            "values": {name: _plain(rows[name].iloc[rank]) for name in rows},
        }
        for rank, (i, distance) in enumerate(zip(nearest, distances, strict=True))
    ]


def explain_row(model: TableModel, path: Any, row: int) -> Explanation:
    """Explain the decision about one row of a table.

    Parameters
    ----------
    model : TableModel
    path : str, Path, DataFrame or Arrow table
        A table with the columns of the model.
    row : int
        Number of the row, starting at 1.

    Returns
    -------
    Explanation
        With the fields ``predicted``, ``probability`` and ``threshold``; ``columns``, a list of
        dict with the ``column``, its ``value`` and its ``contribution`` to the score, the largest
        first; ``columns_exact``, whether the contributions are exact or sampled; ``examples``, the
        nearest training examples of each class under the metric with the largest weight, with their
        ``class``, ``values`` and ``distance``; and ``unlike``, the columns that are unlike the
        training data.
    """
    check_integer(row, "row", low=1)
    seen = 0
    for piece in iter_table(path, model.encoder, row_names=model.id_name):
        if row <= seen + len(piece):
            wanted = piece.iloc[[row - 1 - seen]]
            return explain_rows(model, wanted, [row])[0]
        seen += len(piece)
    source, what = ("The table", "it") if is_frame(path) else (path, "the file")
    raise TableError(f"{source}: there is no row {row}; {what} has {seen} rows.")


class FileImportances(NamedTuple):
    """Permutation importances of the columns, measured on a labeled file."""

    columns: list[dict[str, Any]]  # column, importance, std; the largest first
    baseline: float  # average precision with the unchanged columns, on all rows
    known_share: float  # share of the rows that are in the training data
    n_rows: int  # in the file
    n_measured: int  # rows whose values were permuted,
    n_measured_positive: int  # and the positive ones among them

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

    Of a large table, the values of some rows are permuted, so that a model with neighbors takes
    seconds: all positive rows, up to half of the sample, and others drawn at random, weighted as in
    the table. Their values are replaced by those of random rows of the whole table.

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
        Called after each permutation, with the number of finished steps and of all.

    Returns
    -------
    FileImportances
        With the fields ``columns``, a list of dict with the ``column``, its ``importance`` and the
        standard deviation ``std``, the largest first; ``baseline``, the average precision of all
        rows with the unchanged columns; and ``optimistic``, whether most rows are in the training
        data.
    """
    frame, y = labeled_rows_of(model, path, target)
    X, groups = model.encoder.transform(frame), model.encoder.column_groups()
    n_most = max(MIN_MEASURED, N_PREDICTIONS // (n_repeats * len(groups)))
    rows, rng = draw_rows(y == 1, n_most, SEED), np.random.RandomState(SEED)
    weights = (np.bincount(y) / np.bincount(y[rows]))[y[rows]]
    on_step = Progress(on_progress, 1 + n_repeats * len(groups))

    def precision(scores: NDArray) -> float:
        on_step()
        return float(average_precision_score(y[rows], scores, sample_weight=weights))

    def permuted(group: list[int]) -> NDArray[np.float64]:
        changed = X[rows]
        changed[:, group] = X[rng.permutation(len(X))[: len(rows)]][:, group]
        return model.decide(changed)[1]

    scores = model.decide(X)[1]
    decreases = precision(scores[rows]) - np.array(
        [[precision(permuted(group)) for _ in range(n_repeats)] for group in groups]
    )
    known = {row.tobytes() for row in model.X}
    return FileImportances(
        columns=ranked_columns(frame.columns, decreases.mean(axis=1), decreases.std(axis=1)),
        baseline=float(average_precision_score(y, scores)),
        known_share=float(np.mean([row.tobytes() in known for row in X])),
        n_rows=len(X),
        n_measured=len(rows),
        n_measured_positive=int(y[rows].sum()),
    )


def labeled_rows_of(model: TableModel, path: Any, target: str | None) -> tuple[Any, NDArray]:
    """The columns of a model as one DataFrame, and 1 for rows of the positive class."""
    target = model.target_name if target is None else target
    name, source = model.class_names[1], "The table" if is_frame(path) else path
    with naming(path):
        table = pa.concat_tables(iter_arrow(path, model.encoder.feature_names_in_[0]))
        find_target(table.column_names, target)
        table, labels, _ = labeled(table, target)
        frame = encoder_frame(table, model.encoder)
    positive = [name, *name.split(", ")]  # several classes can be positive together
    y = np.isin([str(each) for each in labels.classes], positive)[labels.codes].astype(np.int64)
    if not 0 < y.sum() < len(y):
        raise TableError(
            f"{source}: {int(y.sum())} of {len(y)} rows have the class {quoted(name)} in "
            f"column {target!r}; both classes are needed."
        )
    return frame, y


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
