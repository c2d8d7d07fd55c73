"""The transformers before a metric, and the metric itself, as ONNX operators."""

from __future__ import annotations

from functools import reduce, singledispatch
from typing import Any

import numpy as np
from sklearn.preprocessing import QuantileTransformer, StandardScaler
from sklearn.utils.validation import check_is_fitted

from raremetric.explain.distances import model_steps
from raremetric.export.graph import ML, OPSET, OPSET_ML, Graph
from raremetric.extras import import_optional
from raremetric.features import BoostedLeaves, ImportanceWeights, KernelLandmarks
from raremetric.features.normal_scores import CLOSEST, NormalScores
from raremetric.features.selection import DifferingFeatures
from raremetric.learners.base import MetricLearner

BOUND = 1e-7  # from which QuantileTransformer treats a value as the smallest or largest one
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


def map_rows(graph: Graph, X: str, model: Any) -> str:
    """The rows after all transformers of a model, which may be a pipeline."""
    for step in model_steps(model):
        check_is_fitted(step)
        X = map_step(step, graph, X)
    return X


@singledispatch
def map_step(step: Any, graph: Graph, X: str) -> str:
    """The rows after one transformer; those of other libraries are converted by skl2onnx."""
    skl2onnx = import_optional("skl2onnx", "ONNX export")
    types = import_optional("skl2onnx.common.data_types", "ONNX export")
    try:
        converted = skl2onnx.to_onnx(
            step,
            initial_types=[("X", types.DoubleTensorType([None, step.n_features_in_]))],
            target_opset={"": OPSET, ML: OPSET_ML},
        )
    except (NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"{type(step).__name__} cannot be exported to ONNX: skl2onnx has no converter for it. "
            "Apply this step before the exported model, or use another one, such as "
            "StandardScaler."
        ) from error
    return graph.include(converted, X)


@map_step.register
def _(step: MetricLearner, graph: Graph, X: str) -> str:
    return graph.MatMul(X, step.components_.T)


@map_step.register
def _(step: StandardScaler, graph: Graph, X: str) -> str:
    X = graph.Sub(X, step.mean_) if step.with_mean else X
    return graph.scaled(X, 1 / step.scale_) if step.with_std else X


@map_step.register
def _(step: ImportanceWeights, graph: Graph, X: str) -> str:
    return graph.scaled(X, step.weights_)


@map_step.register
def _(step: DifferingFeatures, graph: Graph, X: str) -> str:
    return graph.Gather(X, np.flatnonzero(step.support_), axis=1)


@map_step.register
def _(step: KernelLandmarks, graph: Graph, X: str) -> str:
    differences = graph.Sub(graph.Unsqueeze(X, [1]), step.landmarks_[np.newaxis])
    if step.kernel == "laplacian":
        terms = graph.Abs(differences)
    else:
        terms = graph.Mul(differences, differences)
    distances = graph.ReduceSum(terms, [2], keepdims=0)  # (n_rows, n_landmarks)
    return graph.MatMul(graph.Exp(graph.Div(distances, -step.width_)), step.projection_)


@map_step.register
def _(step: BoostedLeaves, graph: Graph, X: str) -> str:
    trees = step.trees_
    number = np.repeat(np.arange(len(trees.root)), np.diff([*trees.root, len(trees.feature)]))
    node = np.arange(len(number))
    is_leaf = trees.feature < 0
    left = np.where(is_leaf, 0, trees.left)
    single = graph.Cast(graph.Div(X, step.units_), to=graph.onnx.TensorProto.FLOAT)
    values = graph.TreeEnsembleRegressor(
        single,
        domain=ML,
        n_targets=len(trees.root),
        nodes_treeids=tuple(number.tolist()),
        nodes_nodeids=tuple(node.tolist()),
        nodes_modes=tuple(np.where(is_leaf, "LEAF", "BRANCH_LT").tolist()),
        nodes_featureids=tuple(np.where(is_leaf, 0, trees.feature).tolist()),
        nodes_values=tuple(trees.threshold.tolist()),
        nodes_truenodeids=tuple(left.tolist()),
        nodes_falsenodeids=tuple(np.where(is_leaf, 0, left + 1).tolist()),
        nodes_missing_value_tracks_true=tuple(trees.missing_left.astype(int).tolist()),
        target_treeids=tuple(number[is_leaf].tolist()),
        target_nodeids=tuple(node[is_leaf].tolist()),
        target_ids=tuple(number[is_leaf].tolist()),
        target_weights=tuple(trees.value[is_leaf].tolist()),
    )
    return graph.Cast(values, to=graph.onnx.TensorProto.DOUBLE)


@map_step.register
def _(step: NormalScores, graph: Graph, X: str) -> str:
    return normal_quantile(graph, graph.Clip(_level(step, graph, X), CLOSEST, 1 - CLOSEST))


@map_step.register
def _(step: QuantileTransformer, graph: Graph, X: str) -> str:
    p = _level(step, graph, X)
    if step.output_distribution == "uniform":
        return p
    p = graph.Where(graph.Greater(graph.Add(X, BOUND), step.quantiles_[-1]), 1.0, p)
    p = graph.Where(graph.Less(graph.Sub(X, BOUND), step.quantiles_[0]), 0.0, p)
    return normal_quantile(graph, graph.Clip(p, CLOSEST, 1 - CLOSEST))


def _level(step: QuantileTransformer, graph: Graph, X: str) -> str:
    """The share of the training values of a feature that are below a value, interpolated."""
    quantiles = step.quantiles_  # (n_quantiles, n_features)
    levels = step.references_  # (n_quantiles,)
    last = len(levels) - 1
    column = graph.Unsqueeze(X, [1])  # (n_rows, 1, n_features)

    def count(comparison: str) -> str:
        """How many quantiles of each feature are below a value: (n_rows, n_features)."""
        below = graph.Cast(comparison, to=graph.onnx.TensorProto.INT64)
        return graph.ReduceSum(below, [1], keepdims=0)

    # The last quantile that is not greater, and the first that is not smaller. They are the ends
    # of an interval, or, if a value is equal to several quantiles, the last and first of these.
    low = graph.Sub(count(graph.LessOrEqual(quantiles[np.newaxis], column)), 1)
    low = graph.Clip(low, 0, last)
    high = graph.Clip(count(graph.Less(quantiles[np.newaxis], column)), 0, last)
    left, right = (graph.GatherElements(quantiles, each, axis=0) for each in (low, high))
    width = graph.Sub(right, left)
    share = graph.Where(graph.Greater(width, 0.0), graph.Div(graph.Sub(X, left), width), 0.5)
    start, end = (graph.Gather(levels, each) for each in (low, high))
    p = graph.Add(start, graph.Mul(share, graph.Sub(end, start)))
    p = graph.Where(graph.Equal(X, quantiles[-1]), 1.0, p)
    return graph.Where(graph.Equal(X, quantiles[0]), 0.0, p)


def normal_quantile(graph: Graph, p: str) -> str:
    """The inverse of the normal distribution function, for p from 1e-7 to 1 − 1e-7."""
    y = graph.Sub(p, 0.5)
    squares = graph.Mul(y, y)
    middle = graph.Add(y, graph.Mul(graph.Mul(y, squares), _fraction(graph, squares, MIDDLE)))
    middle = graph.Mul(middle, np.sqrt(2 * np.pi))
    outside = graph.Min(p, graph.Sub(1.0, p))
    r = graph.Sqrt(graph.Mul(graph.Log(outside), -2.0))
    z = graph.Reciprocal(r)
    tail = graph.Sub(graph.Mul(graph.Log(r), z), r)
    tail = graph.Add(tail, graph.Mul(z, _fraction(graph, z, TAIL)))
    tail = graph.Where(graph.Less(p, 0.5), tail, graph.Neg(tail))
    return graph.Where(graph.Greater(outside, np.exp(-2.0)), middle, tail)


def _fraction(graph: Graph, x: str, coefficients: tuple[tuple, tuple]) -> str:
    """A fraction of two polynomials, by Horner's rule."""
    numerator, denominator = (
        reduce(lambda value, c: graph.Add(graph.Mul(value, x), c), rest, first)
        for first, *rest in coefficients
    )
    return graph.Div(numerator, denominator)
