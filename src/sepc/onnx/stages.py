"""The stages of a decision as an ONNX graph: columns, places in ellipsoids, weights and terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.categories import Categories
from sepc.columns.kinds import Kind
from sepc.columns.preparation import DAYS_A_YEAR, Preparation
from sepc.columns.recognition import Written
from sepc.estimators.exported import are_texts, check_encodable
from sepc.model.count_rules import TIE
from sepc.model.membership import FARTHEST
from sepc.model.sep_model import SEPModel
from sepc.model.weights import (
    DEPTH_FLOOR,
    FADING_BEGINS,
    FADING_POWER,
    FARTHEST_SQUARED,
    LINE_END,
    NEARNESS_DECAY,
    Weights,
)
from sepc.onnx.graph import Graph, Value, find, onnx_package

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
    """An input of the graph: one column of the table, of shape (n,)."""

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
            # The last row is that of a category not seen in training.
            features.append(graph("Gather", np.pad(categories.encodings, ((0, 1), (0, 0))), code))
        else:
            values = graph("Unsqueeze", own.name, [1])
            features.append(_with_season(graph, values) if own.column in preparation.seasons else values)
    return _joined(graph, features, 1), _joined(graph, codes, 0) if codes else None


def _joined(graph: Graph, values: list[Value], axis: int) -> Value:
    return graph("Concat", *values, axis=axis) if len(values) > 1 else values[0]


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


# Inside the graph, rows are stored as columns, so that its inner loops are long.


@dataclass(frozen=True)
class Geometry:
    """Rows and their distances to ellipsoids and isolated rows, as values of the graph."""

    rows: Value
    columns: Value
    features: Value
    squared: Value | None
    apart: Value | None

    @classmethod
    def of(cls, graph: Graph, model: SEPModel, given: Value) -> Geometry:
        """Locate rows of shape (n, d), in the user's own features."""
        moved = graph("Div", graph("Sub", given, model.shift), model.scale)
        # Clipped where a squared radius would overflow.
        end = np.float64(0.5 * min(FARTHEST, model.stack.farthest))
        rows = graph("Clip", moved, -end, end)
        columns = features = graph("Transpose", rows, perm=[1, 0])
        if model.alone is not None:
            rows = graph("Gather", rows, model.placed, axis=1)
            columns = graph("Transpose", rows, perm=[1, 0])
        squared = _squared_radii(graph, model, columns) if model.n_ellipsoids else None
        apart = squared_distances(graph, columns, model.isolated) if len(model.isolated) else None
        return cls(rows, columns, features, squared, apart)


def _squared_radii(graph: Graph, model: SEPModel, columns: Value) -> Value:
    """Squared radii, (K, n); the centers are subtracted first, since a difference of products would lose digits."""
    moved = graph("Sub", graph("Unsqueeze", columns, [0]), model.centers[:, :, np.newaxis])
    return graph("ReduceSumSquare", graph("MatMul", model.roots, moved), [1], keepdims=0)


def squared_distances(graph: Graph, columns: Value, points: FloatArray) -> Value:
    """Squared Euclidean distances to some points, of shape (J, n)."""
    middle = points.mean(axis=0)
    moved = points - middle
    sizes = np.sum(moved**2, axis=1, keepdims=True)
    coordinates = graph("Sub", columns, middle[:, np.newaxis])
    own = graph("ReduceSumSquare", coordinates, [0], keepdims=1)
    both = graph("Add", own, sizes)
    return graph("Add", graph("MatMul", -2.0 * moved, coordinates), both)


def decide_by_weights(
    graph: Graph, model: SEPModel, weights: Weights, geometry: Geometry, codes: Value | None
) -> tuple[dict[str, Value], Value]:
    """All outputs but causes and acceptance, labels as positions; and whether each row lies in an ellipsoid."""
    place, gauge = _smallest_gauge(graph, model, geometry)
    guard = guard_of(graph, model, geometry)
    if guard is not None:
        gauge = graph("Max", gauge, guard)
    region, inside = _regions(graph, model, geometry, place)
    by_feature = _by_feature(graph, weights, geometry, codes)
    scores = _scores(graph, model, weights, geometry, by_feature)
    near, n_classes = graph("Softmax", scores, axis=1), len(model.classes)
    probabilities = _faded(graph, near, gauge, n_classes)
    label = _most_likely(graph, probabilities, model.shares)
    # A model of one class fades as if there were two.
    believed = probabilities if n_classes > 1 else _faded(graph, near, gauge, 2)
    trust = _of_label(graph, believed, label)
    values = {"probabilities": probabilities, "label": label, "trust": trust, "region": region}
    return values | _terms(graph, weights, by_feature, scores, label), inside


def _scores(graph: Graph, model: SEPModel, weights: Weights, geometry: Geometry, by_feature: Value) -> Value:
    """Scores of the classes, of shape (n, C): the terms of features, ellipsoids and isolated rows."""
    terms, coefficients = [], []
    if geometry.squared is not None:
        capped = graph("Min", geometry.squared, FARTHEST_SQUARED)
        terms.append(graph("Exp", graph("Mul", graph("Max", capped, 1.0), -NEARNESS_DECAY)))
        terms.append(graph("Log", graph("Add", capped, DEPTH_FLOOR)))
        # `exp(-decay)` cancels this factor where the squared gauge is 1, so that nearness is 1 there.
        coefficients += [np.exp(NEARNESS_DECAY) * weights.near, weights.deep]
    if geometry.apart is not None:
        terms.append(graph("Exp", graph("Mul", geometry.apart, -0.5 / weights.width**2)))
        coefficients.append(weights.isolated)
    constant = weights.offsets - weights.ellipsoid_means.sum(axis=0) - weights.isolated_mean
    placed = graph("Gemm", _joined(graph, terms, 0), np.concatenate(coefficients), constant, transA=1)
    return graph("Add", graph.total(by_feature, 0), placed)


def _by_feature(graph: Graph, weights: Weights, geometry: Geometry, codes: Value | None) -> Value:
    """What each feature adds to the score of each class, (d, n, C): a line, a step function, and its categories."""
    columns = graph("Clip", geometry.features, np.float64(-LINE_END), np.float64(LINE_END))
    lines = graph("Mul", graph("Unsqueeze", columns, [2]), weights.lines[:, np.newaxis, :])
    # Padding at infinity is never passed: the graph clips rows far away.
    knots = np.full((len(weights.curves), max(1, weights.n_knots.max()), 1), np.inf)
    for own, (given, _) in zip(knots, weights.curves, strict=True):
        own[: len(given), 0] = given
    passed = graph("GreaterOrEqual", graph("Unsqueeze", geometry.features, [1]), knots)
    # Single precision counts exactly, and twice as fast as integers.
    n_passed = graph.cast(graph.total(graph.cast(passed, "FLOAT"), 1), "INT64")
    terms = graph("Add", lines, _levels(graph, [levels.T for _, levels in weights.curves], n_passed))
    if codes is None:
        return terms
    # A category not seen in training adds nothing.
    known = np.split(weights.category_levels, np.cumsum(weights.n_categories)[:-1])
    added = _levels(graph, [np.pad(levels, ((0, 1), (0, 0))) for levels in known], codes)
    return graph("ScatterND", terms, weights.category_features[:, np.newaxis], added, reduction="add")


def _levels(graph: Graph, levels: list[FloatArray], positions: Value) -> Value:
    """For each of m lists, its entries (C numbers each) at positions of shape (m, n); of shape (m, n, C)."""
    starts = np.cumsum([0, *map(len, levels)])[:-1]
    return graph("Gather", np.concatenate(levels), graph("Add", positions, starts[:, np.newaxis]))


def _smallest_gauge(graph: Graph, model: SEPModel, geometry: Geometry) -> tuple[Value, Value]:
    """The place with the smallest gauge, and that gauge; both matter only outside all ellipsoids."""
    K = model.n_ellipsoids
    candidates = []
    if geometry.squared is not None:
        place = graph("ArgMin", geometry.squared, axis=0, keepdims=0)
        candidates.append((place, graph("Sqrt", graph("ReduceMin", geometry.squared, [0], keepdims=0))))
    if geometry.apart is not None:
        nearest = graph("ArgMin", geometry.apart, axis=0, keepdims=0)
        # Computed again: near a point, the difference of squares has lost half of the digits.
        way = graph("Sub", geometry.rows, graph("Gather", model.isolated, nearest))
        distance = graph("Sqrt", graph("ReduceSumSquare", way, [1], keepdims=0))
        gauge = graph("Add", graph("Div", distance, np.sqrt(model.isolated.shape[1])), 1.0)
        # Among identical isolated rows, Python always finds the same one.
        same = np.asarray(model.places.isolated.query(model.isolated)[1], dtype=np.int64)
        candidates.append((graph("Gather", K + same, nearest), gauge))
    if len(candidates) == 1:
        return candidates[0]
    (place, gauge), (isolated, from_isolated) = candidates
    nearer = graph("Less", from_isolated, gauge)
    return graph("Where", nearer, isolated, place), graph("Min", from_isolated, gauge)


def guard_of(graph: Graph, model: SEPModel, geometry: Geometry) -> Value | None:
    """How far standalone features lie beyond the range of training, of shape (n,); None if they may lie anywhere."""
    if model.alone is None or not (is_guarded := model.alone.is_guarded).any():
        return None
    low, high, unit = (
        ends[is_guarded][:, np.newaxis] for ends in (model.alone.low, model.alone.high, model.alone.unit)
    )
    columns = graph("Gather", geometry.features, model.alone.features[is_guarded], axis=0)
    beyond = graph("Max", graph("Sub", low, columns), graph("Sub", columns, high))
    return graph("Add", graph("ReduceMax", graph("Div", beyond, unit), [0], keepdims=0), 1.0)


def _regions(graph: Graph, model: SEPModel, geometry: Geometry, place: Value) -> tuple[Value, Value]:
    """The row of the table of regions, and whether each row lies in an ellipsoid; both of shape (n,)."""
    at_place = graph("Add", place, np.int64(len(model.table.counts)))
    if geometry.squared is None:
        return at_place, graph("Less", place, np.int64(0))
    memberships = graph.cast(graph("LessOrEqual", geometry.squared, 1.0 + model.slack), "DOUBLE")
    row, is_known, inside = find(graph, memberships, model.table.memberships)
    return graph("Where", inside, graph("Where", is_known, row, np.int64(-1)), at_place), inside


def _faded(graph: Graph, probabilities: Value, gauge: Value, n_classes: int) -> Value:
    """Probabilities that fade towards uniform ones where the gauge is large."""
    left = graph("Div", FADING_BEGINS, graph("Max", graph("Unsqueeze", gauge, [1]), FADING_BEGINS))
    left = graph("Pow", left, float(FADING_POWER))
    kept = graph("Mul", left, probabilities)
    return graph("Add", kept, graph("Div", graph("Sub", 1.0, left), float(n_classes)))


def _most_likely(graph: Graph, probabilities: Value, shares: FloatArray) -> Value:
    """The class with the largest probability; ties go to the larger class, then to the first."""
    largest = graph("Mul", graph("ReduceMax", probabilities, [1], keepdims=1), 1.0 - TIE)
    tied = graph("GreaterOrEqual", probabilities, largest)
    return graph("ArgMax", graph("Where", tied, shares, -1.0), axis=1, keepdims=0)


def _of_label(graph: Graph, probabilities: Value, label: Value) -> Value:
    """The probability of each row's label."""
    return graph("Squeeze", graph("GatherElements", probabilities, graph("Unsqueeze", label, [1]), axis=1), [1])


# Below all scores.
LOWEST = -1e300


def _terms(graph: Graph, weights: Weights, by_feature: Value, scores: Value, label: Value) -> dict[str, Value]:
    """The runner-up, as a position, and the terms: all features, then the place and the average row; (n, d + 2)."""
    n_classes = len(weights.offsets)
    is_label = _one_hot(graph, label, n_classes)
    others = graph("Add", scores, graph("Mul", is_label, LOWEST)) if n_classes > 1 else scores
    runner_up = graph("ArgMax", others, axis=1, keepdims=0)
    side = graph("Sub", is_label, _one_hot(graph, runner_up, n_classes))
    features = graph.total(graph("Mul", by_feature, graph("Unsqueeze", side, [0])), 2)
    offset = graph.total(graph("Mul", side, weights.offsets), 1)
    log_odds = graph.total(graph("Mul", side, scores), 1)
    place = graph("Sub", graph("Sub", log_odds, offset), graph.total(features, 0))
    rows = [features, graph("Unsqueeze", place, [0]), graph("Unsqueeze", offset, [0])]
    return {"runner_up": runner_up, "terms": graph("Transpose", graph("Concat", *rows, axis=0), perm=[1, 0])}


def _one_hot(graph: Graph, which: Value, n_classes: int) -> Value:
    """A one in the column of each row's class, of shape (n, C)."""
    is_it = graph("Equal", graph("Unsqueeze", which, [1]), np.arange(n_classes)[np.newaxis])
    return graph.cast(is_it, "DOUBLE")
