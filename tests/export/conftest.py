"""Run exported models, and compare them with Python."""

import numpy as np
import onnx
import onnxruntime

from raremetric.export import to_onnx
from raremetric.export.graph import Graph, Tensor


def session(content):
    onnx.checker.check_model(content, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def run(model, X, **options):
    return session(to_onnx(model, **options)).run(None, {"X": X})


def run_tensor(build, X):
    """What a function of a tensor computes."""
    graph = Graph()
    outputs = {"found": (build(Tensor(graph, "X")), np.float64, [None, None])}
    return session(graph.serialize(X.shape[1], outputs, {})).run(None, {"X": X})[0]


def assert_same(model, X, atol=1e-9):
    """Equal labels and probabilities, for all rows at once and for single rows."""
    exported = session(to_onnx(model))
    label, p = exported.run(None, {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=atol)
    assert label.tolist() == model.predict(X).tolist()
    for row in range(min(3, len(X))):
        one_label, one_p = exported.run(None, {"X": X[row : row + 1]})
        np.testing.assert_allclose(one_p[0], p[row], rtol=0, atol=atol)
        assert one_label.tolist() == label[row : row + 1].tolist()
    return label, p
