"""Build an ONNX graph: nodes in the order they are added, shared constants, and sets of ellipsoids looked up."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray
from sepc.model.membership import pack_sets

if TYPE_CHECKING:
    from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto


# The name of a tensor in the graph.
Value = str

# The first version in which reductions take their axes as inputs; ONNX Runtime has supported it since 1.14.
OPSET = 18
IR_VERSION = 8

# ONNX Runtime removes nodes with these constants, even if they are off by 1e-9.
NEUTRAL = {"Add": 0.0, "Sub": 0.0, "Mul": 1.0, "Div": 1.0}
NEARLY = 1e-3


def onnx_package() -> ModuleType:
    """The package `onnx`, or an error that says how to install it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("Exporting needs the package onnx: pip install sepc[onnx]") from error
    return onnx


class Graph:
    """A graph being built. A call adds a node and returns its output: ``graph("Add", "X", 1.0)``."""

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._onnx = onnx_package()
        self._nodes: list[NodeProto] = []
        self._constants: dict[tuple[str, tuple[int, ...], bytes], TensorProto] = {}
        self._taken = set(taken)
        self._n_names = 0

    def __call__(self, operator: str, *inputs: Value | ArrayLike, **attributes: Any) -> Value:
        """Add a node and return its output."""
        if operator in NEUTRAL and not isinstance(inputs[1], str) and _is_nearly(inputs[1], NEUTRAL[operator]):
            return self._kept(operator, str(inputs[0]), float(np.asarray(inputs[1]).item()))
        names = [given if isinstance(given, str) else self._constant(np.asarray(given)) for given in inputs]
        self._n_names += 1
        output = self._free("v", self._n_names)
        self._nodes.append(self._onnx.helper.make_node(operator, names, [output], **attributes))
        return output

    def _kept(self, operator: str, value: Value, constant: float) -> Value:
        """A node whose constant is nearly neutral, written so that ONNX Runtime does not remove it."""
        if operator in ("Add", "Sub"):
            return self("Sum", value, constant if operator == "Add" else -constant)
        # Scaling by a power of two is exact.
        return self("Mul", self(operator, value, 4.0 * constant), 0.25 if operator == "Mul" else 4.0)

    def cast(self, value: Value, kind: str) -> Value:
        """The value as a tensor of another type, named as in `onnx.TensorProto`."""
        return self("Cast", value, to=self._kind(kind))

    def total(self, value: Value, axis: int, keepdims: bool = False) -> Value:
        """Sum over an axis."""
        return self("ReduceSum", value, [axis], keepdims=int(keepdims))

    def finished(
        self, inputs: Sequence[ValueInfoProto], outputs: dict[str, tuple[Value, ValueInfoProto]]
    ) -> GraphProto:
        """The finished graph, with named outputs and without unused nodes."""
        for name, (value, _) in outputs.items():
            self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        nodes = _needed(self._nodes, set(outputs))
        used = {name for node in nodes for name in node.input}
        constants = [constant for constant in self._constants.values() if constant.name in used]
        infos = [info for _, info in outputs.values()]
        graph: GraphProto = self._onnx.helper.make_graph(nodes, "sepc", inputs, infos, constants)
        return graph

    def _constant(self, array: Any) -> Value:
        text = array.dtype.kind in "UO"
        stored = np.asarray([str(label).encode() for label in array.ravel()], dtype=object) if text else array
        content = b"\0".join(stored) if text else np.ascontiguousarray(array).tobytes()
        key = (array.dtype.str, array.shape, content)
        if key not in self._constants:
            name = self._free("c", len(self._constants))
            if text:
                tensor = self._onnx.helper.make_tensor(name, self._kind("STRING"), array.shape, stored.tolist())
            else:
                tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape), name)
            self._constants[key] = tensor
        return self._constants[key].name

    def _kind(self, name: str) -> int:
        return int(getattr(self._onnx.TensorProto, name))

    def _free(self, letter: str, number: int) -> Value:
        """A name for a value: the letter once, or repeated if an input has that name."""
        name = f"{letter}{number}"
        while name in self._taken:
            name = letter + name
        return name


def _is_nearly(constant: ArrayLike, neutral: float) -> bool:
    array = np.asarray(constant)
    return array.dtype == np.float64 and array.size == 1 and 0.0 < abs(array.item() - neutral) < NEARLY


def _needed(nodes: Sequence[NodeProto], wanted: set[str]) -> list[NodeProto]:
    """The nodes that the wanted values depend on, in their order."""
    kept = []
    for node in reversed(nodes):
        if not wanted.isdisjoint(node.output):
            kept.append(node)
            wanted = wanted.union(node.input)
    return kept[::-1]


def find(graph: Graph, memberships: Value, sets: BoolArray) -> tuple[Value, Value, Value]:
    """The row of the table, whether it holds exactly this set, and whether the set is not empty; each of shape (n,)."""
    words = pack_sets(np.eye(sets.shape[1], dtype=bool)).T
    own = graph.cast(graph("MatMul", words, memberships), "INT64")
    # All words of a set must agree; (T, words, 1) against (words, n).
    same = graph.cast(graph("Equal", pack_sets(sets).astype(np.int64)[:, :, np.newaxis], own), "INT32")
    agrees = graph("ReduceMin", same, [1], keepdims=0)
    is_known = graph.cast(graph("ReduceMax", agrees, [0], keepdims=0), "BOOL")
    is_inside = graph("Greater", graph("ReduceMax", own, [0], keepdims=0), np.int64(0))
    return graph("ArgMax", agrees, axis=0, keepdims=0), is_known, is_inside
