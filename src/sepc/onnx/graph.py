"""Build an ONNX graph: nodes in the order they are added, shared constants, and sets of ellipsoids looked up."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import BoolArray, FloatArray, IntArray
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
        (name,) = self._add(operator, inputs, 1, attributes)
        return name

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

    def split(self, value: Value, sizes: Sequence[int]) -> list[Value]:
        """Parts of these sizes, along the first axis."""
        return self._add("Split", (value, sizes), len(sizes), {"axis": 0})

    def put(self, into: Value, at: Value, rows: Value) -> Value:
        """A copy with the rows at some positions replaced."""
        return self("ScatterND", into, self("Unsqueeze", at, [1]), rows)

    def where_any(
        self, mask: Value, kinds: Sequence[str], then: Callable[[Value], Sequence[Value]], otherwise: Sequence[Value]
    ) -> list[Value]:
        """The values that `then` computes for the positions where `mask` is true; skipped if there are none."""
        at = self("NonZero", mask)
        some = self("Greater", self("Size", at), np.int64(0))
        branches = {
            "then_branch": self._branch(lambda: then(self("Squeeze", at, [0])), kinds),
            "else_branch": self._branch(lambda: otherwise, kinds),
        }
        return self._add("If", (some,), len(kinds), branches)

    def finished(
        self, inputs: Sequence[ValueInfoProto], outputs: dict[str, tuple[Value, ValueInfoProto]]
    ) -> GraphProto:
        """The finished graph, with named outputs and without unused nodes."""
        for name, (value, _) in outputs.items():
            self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name]))
        nodes = _needed(self._nodes, set(outputs))
        used = {name for node in nodes for name in _inputs(node)}
        constants = [constant for constant in self._constants.values() if constant.name in used]
        infos = [info for _, info in outputs.values()]
        graph: GraphProto = self._onnx.helper.make_graph(nodes, "sepc", inputs, infos, constants)
        return graph

    def _branch(self, build: Callable[[], Sequence[Value]], kinds: Sequence[str]) -> GraphProto:
        helper = self._onnx.helper
        outer, self._nodes = self._nodes, []
        outputs = []
        for value, kind in zip(build(), kinds, strict=True):
            outputs.append(helper.make_tensor_value_info(self("Identity", value), self._kind(kind), None))
        nodes = _needed(self._nodes, {info.name for info in outputs})
        self._nodes = outer
        branch: GraphProto = helper.make_graph(nodes, self._name(), [], outputs)
        return branch

    def _add(
        self, operator: str, inputs: Sequence[Value | ArrayLike], n_outputs: int, attributes: dict[str, Any]
    ) -> list[Value]:
        names = [given if isinstance(given, str) else self._constant(np.asarray(given)) for given in inputs]
        outputs = [self._name() for _ in range(n_outputs)]
        self._nodes.append(self._onnx.helper.make_node(operator, names, outputs, **attributes))
        return outputs

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

    def _name(self) -> Value:
        self._n_names += 1
        return self._free("v", self._n_names)

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
            wanted = wanted | _inputs(node)
    return kept[::-1]


def _inputs(node: NodeProto) -> set[str]:
    """The values that a node uses, also inside its branches."""
    inside = [_inputs(inner) for attribute in node.attribute for inner in attribute.g.node]
    return set(node.input).union(*inside)


# Weights of ellipsoids: sums of hundreds of them are exact in a double.
WEIGHTS = 2**31

# Slots and buckets per set: with few sets per bucket and many free slots, displacements are found quickly.
SLOTS = 4
BUCKETS = 1


@dataclass(frozen=True, eq=False)
class PerfectHash:
    """A set of ellipsoids with hashes `(a, b)` is in slot ``(a + displacements[b % G]) % P``, or unknown."""

    weights: FloatArray
    displacements: IntArray
    slots: IntArray

    @classmethod
    def of(cls, sets: BoolArray) -> PerfectHash:
        """Find a perfect hash for the sets; deterministic."""
        rng = np.random.default_rng(0)
        while True:
            weights = rng.integers(1, WEIGHTS, size=(2, sets.shape[1])).astype(np.float64)
            displaced = _displaced(sets, weights)
            if displaced is not None:
                return cls(weights, *displaced)


def _displaced(sets: BoolArray, weights: FloatArray) -> tuple[IntArray, IntArray] | None:
    """Displacements and slots; None if two sets of a bucket collide with every displacement."""
    n_slots, n_buckets = SLOTS * len(sets) + 1, BUCKETS * len(sets)
    first, second = (sets.astype(np.float64) @ weights.T).astype(np.int64).T
    slots, displacements = np.full(n_slots, -1), np.zeros(n_buckets, dtype=np.int64)
    order = np.argsort(second % n_buckets, kind="stable")
    buckets, starts = np.unique(second[order] % n_buckets, return_index=True)
    shared = zip(buckets, np.split(order, starts[1:]), strict=True)
    # The fullest buckets first, while many slots are free.
    for bucket, own in sorted(shared, key=lambda item: -len(item[1])):
        if len(np.unique(first[own] % n_slots)) < len(own):
            return None
        for displacement in range(n_slots):
            places = (first[own] + displacement) % n_slots
            if (slots[places] < 0).all():
                slots[places], displacements[bucket] = own, displacement
                break
        else:
            return None
    return displacements, np.maximum(slots, 0)


def find(graph: Graph, memberships: Value, sets: BoolArray) -> tuple[Value, Value, Value]:
    """The row of the table, whether it holds exactly this set, and the size of the set; each of shape (n,)."""
    K = sets.shape[1]
    hashing, words = PerfectHash.of(sets), pack_sets(np.eye(K, dtype=bool)).T
    codes = graph.cast(graph("MatMul", np.vstack([words, hashing.weights, np.ones((1, K))]), memberships), "INT64")
    n_words = len(words)
    own, first, second, size = graph.split(codes, [n_words, 1, 1, 1])
    displacement = graph("Gather", hashing.displacements, graph("Mod", second, np.int64(len(hashing.displacements))))
    slot = graph("Mod", graph("Add", first, displacement), np.int64(len(hashing.slots)))
    row = graph("Squeeze", graph("Gather", hashing.slots, slot), [0])
    is_known = graph("Equal", graph("Gather", pack_sets(sets).astype(np.int64).T, row, axis=1), own)
    if n_words > 1:
        is_known = graph.cast(graph("ReduceMin", graph.cast(is_known, "INT32"), [0]), "BOOL")
    return row, graph("Squeeze", is_known, [0]), graph("Squeeze", size, [0])
