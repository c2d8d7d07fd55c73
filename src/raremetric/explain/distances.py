"""Why two points are near, and which features the metric uses."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from raremetric.features import ImportanceWeights
from raremetric.learners.base import MetricLearner
from raremetric.metric import axis_shares

# Each output column depends on one input column only, so that the split remains exact.
COLUMNWISE = (
    ImportanceWeights,
    SelectorMixin,
    MaxAbsScaler,
    MinMaxScaler,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)


def distance_contributions(learner: BaseEstimator, a: ArrayLike, b: ArrayLike) -> NDArray:
    """How much each feature adds to the squared learned distance: an exact split of d²_M(a, b).

    Parameters
    ----------
    learner : fitted metric learner, classifier or Pipeline
        A learner such as :class:`raremetric.IML`; a classifier, of which ``metric_`` is explained
        (of a :class:`raremetric.RareClassifier`, the metric with the largest weight); or a
        pipeline of scalers that transform each column by itself and one of these.
    a, b : array-like of shape (n_features,) or (n_pairs, n_features)
        Two points, or the same number of points in both; a single point is compared with each
        point of the other.

    Returns
    -------
    ndarray of shape (n_features,) or (n_pairs, n_features)
        Contributions that sum to the squared distance. **They may be negative**: where two
        features are correlated under the metric, a difference in one can cancel a part of the
        difference in the other.

    See Also
    --------
    counterfactual_changes : For metrics after any transformation of the features.
    feature_weights : Which features the metric uses, over all pairs.
    plot_neighbors : Draw the contributions.

    Notes
    -----
    With δ = a − b (after the scalers), feature j contributes δ_j (M δ)_j, so that the sum is
    δᵀMδ = d²_M(a, b). After a transformation that mixes the features, such as a kernel map, there
    is no such split: see :func:`counterfactual_changes`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from raremetric import IML
    >>> from raremetric.explain import distance_contributions
    >>> X, y = load_wine(return_X_y=True)
    >>> model = IML().fit(X, y)
    >>> parts = distance_contributions(model, X[0], X[1])
    >>> bool(abs(parts.sum() - model.pair_distance(X[None, :2])[0] ** 2) < 1e-10)
    True
    """
    *scalers, metric = steps = _exact_steps(learner)
    a, b, single = _pairs(a, b, steps[0].n_features_in_)
    differences = _transform(scalers, a) - _transform(scalers, b)
    L = metric.components_
    parts = _of_all_features(differences * (differences @ L.T @ L), scalers)
    return parts[0] if single else parts


def feature_weights(learner: BaseEstimator) -> NDArray:
    """Weight of each feature in the metric: its share of the trace of M.

    Parameters
    ----------
    learner : fitted metric learner, classifier or Pipeline
        As for :func:`distance_contributions`.

    Returns
    -------
    ndarray of shape (n_features,)
        M_jj / trace(M); they sum to 1.

    See Also
    --------
    distance_contributions : What each feature adds to the distance of two points.

    Notes
    -----
    M_jj is the squared distance between two points that differ by one unit in feature j alone, in
    the units that the learner sees: standard deviations after a ``StandardScaler``. Without a
    scaler, the weights depend on the units of the features and cannot be compared. The weight of
    correlated features may be spread over them, or be concentrated on one of them.

    Examples
    --------
    >>> from raremetric import Euclidean
    >>> from raremetric.explain import feature_weights
    >>> feature_weights(Euclidean().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1]))
    array([0.5, 0.5])
    """
    *scalers, metric = _exact_steps(learner)
    return _of_all_features(axis_shares(metric.components_)[np.newaxis], scalers)[0]


def counterfactual_changes(
    transformer: BaseEstimator,
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: Sequence[Sequence[int]] | None = None,
) -> NDArray:
    """How much the squared distance would change if a feature of b were the same as in a.

    This works for any transformation, also where no exact split of the distance exists. Each
    change answers a question about one feature. The changes are **not parts of the distance** and
    do not sum to it.

    Parameters
    ----------
    transformer : fitted transformer, classifier or Pipeline
        A transformer, after which the distance is Euclidean; a classifier with a fitted
        ``metric_``; or a pipeline that ends in one of these.
    a, b : array-like of shape (n_features,) or (n_pairs, n_features)
        As for :func:`distance_contributions`.
    groups : sequence of sequences of int or None, default=None
        Features to make equal together, such as the 0/1 columns of one category; None for each
        feature by itself.

    Returns
    -------
    ndarray of shape (n_groups,) or (n_pairs, n_groups)
        d²(a, b with these features of a) − d²(a, b): negative where the points would be nearer.

    See Also
    --------
    distance_contributions : An exact split of the distance, where there is one.
    plot_neighbors : Draw the changes.

    Examples
    --------
    >>> import numpy as np
    >>> from raremetric import Euclidean
    >>> from raremetric.explain import counterfactual_changes
    >>> plain = Euclidean().fit(np.eye(3), [0, 1, 1])
    >>> counterfactual_changes(plain, [1.0, 2.0, 3.0], [1.0, 0.0, 4.0])
    array([ 0., -4., -1.])
    """
    steps = metric_steps(transformer)
    for step in steps:
        check_is_fitted(step)
    a, b, single = _pairs(a, b, steps[0].n_features_in_)
    target = _transform(steps, a)

    def squared_distance(points: NDArray) -> NDArray:
        return np.sum((target - _transform(steps, points)) ** 2, axis=1)

    before = squared_distance(b)
    groups = [[j] for j in range(b.shape[1])] if groups is None else groups
    changes = np.empty((len(b), len(groups)))
    for g, columns in enumerate(groups):
        equal = b.copy()
        equal[:, columns] = a[:, columns]
        changes[:, g] = squared_distance(equal) - before
    return changes[0] if single else changes


def has_exact_split(model: BaseEstimator) -> bool:
    """Whether :func:`distance_contributions` can split this model's distance."""
    *scalers, metric = metric_steps(model)
    return isinstance(metric, MetricLearner) and all(isinstance(s, COLUMNWISE) for s in scalers)


def model_steps(model: Any) -> list:
    """The estimators of a model in order, out of pipelines and frozen estimators."""
    if isinstance(model, Pipeline):
        steps = [step for _, step in model.steps if step not in (None, "passthrough")]
        return [each for step in steps for each in model_steps(step)]
    return model_steps(model.estimator) if isinstance(model, FrozenEstimator) else [model]


def metric_steps(model: Any) -> list:
    """The transformers that lead to the metric of a model: of a classifier, its ``metric_``."""
    found = []
    for step in model_steps(model):
        # Asking the type does not call a property, whose error says what to do instead.
        if hasattr(type(step), "metric_") or hasattr(step, "metric_"):
            found += metric_steps(step.metric_)
        elif hasattr(step, "transform"):
            found.append(step)
        else:
            raise TypeError(
                f"Cannot explain a {type(step).__name__}: it has no learned distance. Pass a "
                "fitted learner, a MetricKNNClassifier, or a pipeline that ends in one."
            )
    return found


def _exact_steps(model: Any) -> list:
    """The scalers and the metric of a model, in order, if its distance can be split exactly."""
    *scalers, metric = steps = metric_steps(model)
    if not has_exact_split(model):
        mixing = next((step for step in scalers if not isinstance(step, COLUMNWISE)), metric)
        raise ValueError(
            f"The distance has no exact split by features after {type(mixing).__name__}, which "
            "mixes the features. Use counterfactual_changes, which says what would change if a "
            "feature were equal."
        )
    check_is_fitted(metric)
    return steps


def _of_all_features(parts: NDArray, scalers: list) -> NDArray:
    """The parts of all features, of which those that were not selected have none."""
    for step in reversed(scalers):
        parts = step.inverse_transform(parts) if isinstance(step, SelectorMixin) else parts
    return parts


def _pairs(a: ArrayLike, b: ArrayLike, n_features: int) -> tuple[NDArray, NDArray, bool]:
    """Both as matrices of the same shape, and whether both were single points."""
    single = np.ndim(a) <= 1 and np.ndim(b) <= 1
    points = []
    for name, value in (("a", a), ("b", b)):
        matrix = check_array(np.atleast_2d(value), dtype=np.float64, input_name=name)
        if matrix.shape[1] != n_features:
            raise ValueError(
                f"{name} has {matrix.shape[1]} features, but the model was fitted on {n_features}."
            )
        points.append(matrix)
    n_a, n_b = map(len, points)
    if n_a != n_b and 1 not in (n_a, n_b):
        raise ValueError(
            f"a has {n_a} points and b has {n_b}: give the same number of both, or one of either."
        )
    a, b = np.broadcast_arrays(*points)
    return a, b, single


def _transform(steps: list, X: NDArray) -> NDArray:
    """Points after some steps; columns are taken by position, whatever names `fit` saw."""
    with quiet_names():
        for step in steps:
            X = np.asarray(step.transform(X), dtype=np.float64)
    return X


@contextmanager
def quiet_names() -> Iterator[None]:
    """Arrays without names may be passed to models that were fitted on names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        yield
