"""How much a model depends on each column, measured on a labeled file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import get_scorer

from raremetric.files import existing_file, quoted
from raremetric.performance import OnProgress, Progress
from raremetric.table.model import TableModel
from raremetric.table.reading import TableError, iter_table
from raremetric.table.reading.files import arrow_table, is_frame, naming, read_arrow
from raremetric.table.reading.labels import read_labels

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
    X = _read(model, path)
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
    names = model.encoder.feature_names_in_
    return FileImportances(
        columns=[
            {
                "column": str(names[j]),
                "importance": float(found.importances_mean[j]),
                "std": float(found.importances_std[j]),
            }
            for j in np.argsort(-found.importances_mean, kind="stable")
        ],
        baseline=float(baseline),
        known_share=float(np.mean([row.tobytes() in known for row in model.encoder.transform(X)])),
        n_rows=len(X),
    )


def _read(model: TableModel, path: Any) -> Any:
    """The columns of a model, as one DataFrame."""
    frame = pd.concat(iter_table(path, model.encoder), ignore_index=True)
    kinds = zip(frame.columns, model.encoder.kinds_, strict=True)
    texts = [name for name, kind in kinds if kind not in ("number", "date")]
    return frame.astype(dict.fromkeys(texts, "category"))  # the pieces had different levels
