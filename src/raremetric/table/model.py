"""TableModel: all that is needed to classify the rows of a file, and to say why."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

from raremetric.datasets import TableEncoder, TableError, iter_table, read_table
from raremetric.datasets.tables import column_names
from raremetric.explain import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
)
from raremetric.study.run_task import versions
from raremetric.table.decoding import decode, largest_by_column, sum_by_column
from raremetric.table.extras import need
from raremetric.table.methods import METHODS, Setting
from raremetric.validation import check_integer, check_option


class Predictions(NamedTuple):
    """What a model says of some rows."""

    rows: NDArray[np.int64]  # (n,), numbers of the rows in the file, from 1 on
    names: list[str] | None  # their names, where the model was fitted with such a column
    positive: NDArray[np.bool_]  # (n,)
    probability: NDArray[np.float64]  # (n,), of the positive class
    neighbors: NDArray[np.int64]  # (n, k), rows of the training data, nearest first
    distances: NDArray[np.float64]  # (n, k)


class Explanation(NamedTuple):
    """Why a row is classified as it is."""

    row: int
    predicted: str
    probability: float
    neighbors: list[dict[str, Any]]  # id, class, distance, values (by column)
    values: dict[str, Any]  # of the row itself, by column
    parts: NDArray[np.float64]  # (k, n_columns)
    exact: bool  # whether parts sum to the squared distance; else they are changes
    weights: dict[str, float]  # by encoded feature, largest first; empty if not exact


class TableModel:
    """A classifier of the rows of a table: encoder, scaler, metric, neighbors, names, versions.

    Made by :func:`fit_table` or read from a file by :func:`load_model`.

    Attributes
    ----------
    method : str
        Name of the method.
    encoder : TableEncoder
        From raw columns to numbers.
    classifier : Pipeline
        Scaler and classifier, fitted.
    X : ndarray of shape (n_samples, n_features)
        The encoded examples.
    y : ndarray of shape (n_samples,)
        1 for the positive class.
    ids : ndarray of shape (n_samples,)
        Names of the examples: from the file, or their numbers from 1 on.
    id_name : str or None
        The column that the names came from.
    target_name : str
        The column with the class.
    class_names : list of str
        What 0 and 1 stand for.
    versions : dict
        Of raremetric and of what it stands on, when the model was fitted.
    """

    method: str
    encoder: TableEncoder
    classifier: Pipeline
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    ids: NDArray
    id_name: str | None
    target_name: str
    class_names: list[str]
    versions: dict[str, str]

    def __init__(self, **parts: Any):
        vars(self).update(parts)

    @property
    def n_neighbors(self) -> int:
        """How many neighbors decide."""
        return self._last.n_neighbors

    @property
    def _last(self) -> Any:
        return self.classifier[-1]

    def predict(self, X: Any, first_row: int = 1) -> Predictions:
        """Classify rows.

        Parameters
        ----------
        X : DataFrame
            With the raw columns of the training file, in any order; others are ignored. If the
            model has an ``id_name``, its index holds the names.
        first_row : int, default=1
            Number of the first row, for files read in pieces.
        """
        encoded = self.encoder.transform(X)
        scores = self.classifier.predict_proba(encoded)[:, 1]
        distances, neighbors = self._kneighbors(encoded)
        named = self.id_name is not None and X.index.dtype == object
        return Predictions(
            rows=np.arange(first_row, first_row + len(encoded)),
            names=X.index.tolist() if named else None,
            positive=self.classifier.predict(encoded) == 1,
            probability=scores,
            neighbors=neighbors,
            distances=distances,
        )

    def predict_file(
        self, path: str | Path, *, block_bytes: int = 1 << 24
    ) -> Iterator[Predictions]:
        """Classify a file piece by piece, so that it may be larger than memory.

        Parameters
        ----------
        path : str or Path
            As for `read_table`; columns are found by name.
        block_bytes : int, default=16 MB
            Bytes of a CSV file to a piece.

        Yields
        ------
        Predictions
        """
        first_row = 1
        for piece in iter_table(
            path, self.encoder, block_bytes=block_bytes, row_names=self.id_name
        ):
            yield self.predict(piece, first_row)
            first_row += len(piece)

    def unused_columns(self, path: str | Path) -> list[str]:
        """Columns of a file that the model does not look at."""
        known = [*self.encoder.feature_names_in_, self.target_name, self.id_name]
        return [name for name in column_names(path, str(known[0])) if name not in known]

    def explain_file(
        self, path: str | Path, row: int, n_neighbors: int | None = None
    ) -> Explanation:
        """Explain the decision about one row of a file.

        Parameters
        ----------
        path : str or Path
            As for `predict_file`.
        row : int
            Its number, from 1 on; a header does not count.
        n_neighbors : int or None, default=None
            How many neighbors to show; None for those that decide.
        """
        check_integer(row, "row", low=1)
        seen = 0
        for piece in iter_table(path, self.encoder):
            if row <= seen + len(piece):
                return self.explain(piece.iloc[[row - 1 - seen]], row, n_neighbors)
            seen += len(piece)
        raise TableError(f"{path}: there is no row {row}, only {seen}.")

    def explain(self, X: Any, row: int = 1, n_neighbors: int | None = None) -> Explanation:
        """Explain the decision about a DataFrame of one row."""
        encoded = self.encoder.transform(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_integer(k, "n_neighbors", low=1, high=len(self.X))
        distances, nearest = self._kneighbors(encoded, k)
        model, exact = self.classifier, has_exact_split(self.classifier)
        split = distance_contributions if exact else counterfactual_changes
        parts = split(model, encoded[0], self.X[nearest[0]])
        by_column = sum_by_column if exact else largest_by_column
        return Explanation(
            row=row,
            predicted=self.class_names[int(model.predict(encoded)[0])],
            probability=float(model.predict_proba(encoded)[0, 1]),
            neighbors=[
                {
                    "id": self.ids[i].item(),
                    "class": self.class_names[self.y[i]],
                    "distance": float(distance),
                    "values": decode(self.encoder, self.X[i]),
                }
                for i, distance in zip(nearest[0], distances[0], strict=True)
            ],
            values=decode(self.encoder, encoded[0]),
            parts=by_column(self.encoder, parts),
            exact=exact,
            weights=self.weights() if exact else {},
        )

    def weights(self) -> dict[str, float]:
        """What the metric stretches: encoded feature → share, the largest first."""
        shares = feature_weights(self.classifier)
        names = self.encoder.get_feature_names_out()
        return {str(names[j]): float(shares[j]) for j in np.argsort(-shares, kind="stable")}

    def _kneighbors(self, encoded: NDArray, k: int | None = None) -> tuple[NDArray, NDArray]:
        return self._last.kneighbors(self.classifier[:-1].transform(encoded), k)


def fit_table(
    path: str | Path,
    target: str | int | None = None,
    positive: Any = None,
    *,
    method: str = "iml",
    row_names: str | None = None,
    seed: int = 0,
    categorical: Collection[str] = (),
    ignore: Collection[str] = (),
) -> TableModel:
    """Read a file, encode, scale, tune and fit.

    Parameters
    ----------
    path, target, positive, categorical, ignore
        As for `raremetric.datasets.read_table`.
    method : str, default="iml"
        One of those that decide by neighbors: "plain", "iml", "lmnn", "itml", "gmml".
    row_names : str or None, default=None
        Column that names the examples; None to number them.
    seed : int, default=0
        For the folds of the tuning and the draw of candidates.

    Returns
    -------
    TableModel
        Fitted on all rows.
    """
    allowed = [name for name, each in METHODS.items() if each.has_neighbors]
    check_option(method, "model", allowed)
    table = read_table(
        path, target, positive, categorical=categorical, ignore=ignore, row_names=row_names
    )
    X = table.encoder.transform(table.data)
    setting = Setting(n_folds=n_folds_for(table.target), seed=seed)
    fitted = fit_quietly(METHODS[method].build(setting), X, table.target)
    ids = np.arange(1, len(X) + 1) if table.row_names is None else np.array(table.row_names)
    return TableModel(
        method=method,
        encoder=table.encoder,
        classifier=_slim(fitted.best_estimator_ if isinstance(fitted, GridSearchCV) else fitted),
        X=X,
        y=table.target,
        ids=ids,
        id_name=row_names,
        target_name=table.target_name,
        class_names=class_names(table),
        versions=versions(),
    )


def _slim(model: Pipeline) -> Pipeline:
    """Without what only tuning and fitting needed: other candidates, pairs."""
    last = model[-1]
    learner = getattr(last.learner_, "best_learner_", last.learner_)
    vars(learner).pop("pair_sets_", None)
    last.learner, last.learner_, last.learners_ = clone(learner), learner, [learner]
    return model


def fit_quietly(model: Any, X: NDArray, y: NDArray) -> Any:
    """Fit a searched model: candidates that are cut short are judged as they are.

    On one thread: the many small fits of a search are slowed down by more, several times over.
    """
    with need("threadpoolctl").threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", ".* wants n_neighbors", UserWarning)
        return model.fit(X, y)


def n_folds_for(y: NDArray, most: int = 5) -> int:
    """As many folds as the rare class has examples, at most `most`."""
    n_rare = int(np.bincount(y).min())
    if n_rare < 4:
        raise ValueError(
            f"The rare class has {n_rare} examples; at least 4 are needed to tune and to learn."
        )
    return min(most, n_rare // 2)


def class_names(table: Any) -> list[str]:
    """What 0 and 1 stand for; several classes together are called by what they are not."""
    other, positive = table.target_names
    n_other = len(table.classes) - len(table.positive)
    return [str(other) if n_other == 1 else f"not {positive}", str(positive)]
