"""The nearest examples to each query, as ONNX operators."""

from __future__ import annotations

from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from raremetric.export.graph import Tensor
from raremetric.neighbors import NeighborSearch
from raremetric.scales import unit_of
from raremetric.validation import Labels

TINY = 1e-300  # more than is lost when squares underflow
FAR = 1e150  # largest coordinate, after scaling, whose square does not overflow
PRECISE = 2.0**25  # times the error of an estimate: from there on, it is precise enough


class Sorted(NamedTuple):
    """Sorted distances of each query to its nearest examples."""

    table: Tensor  # (n_queries, width)
    width: int


def nearest(
    queries: Tensor, Z: NDArray, k: int, unit: float, *, exact: bool = True
) -> tuple[Tensor, Tensor]:
    """Distances and row numbers of the k nearest examples, nearest first.

    Squared distances are estimated by a matrix product. Those that cancellation affects are then
    measured by differences: if `exact`, those of all examples that may be among the k nearest, so
    that equal distances are found equal; the lowest row number then comes first. Otherwise,
    estimates whose relative error is below 1e-8 are used as they are. The unit is about the size
    of the examples, see `unit_of_examples`.
    """
    Z = Z / unit
    queries = queries.scaled(np.full(Z.shape[1], 1 / unit)).Clip(-FAR, FAR)
    estimates, slack = _estimate(queries, Z, Z.mean(axis=0))
    if exact:
        kth, _ = estimates.TopK([k], axis=1, largest=0, sorted=0, n_outputs=2)
        limit = kth.ReduceMax([1], keepdims=1) + slack
    else:
        limit = slack * PRECISE
    squares, rows = _measure(queries, Z, estimates, limit).smallest(k)
    return squares.Sqrt() * unit, rows


def unit_of_examples(Z: NDArray) -> float:
    """A unit in which squares of distances between examples do not overflow."""
    return float(unit_of(np.abs(Z - Z.mean(axis=0)).max()))


def _estimate(queries: Tensor, Z: NDArray, center: NDArray) -> tuple[Tensor, Tensor]:
    """Squared distances as ‖q‖² + ‖z‖² − 2qᵀz, and how much rounding can change their order."""
    sizes = np.sum((Z - center) ** 2, axis=1)
    queries = queries - center
    size = (queries * queries).sum(1, keepdims=True)  # (n_queries, 1)
    # onnxruntime computes this table when it loads the model; in the file, Z is enough.
    centered = (queries.graph.as_tensor(Z) - center).Transpose()
    products = queries.scaled(np.full(Z.shape[1], -2.0)) @ centered
    # Twice what rounding can change in an inner product of this many terms.
    factor = (Z.shape[1] + 8) * 2.0**-51
    return products + sizes + size, (size + (sizes.max() + TINY)) * factor


def _measure(queries: Tensor, Z: NDArray, estimates: Tensor, limit: Tensor) -> Tensor:
    """Squared distances: by differences where the estimates are within the limit."""
    near = (estimates <= limit).NonZero()  # (2, n_pairs)
    query, example = (each.Squeeze([0]) for each in near.Split(axis=0, num_outputs=2, n_outputs=2))
    differences = queries.Gather(query) - queries.graph.as_tensor(Z).Gather(example)
    return estimates.ScatterND(near.Transpose(), (differences * differences).sum(1))


def nearest_of_each_class(
    queries: Tensor, search: NeighborSearch, k: int, *, exact: bool
) -> list[Sorted]:
    """Distances to the k nearest examples of each class, or to all if the class has fewer."""
    labels = cast(Labels, search.labels)  # fitted classifiers always have them
    found, unit = [], unit_of_examples(search.Z)
    for c in range(len(labels.classes)):
        Z = search.Z[labels.codes == c]
        width = min(k, len(Z))
        found.append(Sorted(nearest(queries, Z, width, unit, exact=exact)[0], width))
    return found
