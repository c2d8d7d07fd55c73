"""How much a model depends on each column, measured on a labeled file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer

from raremetric.files import quoted
from raremetric.performance import OnProgress, Progress
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError
from raremetric.table.reading.files import is_frame, naming
from raremetric.table.reading.labels import read_labels
from raremetric.table.reading.pieces import encoder_frame, iter_arrow

SEED = 0  # the same file always gets the same importances
KNOWN_SHARE = 0.5  # of rows that are in the training data, from which importances are optimistic


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
        Called after each permutation, with the number of finished steps and of all.

    Returns
    -------
    FileImportances
        With the fields ``columns``, a list of dict with the ``column``, its ``importance`` and the
        standard deviation ``std``, the largest first; ``baseline``, the average precision on the
        unchanged table; and ``optimistic``, whether most rows are in the training data.
    """
    X, y = _labeled_rows(model, path, model.target_name if target is None else target)
    scorer = get_scorer("average_precision")
    on_step = Progress(on_progress, 1 + n_repeats * X.shape[1])

    def score(pipeline: Any, X: Any, y: NDArray) -> float:
        found = scorer(pipeline, X, y)
        on_step()
        return found

    baseline = scorer(model.pipeline, X, y)
    found = permutation_importance(
        model.pipeline, X, y, scoring=score, n_repeats=n_repeats, random_state=SEED
    )
    known = {row.tobytes() for row in model.X}
    return FileImportances(
        columns=ranked_columns(X.columns, found.importances_mean, found.importances_std),
        baseline=float(baseline),
        known_share=float(np.mean([row.tobytes() in known for row in model.encoder.transform(X)])),
        n_rows=len(X),
    )


def _labeled_rows(model: TableModel, path: Any, target: str) -> tuple[Any, NDArray]:
    """The columns of a model as one DataFrame, and 1 for rows of the positive class."""
    encoder, name = model.encoder, model.class_names[1]
    source = "The table" if is_frame(path) else path
    pieces: list[Any] = []
    chunks: list[Any] = []
    with naming(path):
        for table in iter_arrow(path, encoder.feature_names_in_[0], target=target):
            if target not in table.column_names:
                raise TableError(f"There is no column {target!r} with the class.")
            chunks += table.column(target).chunks
            pieces.append(encoder_frame(table, encoder, 1 + sum(map(len, pieces))))
        labels = read_labels(target, pa.chunked_array(chunks, table.column(target).type))
    positive = [name, *name.split(", ")]  # several classes can be positive together
    y = np.isin([str(each) for each in labels.classes], positive)[labels.codes].astype(np.int64)
    if not 0 < y.sum() < len(y):
        raise TableError(
            f"{source}: {int(y.sum())} of {len(y)} rows have the class {quoted(name)} in "
            f"column {target!r}; importances need both classes."
        )
    frame = pd.concat(pieces, ignore_index=True)
    kinds = zip(frame.columns, encoder.kinds_, strict=True)
    texts = [name for name, kind in kinds if kind not in ("number", "date")]
    return frame.astype(dict.fromkeys(texts, "category")), y  # the pieces had different levels


def ranked_columns(
    names: Sequence[str], importances: NDArray, spread: NDArray
) -> list[dict[str, Any]]:
    """The columns by their importance, the largest first."""
    return [
        {"column": str(names[j]), "importance": float(importances[j]), "std": float(spread[j])}
        for j in np.argsort(-importances, kind="stable")
    ]
