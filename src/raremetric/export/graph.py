"""A small language for ONNX graphs: operators are called as methods, arrays become constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from raremetric.extras import import_optional

OPSET = 18  # of onnxruntime 1.14 and later
ML, OPSET_ML = "ai.onnx.ml", 3  # the operators of classical machine learning
IR_VERSION = 8  # the file format of this opset
MAX_BYTES = 2**31 - 2**24  # a file holds less than 2 GB; the rest is for the nodes


class Graph:
    """Nodes of an ONNX graph, added by calling an operator: ``graph.Add("a", 1.0)``.

    An input is the name of an earlier output, or an array or a number, which becomes a constant.
    A call returns the name of the output; with ``n_outputs``, a list of names. The same operator
    is applied to the same inputs only once, so that steps that several metrics share are computed
    once.
    """

    def __init__(self) -> None:
        self.onnx = import_optional("onnx", "ONNX export")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.domains = {"": OPSET}
        self._known: dict[tuple, Any] = {}  # from what was added to the names of its outputs
        self._n_names = self._n_bytes = 0

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if not operator[0].isupper():
            raise AttributeError(operator)
        return partial(self._add, operator)

    def _add(self, operator: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> Any:
        names = [each if isinstance(each, str) else self._constant(each) for each in inputs]
        key = (operator, *names, *sorted(attributes.items()))
        if key not in self._known:
            outputs = [self.new_name() for _ in range(n_outputs)]
            self.nodes.append(self.onnx.helper.make_node(operator, names, outputs, **attributes))
            if attributes.get("domain") == ML:
                self.domains[ML] = OPSET_ML
            self._known[key] = outputs[0] if n_outputs == 1 else outputs
        return self._known[key]

    def _constant(self, value: Any) -> str:
        array = np.asarray(value)
        key = (array.dtype.str, array.shape, array.tobytes())
        if array.dtype.kind == "O":
            key = (array.dtype.str, array.shape, *array.tolist())
        if key not in self._known:
            name = self.new_name()
            self.constants.append(self.onnx.numpy_helper.from_array(array, name))
            self._known[key] = name
            self._n_bytes += array.nbytes
        return self._known[key]

    def new_name(self) -> str:
        """A name that no other tensor has."""
        self._n_names += 1
        return f"t{self._n_names}"

    def columns(self, table: str, low: int, high: int) -> str:
        """Columns ``low`` to ``high`` − 1 of a table."""
        return self.Slice(table, [low], [high], [1])

    def smallest(self, table: str, k: int) -> tuple[str, str]:
        """The k smallest values of each row in order, and their columns; ties: lowest column."""
        values, columns = self.TopK(table, [k], axis=1, largest=0, n_outputs=2)
        return values, columns

    def scaled(self, table: str, factors: NDArray) -> str:
        """Columns multiplied by factors.

        onnxruntime merges the multiplication by a single constant into a matrix product before or
        after it, and rounds the constant to single precision. Therefore a single column is
        multiplied by a matrix.
        """
        if len(factors) == 1:
            return self.MatMul(table, factors[:, np.newaxis])
        return self.Mul(table, factors)

    def expit(self, values: str) -> str:
        """1 / (1 + exp(−values)); the operator Sigmoid of onnxruntime has single precision."""
        return self.Reciprocal(self.Add(self.Exp(self.Neg(values)), 1.0))

    def include(self, model: Any, X: str) -> str:
        """Add the nodes of another model with one input and one output; returns the output."""
        prefix = f"{self.new_name()}_"
        other = self.onnx.compose.add_prefix(model, prefix)
        (given,), (result,) = other.graph.input, other.graph.output
        self.nodes.append(self.onnx.helper.make_node("Identity", [X], [given.name]))
        self.nodes.extend(other.graph.node)
        self.constants.extend(other.graph.initializer)
        self.domains |= {each.domain: each.version for each in other.opset_import if each.domain}
        return self.Cast(result.name, to=self.onnx.TensorProto.DOUBLE)

    def serialize(
        self,
        n_features: int,
        outputs: Mapping[str, tuple[str, NDArray, list]],
        metadata: Mapping[str, str],
    ) -> bytes:
        """The content of a file, for a model whose input is ``X``.

        Parameters
        ----------
        n_features : int
            Number of columns of ``X``.
        outputs : mapping of str to (name, array, shape)
            For each output, the name of its tensor in the graph, an array of the same type, and
            its shape; the number of rows is ``None``.
        metadata : mapping of str to str
            Properties of the model.
        """
        if self._n_bytes > MAX_BYTES:
            raise ValueError(
                f"The examples of this model need {self._n_bytes / 1e9:.1f} GB, and an ONNX file "
                "can hold 2 GB. Fit the model on fewer rows: see max_samples of RareClassifier."
            )
        helper = self.onnx.helper
        for name, (tensor, _, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [tensor], [name]))
        graph = helper.make_graph(
            self.nodes,
            "raremetric",
            [self._info("X", np.zeros(0), [None, n_features])],
            [self._info(name, like, shape) for name, (_, like, shape) in outputs.items()],
            self.constants,
        )
        model = helper.make_model(
            graph,
            producer_name="raremetric",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(*each) for each in self.domains.items()],
        )
        helper.set_model_props(model, dict(metadata))
        return model.SerializeToString()

    def _info(self, name: str, like: NDArray, shape: list) -> Any:
        helper = self.onnx.helper
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(like).dtype)
        return helper.make_tensor_value_info(name, kind, shape)
