"""Explain a decision by its neighbors: what each column contributes to the distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from raremetric.explain import counterfactual_changes, distance_contributions, has_exact_split
from raremetric.rare import RareClassifier
from raremetric.validation import check_integer

if TYPE_CHECKING:
    from raremetric.table.model import TableModel


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


def explain_decision(model: TableModel, X: Any, row: int, n_neighbors: int | None) -> Explanation:
    """Explain the decision about a DataFrame with one row."""
    if not model.has_neighbors:
        raise ValueError(
            f"The model {model.method!r} has no neighbors to explain its decisions by. Fit one "
            "that has, such as 'rare' or 'iml'."
        )
    encoded = model.encoder.transform(X)
    k = model.n_neighbors if n_neighbors is None else n_neighbors
    check_integer(k, "The number of neighbors", low=1, high=len(model.X))
    positive, probability, *_ = model.decide(encoded)
    distances, nearest = model._kneighbors(encoded, k)
    exact, last = has_exact_split(model.metric), model._last
    return Explanation(
        row=row,
        predicted=model.class_names[int(positive[0])],
        probability=float(probability[0]),
        neighbors=[
            {
                "id": model.ids.item(i),
                "class": model.class_names[model.y[i]],
                "distance": float(distance),
                "values": model.encoder.decode(model.X[i]),
            }
            for i, distance in zip(nearest[0], distances[0], strict=True)
        ],
        values=model.encoder.decode(encoded[0]),
        parts=_contributions(model, encoded[0], model.X[nearest[0]], exact),
        exact=exact,
        weights=model.weights(),
        n_metrics=len(last.ensemble_.metrics) if isinstance(last, RareClassifier) else 1,
    )


def _contributions(model: TableModel, row: NDArray, neighbors: NDArray, exact: bool) -> NDArray:
    """Contribution of each raw column to the squared distances, (n_neighbors, n_columns)."""
    groups = model.encoder.column_groups()
    if not exact:
        return counterfactual_changes(model.metric, row, neighbors, groups=groups)
    parts = distance_contributions(model.metric, row, neighbors)
    return np.column_stack([parts[:, group].sum(axis=1) for group in groups])
