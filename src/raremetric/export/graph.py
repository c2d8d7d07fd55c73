"""ONNX graphs as expressions: operators are methods of tensors, and arrays become constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

ML = "ai.onnx.ml"  # the operators of classical machine learning
OPSETS = {"": 18, ML: 3}  # of onnxruntime 1.14 and later
IR_VERSION = 8  # the file format of these
MAX_BYTES = 2**31 - 2**24  # a file holds less than 2 GB; the rest is for the nodes
INTEGER, SINGLE, DOUBLE = TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE


class Graph:
    """The nodes and constants of a model.

    The same operator is applied to the same inputs only once, so that steps that several metrics
    share are computed once.
    """

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.n_bytes = 0  # of the constants
        self._known: dict[tuple, Any] = {}  # from what was added to its outputs
        self._n_names = 0

    def add(self, operator: str, *inputs: Any, n_outputs: int = 1, **attributes: Any) -> Any:
        """The output of an operator, or several; inputs are tensors, arrays or numbers."""
        names = [self.as_tensor(each).name for each in inputs]
        key = (operator, *names, *sorted(attributes.items()))
        if key not in self._known:
            outputs = [self._new_tensor() for _ in range(n_outputs)]
            named = [each.name for each in outputs]
            self.nodes.append(helper.make_node(operator, names, named, **attributes))
            self._known[key] = outputs[0] if n_outputs == 1 else outputs
        return self._known[key]

    def as_tensor(self, value: Any) -> Tensor:
        """A tensor as it is, or an array or a number as a constant."""
        if isinstance(value, Tensor):
            return value
        array = np.asarray(value)
        content = tuple(array.tolist()) if array.dtype.kind == "O" else array.tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._known:
            self._known[key] = self._new_tensor()
            self.constants.append(numpy_helper.from_array(array, self._known[key].name))
            self.n_bytes += array.nbytes
        return self._known[key]

    def _new_tensor(self) -> Tensor:
        self._n_names += 1
        return Tensor(self, f"t{self._n_names}")

    def serialize(
        self,
        n_features: int,
        outputs: Mapping[str, tuple[Tensor, Any, list]],
        metadata: Mapping[str, str],
    ) -> bytes:
        """The content of a file, for a model whose input is ``X``.

        Each output has a tensor, the type of its numbers, and its shape with None for the number
        of rows. The metadata are properties of the model.
        """
        if self.n_bytes > MAX_BYTES:
            raise ValueError(
                f"The examples of this model need {self.n_bytes / 1e9:.1f} GB, and an ONNX file "
                "can hold 2 GB. Fit the model on fewer rows: see max_samples of RareClassifier."
            )
        for name, (tensor, _, _) in outputs.items():
            self.nodes.append(helper.make_node("Identity", [tensor.name], [name]))
        graph = helper.make_graph(
            self.nodes,
            "raremetric",
            [_describe("X", np.float64, [None, n_features])],
            [_describe(name, kind, shape) for name, (_, kind, shape) in outputs.items()],
            self.constants,
        )
        model = helper.make_model(
            graph,
            producer_name="raremetric",
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid(*each) for each in OPSETS.items()],
        )
        helper.set_model_props(model, dict(metadata))
        return model.SerializeToString()


def _describe(name: str, kind: Any, shape: list) -> Any:
    return helper.make_tensor_value_info(
        name, helper.np_dtype_to_tensor_dtype(np.dtype(kind)), shape
    )


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """The method for an operator of Python."""
    return lambda tensor, other: tensor.graph.add(name, tensor, other)


class Tensor:
    """A value in a graph, with the operators of Python; those of ONNX are methods: ``x.Sqrt()``."""

    __array_ufunc__ = None  # an array on the left side lets the methods below decide

    def __init__(self, graph: Graph, name: str):
        self.graph, self.name = graph, name

    def __getattr__(self, operator: str) -> Callable[..., Any]:
        if not operator[0].isupper():
            raise AttributeError(operator)
        return partial(self.graph.add, operator, self)

    __add__, __sub__, __mul__, __truediv__, __matmul__ = map(
        _operator, ("Add", "Sub", "Mul", "Div", "MatMul")
    )
    __lt__, __le__, __gt__, __ge__ = map(
        _operator, ("Less", "LessOrEqual", "Greater", "GreaterOrEqual")
    )

    def __rsub__(self, other: Any) -> Tensor:
        return self.graph.add("Sub", other, self)

    def __neg__(self) -> Tensor:
        return self.Neg()

    def sum(self, axis: int, keepdims: bool = False) -> Tensor:
        """Sums along an axis."""
        return self.ReduceSum([axis], keepdims=int(keepdims))

    def columns(self, low: int, high: int) -> Tensor:
        """Columns ``low`` to ``high`` − 1 of a table."""
        return self.Slice([low], [high], [1])

    def smallest(self, k: int) -> tuple[Tensor, Tensor]:
        """The k smallest values of each row in order, and their columns; ties: lowest column."""
        return self.TopK([k], axis=1, largest=0, n_outputs=2)

    def scaled(self, factors: NDArray) -> Tensor:
        """Columns multiplied by factors.

        onnxruntime merges the multiplication by a single constant into a matrix product before or
        after it, and rounds the constant to single precision. Therefore a single column is
        multiplied by a matrix.
        """
        return self @ factors[:, np.newaxis] if len(factors) == 1 else self * factors

    def expit(self) -> Tensor:
        """1 / (1 + exp(−values)); the operator Sigmoid of onnxruntime has single precision."""
        return ((-self).Exp() + 1.0).Reciprocal()


def side_by_side(tables: Sequence[Tensor]) -> Tensor:
    """One table with the columns of all tables."""
    return tables[0].Concat(*tables[1:], axis=1)
