"""The transformers before a metric, the metric itself and its neighbors, as ONNX operators."""

from __future__ import annotations

from functools import reduce, singledispatch
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from raremetric.explain.distances import model_steps
from raremetric.export.graph import DOUBLE, INTEGER, ML, SINGLE, Tensor
from raremetric.features import BoostedLeaves, ImportanceWeights, KernelLandmarks
from raremetric.features.ranks import CLOSEST, DifferingFeatures, NormalScores
from raremetric.learners.base import MetricLearner
from raremetric.neighbors import NeighborSearch
from raremetric.validation import Labels

TINY = 1e-300  # more than is lost when squares underflow
FAR = 1e150  # the squares of larger coordinates would overflow
PRECISE = 2.0**25  # times the error of an estimate: from there on, it is precise enough
# Coefficients of the inverse of the normal distribution in Cephes (S. L. Moshier), which SciPy
# uses: fractions for the middle and for the tails, the highest power first.
MIDDLE = (
    (-59.9633501014107895267, 98.0010754185999661536, -56.6762857469070293439,
     13.9312609387279679503, -1.23916583867381258016),
    (1.0, 1.95448858338141759834, 4.67627912898881538453, 86.3602421390890590575,
     -225.462687854119370527, 200.260212380060660359, -82.0372256168333339912,
     15.9056225126211695515, -1.18331621121330003142),
)  # fmt: skip
TAIL = (
    (4.05544892305962419923, 31.5251094599893866154, 57.1628192246421288162,
     44.0805073893200834700, 14.6849561928858024014, 2.18663306850790267539,
     -0.140256079171354495875, -0.0350424626827848203418, -8.57456785154685413611e-4),
    (1.0, 15.7799883256466749731, 45.3907635128879210584, 41.3172038254672030440,
     15.0425385692907503408, 2.50464946208309415979, -0.142182922854787788574,
     -0.0380806407691578277194, -9.33259480895457427372e-4),
)  # fmt: skip


def map_rows(X: Tensor, model: Any) -> Tensor:
    """The rows after all transformers of a model, which may be a pipeline."""
    for step in model_steps(model):
        X = map_step(step, X)
    return X


@singledispatch
def map_step(step: Any, X: Tensor) -> Tensor:
    """The rows after one transformer."""
    raise ValueError(
        f"{type(step).__name__} cannot be exported to ONNX: of scikit-learn's transformers, only "
        "StandardScaler can. Apply this step before the exported model, or use StandardScaler."
    )


@map_step.register
def _(step: MetricLearner, X: Tensor) -> Tensor:
    return X @ step.components_.T


@map_step.register
def _(step: StandardScaler, X: Tensor) -> Tensor:
    X = X - step.mean_ if step.with_mean else X
    return X.scaled(1 / step.scale_) if step.with_std else X


@map_step.register
def _(step: ImportanceWeights, X: Tensor) -> Tensor:
    return X.scaled(step.weights_)


@map_step.register
def _(step: DifferingFeatures, X: Tensor) -> Tensor:
    return X.Gather(np.flatnonzero(step.support_), axis=1)


@map_step.register
def _(step: KernelLandmarks, X: Tensor) -> Tensor:
    differences = X.Unsqueeze([1]) - step.landmarks_[np.newaxis]
    terms = differences.Abs() if step.kernel == "laplacian" else differences * differences
    distances = terms.sum(2)  # (n_rows, n_landmarks)
    return (distances / -step.width_).Exp() @ step.projection_


@map_step.register
def _(step: BoostedLeaves, X: Tensor) -> Tensor:
    trees = step.trees_
    number = np.repeat(np.arange(len(trees.root)), np.diff([*trees.root, len(trees.feature)]))
    node = np.arange(len(number))
    is_leaf = trees.feature < 0
    left = np.where(is_leaf, 0, trees.left)
    nodes: dict[str, Any] = {
        "treeids": number,
        "nodeids": node,
        "modes": np.where(is_leaf, "LEAF", "BRANCH_LT"),
        "featureids": np.where(is_leaf, 0, trees.feature),
        "values": trees.threshold,
        "truenodeids": left,
        "falsenodeids": np.where(is_leaf, 0, left + 1),
        "missing_value_tracks_true": trees.missing_left.astype(int),
    }
    targets: dict[str, Any] = {
        "treeids": number,
        "nodeids": node,
        "ids": number,
        "weights": trees.value,
    }
    attributes = {f"nodes_{name}": tuple(values.tolist()) for name, values in nodes.items()}
    attributes |= {
        f"target_{name}": tuple(values[is_leaf].tolist()) for name, values in targets.items()
    }
    single = X.Cast(to=SINGLE)
    values = single.TreeEnsembleRegressor(domain=ML, n_targets=len(trees.root), **attributes)
    return values.Cast(to=DOUBLE)


@map_step.register
def _(step: NormalScores, X: Tensor) -> Tensor:
    return normal_quantile(_level(step, X).Clip(CLOSEST, 1 - CLOSEST))


def _level(step: NormalScores, X: Tensor) -> Tensor:
    """The share of the training values of a feature that are below a value, interpolated."""
    quantiles = X.graph.as_tensor(step.quantiles_)  # (n_quantiles, n_features)
    levels = X.graph.as_tensor(step.references_)  # (n_quantiles,)
    last = len(step.references_) - 1
    column = X.Unsqueeze([1])  # (n_rows, 1, n_features)

    def count(comparison: Tensor) -> Tensor:
        """How many quantiles of each feature are below a value: (n_rows, n_features)."""
        return comparison.Cast(to=INTEGER).sum(1)

    # The last quantile that is not greater, and the first that is not smaller. They are the ends
    # of an interval, or, if a value is equal to several quantiles, the last and first of these.
    low = (count(column >= step.quantiles_[np.newaxis]) - 1).Clip(0, last)
    high = count(column > step.quantiles_[np.newaxis]).Clip(0, last)
    left, right = (quantiles.GatherElements(each, axis=0) for each in (low, high))
    width = right - left
    share = (width > 0.0).Where((X - left) / width, 0.5)
    start, end = levels.Gather(low), levels.Gather(high)
    p = start + share * (end - start)
    p = X.Equal(step.quantiles_[-1]).Where(1.0, p)
    return X.Equal(step.quantiles_[0]).Where(0.0, p)


def normal_quantile(p: Tensor) -> Tensor:
    """The inverse of the normal distribution function, for p from 1e-7 to 1 − 1e-7."""
    y = p - 0.5
    squares = y * y
    middle = (y + y * squares * _fraction(squares, MIDDLE)) * np.sqrt(2 * np.pi)
    outside = p.Min(1.0 - p)
    r = (outside.Log() * -2.0).Sqrt()
    z = r.Reciprocal()
    tail = r.Log() * z - r + z * _fraction(z, TAIL)
    tail = (p < 0.5).Where(tail, -tail)
    return (outside > np.exp(-2.0)).Where(middle, tail)


def _fraction(x: Tensor, coefficients: tuple[tuple, tuple]) -> Tensor:
    """A fraction of two polynomials, by Horner's rule."""
    numerator, denominator = (reduce(lambda value, c: x * value + c, each) for each in coefficients)
    return numerator / denominator


class Sorted(NamedTuple):
    """Sorted distances of each query to its nearest examples."""

    table: Tensor  # (n_queries, width)
    width: int


def nearest(queries: Tensor, Z: NDArray, k: int, *, exact: bool = True) -> tuple[Tensor, Tensor]:
    """Distances and row numbers of the k nearest examples, nearest first.

    Squared distances are estimated by a matrix product. Those that cancellation affects are then
    measured by differences: if `exact`, those of all examples that may be among the k nearest, so
    that equal distances are found equal; the lowest row number then comes first. Otherwise,
    estimates whose relative error is below 1e-8 are used as they are.
    """
    queries = queries.Clip(-FAR, FAR)
    estimates, slack = _estimate(queries, Z, Z.mean(axis=0))
    if exact:
        kth, _ = estimates.TopK([k], axis=1, largest=0, sorted=0, n_outputs=2)
        limit = kth.ReduceMax([1], keepdims=1) + slack
    else:
        limit = slack * PRECISE
    squares, rows = _measure(queries, Z, estimates, limit).smallest(k)
    return squares.Sqrt(), rows


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
    queries: Tensor, search: NeighborSearch, k: int, *, n_classes: int | None = None
) -> list[Sorted]:
    """Distances to the k nearest of each of the first classes, or to all if it has fewer."""
    labels = cast(Labels, search.labels)  # fitted classifiers always have them
    found = []
    for c in range(len(labels.classes[:n_classes])):
        Z = search.Z[labels.codes == c]
        width = min(k, len(Z))
        found.append(Sorted(nearest(queries, Z, width, exact=False)[0], width))
    return found
