"""The nearest examples to each query, as ONNX operators."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from raremetric.export.graph import Graph
from raremetric.neighbors import NeighborSearch
from raremetric.scales import unit_of
from raremetric.validation import Labels

TINY = 1e-300  # more than is lost when squares underflow
FAR = 1e150  # largest coordinate, after scaling, whose square does not overflow
PRECISE = 2.0**25  # times the error of an estimate: from there on, it is precise enough


class Sorted(NamedTuple):
    """Sorted distances of each query to its nearest examples."""

    name: str  # of a tensor of shape (n_queries, width)
    width: int


def nearest(
    graph: Graph, queries: str, Z: NDArray, k: int, unit: float, *, exact: bool = True
) -> tuple[str, str]:
    """Distances and row numbers of the k nearest examples, nearest first.

    Squared distances are estimated by a matrix product. Those that cancellation affects are then
    measured by differences.

    Parameters
    ----------
    graph : Graph
    queries : str
        Name of a tensor of shape (n_queries, n_features).
    Z : ndarray of shape (n_examples, n_features)
    k : int
    unit : float
        About the size of the examples, see ``unit_of_examples``.
    exact : bool
        Whether to measure all examples that may be among the k nearest, so that equal distances
        are found equal; the lowest row number then comes first. Otherwise, estimates whose relative
        error is below 1e-8 are used as they are.
    """
    Z = Z / unit
    queries = graph.Clip(graph.scaled(queries, np.full(Z.shape[1], 1 / unit)), -FAR, FAR)
    estimates, slack = _estimate(graph, queries, Z, Z.mean(axis=0))
    if exact:
        kth, _ = graph.TopK(estimates, [k], axis=1, largest=0, sorted=0, n_outputs=2)
        limit = graph.Add(graph.ReduceMax(kth, [1], keepdims=1), slack)
    else:
        limit = graph.Mul(slack, PRECISE)
    squares, rows = graph.smallest(_measure(graph, queries, Z, estimates, limit), k)
    return graph.Mul(graph.Sqrt(squares), unit), rows


def unit_of_examples(Z: NDArray) -> float:
    """A unit in which squares of distances between examples do not overflow."""
    return float(unit_of(np.abs(Z - Z.mean(axis=0)).max()))


def _estimate(graph: Graph, queries: str, Z: NDArray, center: NDArray) -> tuple[str, str]:
    """Squared distances as ‖q‖² + ‖z‖² − 2qᵀz, and how much rounding can change their order."""
    sizes = np.sum((Z - center) ** 2, axis=1)
    queries = graph.Sub(queries, center)
    size = graph.ReduceSum(graph.Mul(queries, queries), [1], keepdims=1)  # (n_queries, 1)
    # onnxruntime computes this table when it loads the model; in the file, Z is enough.
    centered = graph.Transpose(graph.Sub(Z, center))
    products = graph.MatMul(graph.scaled(queries, np.full(Z.shape[1], -2.0)), centered)
    estimates = graph.Add(graph.Add(products, sizes), size)
    # Twice what rounding can change in an inner product of this many terms.
    factor = (Z.shape[1] + 8) * 2.0**-51
    return estimates, graph.Mul(graph.Add(size, sizes.max() + TINY), factor)


def _measure(graph: Graph, queries: str, Z: NDArray, estimates: str, limit: str) -> str:
    """Squared distances: by differences where the estimates are within the limit."""
    near = graph.NonZero(graph.LessOrEqual(estimates, limit))  # (2, n_pairs)
    query, example = graph.Split(near, axis=0, num_outputs=2, n_outputs=2)
    differences = graph.Sub(
        graph.Gather(queries, graph.Squeeze(query, [0])),
        graph.Gather(Z, graph.Squeeze(example, [0])),
    )
    squares = graph.ReduceSum(graph.Mul(differences, differences), [1], keepdims=0)
    return graph.ScatterND(estimates, graph.Transpose(near), squares)


def nearest_of_each_class(
    graph: Graph, queries: str, search: NeighborSearch, k: int, *, exact: bool
) -> list[Sorted]:
    """Distances to the k nearest examples of each class, or to all if the class has fewer."""
    labels = cast(Labels, search.labels)  # fitted classifiers always have them
    found, unit = [], unit_of_examples(search.Z)
    for c in range(len(labels.classes)):
        Z = search.Z[labels.codes == c]
        width = min(k, len(Z))
        found.append(Sorted(nearest(graph, queries, Z, width, unit, exact=exact)[0], width))
    return found
