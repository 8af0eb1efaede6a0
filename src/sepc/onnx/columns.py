"""The columns of a table as rows of the graph: mirrors `sepc.columns.preparation`."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.categories import Categories
from sepc.columns.kinds import Kind
from sepc.columns.preparation import DAYS_A_YEAR, Preparation
from sepc.columns.written import Written
from sepc.estimators.exported import are_texts, check_encodable
from sepc.onnx.graph import Graph, Value, onnx_package

if TYPE_CHECKING:
    from onnx import ValueInfoProto

# The name of the export target in messages.
TARGET = "ONNX"

# The text that means a missing value; a blank cell is no category.
GAP = ""

# The domain of the operator that looks up text, and its version that matches the opset of the graph.
TEXT_DOMAIN, TEXT_OPSET = "ai.onnx.ml", 3


@dataclass(frozen=True)
class ColumnInput:
    """An input of the graph: one column of the table, of shape (n,).

    Attributes
    ----------
    name : str
        The name of the column, unless an output has that name.
    column : str
    kind : Kind
    gap : str or None
        The text that means a missing value; None for a numeric input, where NaN does.
    written : Written or None
        How numbers or dates were written as text in training; the graph takes numbers, not text.
    """

    name: str
    column: str
    kind: Kind
    gap: str | None
    written: Written | None = None

    @property
    def type(self) -> str:
        """The type of the input, named as in `onnx.TensorProto`."""
        return "DOUBLE" if self.gap is None else "STRING"

    def facts(self) -> dict[str, Any]:
        """The entry of the input in the metadata of the file."""
        gap = {} if self.gap is None else {"gap": self.gap}
        own = {"input": self.name, "column": self.column, "kind": self.kind.value, **gap}
        if self.written is None:
            return own
        return {**own, "text": f"In training the column was text, read as {self.written.named()}: give numbers here."}


def inputs_of(preparation: Preparation, outputs: Collection[str]) -> tuple[ColumnInput, ...]:
    """One input for each column that the model uses; none has the name of an output."""
    used = [column for column in preparation.columns if column.kind is not Kind.LEFT_OUT]
    # The runtime treats an input without a name as absent.
    taken = {*outputs, *(column.name for column in used), ""}
    inputs = []
    for column in used:
        name = check_encodable(column.name, TARGET)
        if name in outputs or not name:
            while name in taken:
                name = f"in_{name}"
            taken.add(name)
        is_text = column.kind is Kind.CATEGORY and are_texts(column.name, preparation.categories[column.name], TARGET)
        inputs.append(ColumnInput(name, column.name, column.kind, GAP if is_text else None, column.written))
    return tuple(inputs)


def infos_of(inputs: Collection[ColumnInput]) -> list[ValueInfoProto]:
    """The inputs as the graph declares them."""
    onnx = onnx_package()
    return [onnx.helper.make_tensor_value_info(own.name, getattr(onnx.TensorProto, own.type), ["n"]) for own in inputs]


def rows_of(graph: Graph, preparation: Preparation, inputs: Collection[ColumnInput]) -> tuple[Value, Value | None]:
    """The features, of shape (n, d), and the codes of the categories, of shape (q, n), if there are any."""
    features, codes = [], []
    for own in inputs:
        if own.kind is Kind.CATEGORY:
            categories = preparation.categories[own.column]
            code = _codes(graph, own, categories)
            codes.append(graph("Unsqueeze", code, [0]))
            features.append(graph("Gather", _with_unseen(categories.encodings), code))
        else:
            values = graph("Unsqueeze", own.name, [1])
            features.append(_with_season(graph, values) if own.column in preparation.seasons else values)
    return _joined(graph, features, 1), _joined(graph, codes, 0) if codes else None


def _joined(graph: Graph, values: list[Value], axis: int) -> Value:
    return graph("Concat", *values, axis=axis) if len(values) > 1 else values[0]


def _with_unseen(encodings: FloatArray) -> FloatArray:
    return np.concatenate([encodings, np.zeros((1, encodings.shape[1]))])


def _with_season(graph: Graph, days: Value) -> Value:
    """Days, and the time of year as a point on a circle."""
    angle = graph("Div", graph("Mul", days, 2.0 * np.pi), DAYS_A_YEAR)
    return graph("Concat", days, graph("Sin", angle), graph("Cos", angle), axis=1)


def _codes(graph: Graph, own: ColumnInput, categories: Categories) -> Value:
    """The position of each value among the categories; the number of categories for a value not seen in training."""
    unseen = len(categories.values)
    if own.gap is not None:
        return graph(
            "LabelEncoder",
            own.name,
            domain=TEXT_DOMAIN,
            keys_strings=[own.gap if value is None else str(value) for value in categories.values],
            values_int64s=list(range(unseen)),
            default_int64=unseen,
        )
    # Take the first test that holds: the value is this category, is missing (the last category, if any), or is unseen.
    values = graph("Unsqueeze", own.name, [1])
    numbers = np.array([value for value in categories.values if value is not None], dtype=np.float64)
    is_gap = graph("IsNaN", values)
    tests = [graph("Equal", values, numbers[np.newaxis])]
    if len(numbers) < unseen:
        tests.append(is_gap)
    tests.append(graph("Or", is_gap, graph("Not", is_gap)))
    return graph("ArgMax", graph.cast(_joined(graph, tests, 1), "INT32"), axis=1, keepdims=0)
