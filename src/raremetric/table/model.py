"""TableModel: all that is needed to classify the rows of a file, and to say why."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from raremetric.classifier import MetricKNNClassifier
from raremetric.contenders import N_NEIGHBORS
from raremetric.datasets import TableEncoder, TableError, iter_table
from raremetric.datasets.tables import column_names
from raremetric.explain import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
)
from raremetric.table.decoding import column_groups, decode, sum_by_column
from raremetric.validation import check_integer

BLOCK = 2048  # rows decided at a time: the maps of RareClassifier make thousands of numbers a row


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
    n_metrics: int = 1  # how many decide; the neighbors are those of the one that counts most


class TableModel:
    """A classifier of the rows of a table: encoder, scaler, metric, neighbors, names, versions.

    Made by :func:`fit_table` or read from a file by :func:`load_model`.

    Attributes
    ----------
    method : str
        Name of the method.
    encoder : TableEncoder
        From raw columns to numbers.
    classifier : estimator
        Fitted on encoded numbers: a scaler and a classifier, or one that needs none.
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
    classifier: Any
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
        """How many neighbors vote; where a score decides, how many are shown."""
        return self._last.n_neighbors_ if self._counts_votes else N_NEIGHBORS

    @property
    def metric(self) -> Pipeline:
        """What distances are measured by; of several metrics, the one that counts most."""
        return self.classifier if self._ensemble is None else leading_metric(self._ensemble)

    @property
    def _ensemble(self) -> Any:
        return getattr(self.classifier, "ensemble_", None)

    @property
    def _last(self) -> Any:
        return self.classifier[-1] if isinstance(self.classifier, Pipeline) else self.classifier

    def predict(self, X: Any, first_row: int = 1) -> Predictions:
        """Classify rows.

        Parameters
        ----------
        X : DataFrame
            With the raw columns of the training file, in any order; others are ignored. If the
            model has an ``id_name``, an index of that name holds the names.
        first_row : int, default=1
            Number of the first row, for files read in pieces.
        """
        encoded = self.encoder.transform(X)
        positive, probability, neighbors, distances = self.decide(encoded)
        named = self.id_name is not None and X.index.name == self.id_name
        return Predictions(
            rows=np.arange(first_row, first_row + len(encoded)),
            names=X.index.tolist() if named else None,
            positive=positive,
            probability=probability,
            neighbors=neighbors,
            distances=distances,
        )

    def decide(self, encoded: NDArray) -> tuple[NDArray, NDArray, NDArray, NDArray]:
        """Of encoded rows: whether positive, with what probability, by which neighbors, how far."""
        blocks = [encoded[low : low + BLOCK] for low in range(0, max(len(encoded), 1), BLOCK)]
        parts = zip(*map(self._decide_block, blocks), strict=True)
        positive, probability, neighbors, distances = map(np.concatenate, parts)
        return positive, probability, neighbors, distances

    def _decide_block(self, encoded: NDArray) -> tuple[NDArray, ...]:
        distances, neighbors = self._kneighbors(encoded)
        if self._counts_votes:  # they are found already: no second search
            probability = self.y[neighbors].mean(axis=1)
            positive = probability > 0.5  # of equal votes, the first class wins
        else:
            probability = self.classifier.predict_proba(encoded)[:, 1]
            positive = self.classifier.predict(encoded) == 1
        return positive, probability, neighbors, distances

    @property
    def _counts_votes(self) -> bool:
        last = self._last
        return isinstance(last, MetricKNNClassifier) and last.vote == "majority"

    def predict_file(
        self, path: str | Path, *, block_bytes: int = 1 << 22
    ) -> Iterator[Predictions]:
        """Classify a file piece by piece, so that it may be larger than memory.

        Parameters
        ----------
        path : str or Path
            As for `read_table`; columns are found by name.
        block_bytes : int, default=4 MB
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
        exact = has_exact_split(self.metric)
        pair = (self.metric, encoded[0], self.X[nearest[0]])
        if exact:
            parts = sum_by_column(self.encoder, distance_contributions(*pair))
        else:
            parts = counterfactual_changes(*pair, groups=column_groups(self.encoder))
        return Explanation(
            row=row,
            predicted=self.class_names[int(self.classifier.predict(encoded)[0])],
            probability=float(self.classifier.predict_proba(encoded)[0, 1]),
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
            parts=parts,
            exact=exact,
            weights=self.weights(),
            n_metrics=len(ensemble.members) if (ensemble := self._ensemble) else 1,
        )

    def weights(self) -> dict[str, float]:
        """What the metric stretches: encoded feature → share, the largest first.

        Nothing for a metric behind a map that mixes the features.
        """
        if not has_exact_split(self.metric):
            return {}
        shares = feature_weights(self.metric)
        names = self.encoder.get_feature_names_out()
        return {str(names[j]): float(shares[j]) for j in np.argsort(-shares, kind="stable")}

    def _kneighbors(self, encoded: NDArray, k: int | None = None) -> tuple[NDArray, NDArray]:
        if isinstance(self.classifier, Pipeline):
            encoded = self.classifier[:-1].transform(encoded)
        return self._last.kneighbors(encoded, self.n_neighbors if k is None else k)


def leading_metric(ensemble: Any) -> Pipeline:
    """Of the metrics that decide in RareClassifier the one that counts most."""
    return ensemble.members[0].pipeline
