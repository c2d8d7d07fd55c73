"""Names, labels and properties of exported models, and what cannot be exported."""

import json
import sys
from importlib import import_module

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from raremetric import GMML, Euclidean, MetricKNNClassifier
from raremetric.contenders.scored import AveragedClassifier
from raremetric.export import to_onnx
from raremetric.export.graph import Graph, Tensor
from raremetric.export.maps import map_rows
from tests.conftest import make_problem
from tests.export.conftest import run, session


def fitted(labels=(0, 1), **options):
    X, y = make_problem(1, n_samples=40)
    return MetricKNNClassifier(Euclidean(), 4, **options).fit(X, np.array(labels)[y]), X


def test_names_of_inputs_and_outputs():
    model, X = fitted()
    exported = session(to_onnx(model))
    assert [(each.name, each.type) for each in exported.get_inputs()] == [("X", "tensor(double)")]
    assert [each.name for each in exported.get_outputs()] == ["label", "probabilities"]
    learner = session(to_onnx(make_pipeline(StandardScaler(), GMML()).fit(X, model.predict(X))))
    assert [each.name for each in learner.get_outputs()] == ["variable"]


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ((3, 7), "int64"),
        (np.array([1, 2], dtype=np.uint8), "int64"),
        ((False, True), "bool"),
        ((0.0, 1.0), "float64"),
        (("no", "yes"), "object"),
        (np.array(["nein", "für"], dtype=object), "object"),
    ],
)
def test_types_of_labels(labels, kind):
    model, X = fitted(labels)
    label, _ = run(model, X)
    assert label.dtype == kind
    assert label.tolist() == model.predict(X).tolist()


def test_properties():
    model, X = fitted(("no", "yes"))
    properties = session(to_onnx(model, feature_names=["a", "b", "c"])).get_modelmeta()
    assert properties.producer_name == "raremetric"
    assert {name: json.loads(value) for name, value in properties.custom_metadata_map.items()} == {
        "classes": ["no", "yes"],
        "feature_names": ["a", "b", "c"],
    }
    pd = pytest.importorskip("pandas")
    scaler = StandardScaler().fit(pd.DataFrame(X, columns=["d", "e", "f"]))
    properties = session(to_onnx(make_pipeline(scaler, model))).get_modelmeta()
    assert json.loads(properties.custom_metadata_map["feature_names"]) == ["d", "e", "f"]
    with pytest.raises(ValueError, match="feature_names has 2 names, but the model has 3"):
        to_onnx(model, feature_names=["a", "b"])


@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.75, 1])
def test_threshold(threshold):
    model, X = fitted(("no", "yes"))
    label, p = run(model, X, threshold=threshold)
    assert label.tolist() == np.where(p[:, 1] >= threshold, "yes", "no").tolist()
    assert threshold in p[:, 1]


def test_threshold_is_for_two_classes():
    X, y = make_problem(0, n_classes=3)
    with pytest.raises(ValueError, match="threshold is for two classes; this model has 3"):
        to_onnx(MetricKNNClassifier(Euclidean()).fit(X, y), threshold=0.5)
    with pytest.raises(ValueError, match="threshold is for classifiers; Euclidean has no classes"):
        to_onnx(Euclidean().fit(X, y), threshold=0.5)
    with pytest.raises(ValueError, match="threshold == 2"):
        to_onnx(fitted()[0], threshold=2)


def test_steps_that_metrics_share_are_computed_once():
    X, y = make_problem(3, n_samples=60)
    scaler = StandardScaler().fit(X)
    learners = [GMML().fit(scaler.transform(X), y), Euclidean().fit(X, y)]
    rows = Tensor(Graph(), "X")
    for learner in learners:
        map_rows(rows, make_pipeline(scaler, learner))
    assert sum(node.input[0] == "X" for node in rows.graph.nodes) == 1


@pytest.mark.parametrize("model", [LogisticRegression(), AveragedClassifier(None, [])])
def test_other_classifiers(model):
    name = type(model).__name__
    for each in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(ValueError, match=f"but not {name}. Use skl2onnx for classifiers of"):
            to_onnx(each)


def test_a_model_of_a_table():
    class TableModel:
        classifier = fitted()[0]

    with pytest.raises(ValueError, match=r"but not TableModel\. Pass its classifier"):
        to_onnx(TableModel())


def test_not_fitted():
    with pytest.raises(NotFittedError):
        to_onnx(make_pipeline(StandardScaler(), Euclidean()))


def test_steps_that_cannot_be_exported():
    X, y = make_problem(0)
    model = make_pipeline(FunctionTransformer(np.tanh), Euclidean()).fit(X, y)
    with pytest.raises(ValueError, match="FunctionTransformer cannot be exported to ONNX: of"):
        to_onnx(model)


def test_labels_that_onnx_does_not_have():
    model, _ = fitted(np.array(["2024-01-01", "2024-01-02"], dtype="datetime64[D]").astype(bytes))
    with pytest.raises(ValueError, match=r"Class labels such as .*b'2024-01-01'.* cannot be exp"):
        to_onnx(model)


def test_too_many_examples():
    graph = Graph()
    graph.n_bytes = 2**31
    with pytest.raises(ValueError, match=r"an ONNX file can hold 2 GB\. Fit the model on fewer"):
        graph.serialize(1, {}, {})


def test_without_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    monkeypatch.delitem(sys.modules, "raremetric.export")
    with pytest.raises(ImportError, match=r"ONNX export needs onnx,.*pip install .\.\[onnx\]"):
        import_module("raremetric.export")
