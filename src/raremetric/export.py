"""Export of fitted models to ONNX, for programs without Python."""

from __future__ import annotations

from typing import Any

from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from raremetric.classifier import MetricKNNClassifier
from raremetric.explain.distances import model_steps
from raremetric.extras import import_optional
from raremetric.learners.base import MetricLearner


def to_onnx(model: Any) -> bytes:
    """Convert a fitted metric, or nearest neighbors under one, to an ONNX model.

    .. versionadded:: 0.1

    Parameters
    ----------
    model : fitted metric learner, MetricKNNClassifier or Pipeline
        A classifier must have one metric and an unweighted majority vote. A pipeline may begin
        with any steps that skl2onnx supports, such as scalers.

    Returns
    -------
    bytes
        The content of a file, usually ``*.onnx``. Its input ``X`` has doubles of shape
        (n, n_features). The output of a learner is ``variable``, the projected points; those of a
        classifier are ``label`` and ``probabilities``.

    Raises
    ------
    ValueError
        If the model cannot be exported; the message says why.

    See Also
    --------
    MetricKNNClassifier : The classifier that can be exported.
    raremetric.table.save_model : Save a model of a table for use in Python.

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
    skl2onnx = import_optional("skl2onnx", "ONNX export")
    types = import_optional("skl2onnx.common.data_types", "ONNX export")
    plain = Pipeline([(f"step_{i}", step) for i, step in enumerate(_steps(model))])
    is_classifier = hasattr(plain[-1], "predict")
    options = {id(plain): {"zipmap": False}} if is_classifier else None
    n_features = plain[0].n_features_in_
    converted = skl2onnx.to_onnx(
        plain, initial_types=[("X", types.DoubleTensorType([None, n_features]))], options=options
    )
    return converted.SerializeToString()


def _steps(model: Any) -> list:
    """The same model as a list of estimators that skl2onnx supports."""
    return [each for step in model_steps(model) for each in _supported(step)]


def _supported(model: Any) -> list:
    check_is_fitted(model)
    if isinstance(model, MetricKNNClassifier):
        return _neighbor_steps(model)
    if isinstance(model, MetricLearner):
        # The same map X Lᵀ as an estimator that skl2onnx supports.
        linear = NeighborhoodComponentsAnalysis()
        linear.components_ = model.components_
        linear.n_features_in_ = model.n_features_in_
        return [linear]
    return [model]


def _neighbor_steps(model: MetricKNNClassifier) -> list:
    if len(model.learners_) > 1:
        raise ValueError(
            "A classifier with one metric for each class cannot be exported to ONNX. Use "
            "multiclass='joint'."
        )
    if model.vote != "majority":
        raise ValueError(
            "Only the majority vote can be exported to ONNX; this classifier has "
            f"vote={model.vote!r}."
        )
    examples = model._examples
    if examples.weights is not None:
        raise ValueError("A majority vote with sample weights cannot be exported to ONNX.")
    neighbors = KNeighborsClassifier(model.n_neighbors_, algorithm="brute")
    neighbors.fit(examples.searches[0].Z, model.classes_[examples.labels.codes])
    return [*_steps(model.metric_), neighbors]
