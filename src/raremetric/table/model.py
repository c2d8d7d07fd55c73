"""TableModel: everything that is needed to classify the rows of a file and to explain it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline, make_pipeline

from raremetric.classifier import MetricKNNClassifier
from raremetric.datasets import TableEncoder, TableError, iter_table
from raremetric.datasets.tables import column_names
from raremetric.explain import (
    counterfactual_changes,
    distance_contributions,
    feature_weights,
    has_exact_split,
)
from raremetric.explain.distances import model_steps
from raremetric.rare import RareClassifier
from raremetric.validation import check_integer

BLOCK = 2048  # rows classified at a time: RareClassifier computes thousands of numbers per row
N_NEIGHBORS = 3  # neighbors to report if the decision is not a vote of the nearest ones


class Predictions(NamedTuple):
    """Predictions for some rows, with the nearest training examples."""

    rows: NDArray[np.int64]  # (n,), numbers of the rows in the file, starting at 1
    names: list[str] | None  # names of the rows, if the model has an id_name
    positive: NDArray[np.bool_]  # (n,)
    probability: NDArray[np.float64]  # (n,), of the positive class
    neighbors: NDArray[np.int64]  # (n, k), rows of the training data, nearest first
    distances: NDArray[np.float64]  # (n, k)


class Explanation(NamedTuple):
    """The decision about one row, its neighbors, and what each column contributes."""

    row: int
    predicted: str
    probability: float
    neighbors: list[dict[str, Any]]  # id, class, distance, values (by column)
    values: dict[str, Any]  # of the row itself, by column
    parts: NDArray[np.float64]  # (k, n_columns), contributions to the squared distance
    exact: bool  # True: parts sum to the squared distance; False: see counterfactual_changes
    weights: dict[str, float]  # share of each encoded feature, largest first; empty if not exact
    n_metrics: int = 1  # metrics that are averaged; the neighbors belong to that of largest weight


@dataclass(eq=False, repr=False)
class TableModel:
    """A classifier for the rows of a table, with everything that is needed to use it later.

    Created by :func:`fit_table`, or read from a file by :func:`load_model`.

    Parameters
    ----------
    method : str
        Name of the method.
    encoder : TableEncoder
        Converts raw columns to numbers.
    classifier : estimator
        Classifier of encoded rows, fitted on `X` and `y`.
    X : ndarray of shape (n_samples, n_features)
        The encoded training examples.
    y : ndarray of shape (n_samples,)
        1 for the positive class, 0 otherwise.
    ids : ndarray of shape (n_samples,)
        Names of the training examples, or their row numbers, starting at 1.
    id_name : str or None
        The column that the names were read from.
    target_name : str
        The column that contained the class.
    class_names : list of str
        Names of the classes 0 and 1.
    versions : dict
        Versions of raremetric and its dependencies when the model was fitted.
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

    @property
    def n_neighbors(self) -> int:
        """Number of neighbors that vote, or that are reported if there is no such vote."""
        return self._last.n_neighbors_ if self._counts_votes else N_NEIGHBORS

    @property
    def metric(self) -> Pipeline | None:
        """The transformer that defines distances; of several metrics, that of largest weight."""
        return fitted_metric(self.classifier)

    @property
    def _last(self) -> Any:
        return self.classifier[-1] if isinstance(self.classifier, Pipeline) else self.classifier

    def predict(self, X: Any, first_row: int = 1) -> Predictions:
        """Classify the rows of a DataFrame.

        Parameters
        ----------
        X : DataFrame
            Contains the raw columns of the training file, in any order; other columns are
            ignored. If the model has an ``id_name``, an index of that name contains the names.
        first_row : int, default=1
            Number of the first row, for files that are read in pieces.
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
        """Class, probability, neighbors and distances of encoded rows; see `Predictions`."""
        blocks = [encoded[low : low + BLOCK] for low in range(0, max(len(encoded), 1), BLOCK)]
        parts = zip(*map(self._decide_block, blocks), strict=True)
        positive, probability, neighbors, distances = map(np.concatenate, parts)
        return positive, probability, neighbors, distances

    def _decide_block(self, encoded: NDArray) -> tuple[NDArray, ...]:
        distances, neighbors = self._kneighbors(encoded)
        if self._counts_votes:  # count the votes of these neighbors, without a second search
            probability = self.y[neighbors].mean(axis=1)
            positive = probability > 0.5  # a tie is decided for the negative class
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
        """Classify the rows of a file in pieces; the file can be larger than memory.

        Parameters
        ----------
        path : str or Path
            A file as for `read_table`. Columns are found by name.
        block_bytes : int, default=4 MB
            Size of a piece in bytes of a CSV file.

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
        """Columns of a file that the model does not use."""
        known = [*self.encoder.feature_names_in_, self.target_name, self.id_name]
        return [name for name in column_names(path, str(known[0])) if name not in known]

    def explain_file(
        self, path: str | Path, row: int, n_neighbors: int | None = None
    ) -> Explanation:
        """Explain the decision about one row of a file.

        Parameters
        ----------
        path : str or Path
            A file as for `predict_file`.
        row : int
            Number of the row, starting at 1 below the header.
        n_neighbors : int or None, default=None
            Number of neighbors to report; None for those that vote.
        """
        check_integer(row, "row", low=1)
        seen = 0
        for piece in iter_table(path, self.encoder):
            if row <= seen + len(piece):
                return self.explain(piece.iloc[[row - 1 - seen]], row, n_neighbors)
            seen += len(piece)
        raise TableError(f"{path}: there is no row {row}; the file has {seen} rows.")

    def explain(self, X: Any, row: int = 1, n_neighbors: int | None = None) -> Explanation:
        """Explain the decision about a DataFrame with one row."""
        encoded = self.encoder.transform(X)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        check_integer(k, "n_neighbors", low=1, high=len(self.X))
        distances, nearest = self._kneighbors(encoded, k)
        exact, last = has_exact_split(self.metric), self._last
        return Explanation(
            row=row,
            predicted=self.class_names[int(self.classifier.predict(encoded)[0])],
            probability=float(self.classifier.predict_proba(encoded)[0, 1]),
            neighbors=[
                {
                    "id": self.ids[i].item(),
                    "class": self.class_names[self.y[i]],
                    "distance": float(distance),
                    "values": self.encoder.decode(self.X[i]),
                }
                for i, distance in zip(nearest[0], distances[0], strict=True)
            ],
            values=self.encoder.decode(encoded[0]),
            parts=self._contributions(encoded[0], self.X[nearest[0]], exact),
            exact=exact,
            weights=self.weights(),
            n_metrics=len(last.ensemble_.metrics) if isinstance(last, RareClassifier) else 1,
        )

    def _contributions(self, row: NDArray, neighbors: NDArray, exact: bool) -> NDArray:
        """Contribution of each raw column to the squared distances, (n_neighbors, n_columns)."""
        groups = self.encoder.column_groups()
        if not exact:
            return counterfactual_changes(self.metric, row, neighbors, groups=groups)
        parts = distance_contributions(self.metric, row, neighbors)
        return np.column_stack([parts[:, group].sum(axis=1) for group in groups])

    def weights(self) -> dict[str, float]:
        """Share of each encoded feature in the diagonal of M, the largest first.

        Empty if there is a map before the metric that mixes the features.
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


def fitted_metric(classifier: Any) -> Pipeline | None:
    """The transformer from encoded rows to Euclidean distances; None if there is none.

    If the classifier averages several metrics, it is the one with the largest weight.
    """
    *steps, last = model_steps(classifier)
    metric = getattr(last, "metric_", None)
    return None if metric is None else make_pipeline(*steps, metric)
