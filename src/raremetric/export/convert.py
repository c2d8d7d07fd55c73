"""A fitted model as the content of an ONNX file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from raremetric.classifier import MetricKNNClassifier
from raremetric.explain.distances import model_steps
from raremetric.export.classifiers import classify
from raremetric.export.graph import INTEGER, Graph, Tensor
from raremetric.export.maps import map_step
from raremetric.rare import RareClassifier
from raremetric.validation import check_real


def to_onnx(
    model: Any, *, threshold: float | None = None, feature_names: Sequence[str] | None = None
) -> bytes:
    """Convert a fitted metric or classifier of this package to an ONNX model.

    Parameters
    ----------
    model : fitted metric learner, MetricKNNClassifier, RareClassifier or Pipeline
        A MetricKNNClassifier has one metric, and the majority or the score vote. A pipeline ends in
        one of the others. Steps before it, and transformers that are used as learners, are of this
        package or ``StandardScaler``. Of a RareClassifier that was fitted on a data frame, ``X``
        are the rows that its ``encoder_`` has transformed.
    threshold : float or None, default=None
        For two classes: predict ``classes_[1]`` where its probability is at least this. None
        decides as ``predict`` does.
    feature_names : sequence of str or None, default=None
        Names of the columns of ``X``, which are saved as a property of the ONNX model; None uses
        the ``feature_names_in_`` of the model, if it has them.

    Returns
    -------
    bytes
        The content of a file, usually ``*.onnx``. Its input ``X`` has doubles of shape
        (n, n_features). The output of a learner is ``variable``, the projected points; those of a
        classifier are ``label`` and ``probabilities``. The properties ``classes`` and
        ``feature_names`` are lists in JSON.

    Raises
    ------
    ValueError
        If the model cannot be exported; the message says why.

    See Also
    --------
    raremetric.table.save_model : Save a model of a table for use in Python.

    Notes
    -----
    All numbers are doubles, and the nearest examples are found as in Python: candidates are chosen
    by a matrix product and measured by differences. Probabilities differ from those of
    ``predict_proba`` by rounding only. Examples at nearly equal distances may be ordered
    differently.

    The file contains the training examples as each metric maps them, 8 bytes for each coordinate:
    it reveals the training data, as the model itself does. Memory is proportional to the number of
    rows in a call times the number of examples, or times the number of landmarks and features;
    pass large tables in batches of some hundred rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from raremetric import GMML, MetricKNNClassifier
    >>> from raremetric.export import to_onnx
    >>> X, y = load_wine(return_X_y=True)
    >>> isinstance(to_onnx(MetricKNNClassifier(GMML()).fit(X, y)), bytes)
    True
    """
    *steps, last = model_steps(model)
    is_classifier = isinstance(last, MetricKNNClassifier | RareClassifier)
    if not is_classifier and (hasattr(last, "predict") or not hasattr(last, "transform")):
        of_table = hasattr(last, "classifier")
        raise ValueError(
            "to_onnx exports metric learners, MetricKNNClassifier, RareClassifier and pipelines "
            f"that end in one of these, but not {type(last).__name__}. "
            + (
                "Pass its classifier."
                if of_table
                else "Use skl2onnx for classifiers of scikit-learn."
            )
        )
    for step in (*steps, last):
        check_is_fitted(step)
    if (encoder := getattr(last, "encoder_", None)) is not None:
        if steps:
            raise ValueError(
                "A RareClassifier with an encoder cannot be exported after other steps. Fit it on "
                "arrays of numbers, or export it alone."
            )
        last = last.without_encoder()
        feature_names = encoder.get_feature_names_out() if feature_names is None else feature_names
    graph, properties = Graph(), {}
    X = Tensor(graph, "X")
    for step in steps:
        X = map_step(step, X)
    if is_classifier:
        outputs = _classifier_outputs(X, last, threshold)
        properties["classes"] = json.dumps(last.classes_.tolist())
    elif threshold is not None:
        raise ValueError(f"threshold is for classifiers; {type(last).__name__} has no classes.")
    else:
        outputs = {"variable": (map_step(last, X), np.float64, [None, None])}
    first = [*steps, last][0]
    names = getattr(first, "feature_names_in_", None) if feature_names is None else feature_names
    if names is not None:
        if len(names) != first.n_features_in_:
            raise ValueError(
                f"feature_names has {len(names)} names, but the model has "
                f"{first.n_features_in_} features."
            )
        properties["feature_names"] = json.dumps([str(name) for name in names])
    return graph.serialize(first.n_features_in_, outputs, properties)


def _classifier_outputs(
    X: Tensor, model: MetricKNNClassifier | RareClassifier, threshold: float | None
) -> dict[str, tuple[Tensor, Any, list]]:
    classes = _label_array(model.classes_)
    winners, p = classify(X, model)
    if threshold is not None:
        if len(classes) > 2:
            raise ValueError(
                f"threshold is for two classes; this model has {len(classes)}. Leave it None."
            )
        check_real(threshold, "threshold", low=0, high=1)
        winners = (p.Gather(1, axis=1) >= float(threshold)).Cast(to=INTEGER)
    return {
        "label": (X.graph.as_tensor(classes).Gather(winners), classes.dtype, [None]),
        "probabilities": (p, np.float64, [None, len(classes)]),
    }


def _label_array(classes: NDArray) -> NDArray:
    """Class labels as an array of a type that ONNX has."""
    kinds = {"i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_, "U": object}
    kind = classes.dtype.kind
    if kind == "O" and all(isinstance(label, str) for label in classes):
        return classes
    if kind not in kinds:
        raise ValueError(
            f"Class labels such as {classes[0]!r} cannot be exported to ONNX. Fit the model with "
            "numbers or text as labels."
        )
    return classes.astype(kinds[kind])
