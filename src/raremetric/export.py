"""Fitted models for programs without Python: ONNX."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from raremetric.classifier import MetricKNNClassifier
from raremetric.learners.base import MetricLearner


def to_onnx(model: Any) -> bytes:
    """A fitted metric, or nearest neighbors under one, as an ONNX model.

    Parameters
    ----------
    model : fitted metric learner, MetricKNNClassifier or Pipeline
        The classifier with one metric and the majority vote. Before them, a pipeline may have any
        steps that skl2onnx knows, such as scalers.

    Returns
    -------
    bytes
        To be written to a file, usually ``*.onnx``. Its input ``X`` takes doubles of shape
        (n, n_features). A learner gives ``variable``, the projected points; a classifier gives
        ``label`` and ``probabilities``.

    Raises
    ------
    ValueError
        For what cannot be exported; the message says why.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from raremetric import IML, MetricKNNClassifier
    >>> from raremetric.export import to_onnx
    >>> X, y = load_wine(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), MetricKNNClassifier(IML())).fit(X, y)
    >>> isinstance(to_onnx(model), bytes)
    True
    """
    try:
        import skl2onnx
        from skl2onnx.common.data_types import DoubleTensorType
    except ImportError as error:
        raise ImportError(
            'ONNX export needs skl2onnx, which is not installed: pip install "raremetric[onnx]"'
        ) from error
    plain = Pipeline([(f"step_{i}", step) for i, step in enumerate(_steps(model))])
    is_classifier = hasattr(plain[-1], "predict")
    options = {id(plain): {"zipmap": False}} if is_classifier else None
    n_features = plain[0].n_features_in_
    converted = skl2onnx.to_onnx(
        plain, initial_types=[("X", DoubleTensorType([None, n_features]))], options=options
    )
    return converted.SerializeToString()


def _steps(model: Any) -> list:
    """The same model in estimators that skl2onnx knows."""
    if isinstance(model, Pipeline):
        kept = [step for _, step in model.steps if step not in (None, "passthrough")]
        return [each for step in kept for each in _steps(step)]
    if isinstance(model, MetricKNNClassifier):
        return _neighbor_steps(model)
    if isinstance(model, MetricLearner):
        check_is_fitted(model)
        # The same map under a name that skl2onnx knows: X Lᵀ.
        linear = NeighborhoodComponentsAnalysis()
        linear.components_ = model.components_
        linear.n_features_in_ = model.n_features_in_
        return [linear]
    check_is_fitted(model)
    return [model]


def _neighbor_steps(model: MetricKNNClassifier) -> list:
    check_is_fitted(model)
    if len(model.learners_) > 1:
        raise ValueError("A classifier with a metric for each class cannot be exported to ONNX.")
    if model.vote != "majority":
        raise ValueError(
            "Only the majority vote can be exported to ONNX; this classifier has "
            f"vote={model.vote!r}."
        )
    points, codes = model._indices[0]._fit_X, model._codes
    neighbors = KNeighborsClassifier(model.n_neighbors_, algorithm="brute")
    neighbors.fit(np.asarray(points), model.classes_[codes])
    return [*_steps(model.learner_), neighbors]
