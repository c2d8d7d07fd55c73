"""TableModel: a pipeline from raw columns to a decision, with a card beside it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.pipeline import Pipeline

from raremetric.encoding import TableEncoder
from raremetric.performance import one_blas_thread
from raremetric.rare import RareClassifier
from raremetric.scales import validate_rows
from raremetric.table.card import Column, Training
from raremetric.table.doubts import (
    FAR,
    count_doubts,
    describe_rows,
    find_doubts,
    summarize_columns,
)
from raremetric.table.predictions import BLOCK_BYTES, Predictions, output_tables
from raremetric.table.reading import iter_table
from raremetric.table.reading.tables import column_names
from raremetric.validation import check_real

BLOCK = 2048  # rows classified at a time: RareClassifier computes thousands of numbers per row
N_NEIGHBORS = 3  # neighbors to report


@dataclass(eq=False, repr=False)
class TableModel:
    """A classifier for the rows of a table: a pipeline, its training rows, and what is known of it.

    Created by :func:`fit_table`, or read from a file by :func:`load_model`.

    Parameters
    ----------
    pipeline : Pipeline
        From raw columns to a decision: a `TableEncoder` and a classifier, fitted on `data` and `y`.
        It takes a DataFrame with columns of the types of `data`, and its classes are 0 and 1. The
        tools of scikit-learn work on it, such as `permutation_importance` and `cross_val_score`.
    data : DataFrame of shape (n_samples, n_columns)
        The training examples as they were read, without the class.
    y : ndarray of shape (n_samples,)
        1 for the positive class, 0 otherwise.
    ids : ndarray of shape (n_samples,)
        Names of the training examples, as objects, or their row numbers, starting at 1.
    method : str
        Name of the method.
    id_name : str or None
        The column that the names were read from.
    target_name : str
        The column that contained the class.
    class_names : list of str
        Names of the classes 0 and 1.
    versions : dict
        Versions of raremetric and its dependencies when the model was fitted.
    scoring : str or list
        What was maximized: see `RareClassifier`.
    fixed_threshold : float or None
        Probability from which the positive class is predicted, if the user chose it.
    radius : float or None
        99th percentile of the distance from a training example to the nearest other one; None if
        the model has no neighbors.
    training : dict
        How the model was fitted, and the quality to expect: see `Training`.
    """

    pipeline: Pipeline
    data: pd.DataFrame
    y: NDArray[np.int64]
    ids: NDArray
    method: str
    id_name: str | None
    target_name: str
    class_names: list[str]
    versions: dict[str, str]
    scoring: Any = "f1"
    fixed_threshold: float | None = None
    radius: float | None = None
    training: Training = field(default_factory=dict)  # type: ignore[assignment]

    @property
    def encoder(self) -> TableEncoder:
        """The first step of the pipeline, which converts raw columns to numbers."""
        return self.pipeline[0]

    @property
    def classifier(self) -> Any:
        """The last step of the pipeline, a classifier of encoded rows."""
        return self.pipeline[-1]

    @property
    def classes_(self) -> NDArray:
        """The names of the classes, as `predict` returns them; the second one is positive."""
        return np.array(self.class_names, dtype=object)

    def __sklearn_tags__(self) -> Any:
        return self.pipeline.__sklearn_tags__()  # so that the scorers of scikit-learn take a model

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """The encoded training examples, computed from `data`."""
        return self.encoder.transform(self.data)

    @cached_property
    def columns(self) -> list[Column]:
        """What the training data holds in each column: see `summarize_columns`."""
        return summarize_columns(self.data)

    @property
    def has_neighbors(self) -> bool:
        """Whether the model decides by the distances to training examples."""
        return isinstance(self.classifier, RareClassifier)

    @property
    def threshold(self) -> float:
        """The positive class is predicted from this probability on."""
        if self.fixed_threshold is not None:
            return self.fixed_threshold
        return float(getattr(self.classifier, "threshold_", 0.5))

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of `classes_`, (n_rows, 2), for a table as `predict_table` takes it."""
        p = np.concatenate([found.probability for found in self.predict_file(X)])
        return np.column_stack([1 - p, p])

    def predict(self, X: Any) -> NDArray:
        """The name of the class of each row, (n_rows,), of a table as `predict_table` takes it."""
        positive = np.concatenate([found.positive for found in self.predict_file(X)])
        return self.classes_[positive.astype(np.int64)]

    def predict_table(
        self, X: Any, *, threshold: float | None = None, top: int | None = None
    ) -> Any:
        """Classify the rows of a table, with what the command ``raremetric predict`` writes.

        Parameters
        ----------
        X : DataFrame, Arrow table, str or Path
            A table of pandas, polars or Arrow, or a file as for `predict_file`. It contains the
            columns of the training data, in any order; other columns are ignored.
        threshold : float or None, default=None
            Predict the positive class from this probability on; None for `threshold`.
        top : int or None, default=None
            Predict the positive class for this number of rows, those with the highest probability,
            whatever it is. With a `threshold`, for at most this number, and only from it on.

        Returns
        -------
        pandas.DataFrame
            One row per row of `X`, with the columns of the command ``raremetric predict``: see
            `output_table`. The index of a pandas DataFrame is kept.
        """
        tables = output_tables(self, X, threshold=threshold, top=top)
        found = pd.concat([each.to_pandas() for each in tables], ignore_index=True)
        if isinstance(X, pd.DataFrame):
            found.index = X.index
        return found

    def classify(
        self, piece: Any, first_row: int = 1, threshold: float | None = None
    ) -> Predictions:
        """Classify the rows of a DataFrame that `iter_table` read, of which the first has a number.

        If the model has an ``id_name``, an index of that name contains the names of the rows.
        """
        n_rows = len(piece)
        positive, probability, neighbors, distances = self.decide(
            self.encoder.transform(piece) if n_rows else np.empty((0, 0)), threshold
        )
        doubts = find_doubts(self.columns, piece) if n_rows else {}
        if self.radius is not None and (distances[:, 0] > self.radius).any():
            doubts["", FAR] = distances[:, 0] > self.radius
        named = self.id_name is not None and piece.index.name == self.id_name
        return Predictions(
            rows=np.arange(first_row, first_row + n_rows),
            names=piece.index.tolist() if named else None,
            positive=positive,
            probability=probability,
            unlike=describe_rows(doubts, n_rows),
            neighbors=neighbors,
            distances=distances,
            doubts=count_doubts(doubts),
        )

    def decide(self, encoded: NDArray, threshold: float | None = None) -> tuple[NDArray, ...]:
        """Class, probability, neighbors and distances of encoded rows; see `Predictions`."""
        cut = self.threshold if threshold is None else threshold
        check_real(cut, "threshold", low=0, high=1)
        starts = range(0, len(encoded), BLOCK)
        blocks = [self._score_block(encoded[low : low + BLOCK]) for low in starts]
        shape = (0, N_NEIGHBORS * self.has_neighbors)  # of no rows
        blocks = blocks or [(np.empty(0), np.empty(shape), np.empty(shape, dtype=np.int64))]
        p, distances, neighbors = map(np.concatenate, zip(*blocks, strict=True))
        return p >= cut, p, neighbors, distances

    @one_blas_thread
    def _score_block(self, encoded: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        """Probabilities of the positive class, distances and neighbors."""
        if self.has_neighbors:
            rows = validate_rows(self.classifier, encoded, reset=False)
            found = self.classifier.ensemble_.log_odds_and_neighbors(rows, N_NEIGHBORS)
            return expit(found[0]), *found[1:]
        none = np.empty((len(encoded), 0))
        return self.classifier.predict_proba(encoded)[:, 1], none, none.astype(np.int64)

    def predict_file(
        self, path: Any, *, block_bytes: int = BLOCK_BYTES, threshold: float | None = None
    ) -> Iterator[Predictions]:
        """Classify the rows of a file in pieces; the file can be larger than memory.

        Parameters
        ----------
        path : str, Path or table
            A file or a table as for `read_table`. Columns are found by name.
        block_bytes : int, default=4 MB
            Size of a piece in bytes of a CSV file.
        threshold : float or None, default=None
            See `predict_table`.

        Yields
        ------
        Predictions
        """
        first_row = 1
        for piece in iter_table(
            path, self.encoder, block_bytes=block_bytes, row_names=self.id_name
        ):
            yield self.classify(piece, first_row, threshold)
            first_row += len(piece)

    def unused_columns(self, path: str | Path) -> list[str]:
        """Columns of a file that the model does not use."""
        known = [*self.encoder.feature_names_in_, self.target_name, self.id_name]
        return [name for name in column_names(path, str(known[0])) if name not in known]

    def examples(self) -> NDArray[np.int64]:
        """Rows of the training data that can be neighbors."""
        return self.classifier.ensemble_.rows if self.has_neighbors else np.arange(len(self.y))

    @property
    def n_settings(self) -> int:
        """Number of settings that the decision averages, as `fit` and `info` count them."""
        return len(self.classifier.ensemble_.weights) if self.has_neighbors else 1
