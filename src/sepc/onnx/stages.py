"""The stages of a decision as an ONNX graph: columns, places in ellipsoids, weights and terms."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sepc._typing import FloatArray, IntArray
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
        squared = squared_radii(graph, model, columns) if model.n_ellipsoids else None
        apart = squared_distances(graph, columns, model.isolated) if len(model.isolated) else None
        return cls(rows, columns, features, squared, apart)

    def some(self, graph: Graph, at: Value) -> Geometry:
        """The geometry of the rows at some positions."""
        squared, apart = (
            None if value is None else graph("Gather", value, at, axis=1) for value in (self.squared, self.apart)
        )
        columns = graph("Gather", self.columns, at, axis=1)
        features = columns if self.features == self.columns else graph("Gather", self.features, at, axis=1)
        return Geometry(graph("Gather", self.rows, at), columns, features, squared, apart)


def squared_radii(graph: Graph, model: SEPModel, columns: Value) -> Value:
    """Squared radii, of shape (K, n): by polynomials where they are accurate enough, else from the centers."""
    stack = model.stack
    rough = stack.rough
    smooth = np.setdiff1d(np.arange(model.n_ellipsoids), rough)
    parts = []
    if len(smooth):
        parts.append(_polynomials(graph, model, columns, smooth))
    if len(rough):
        parts.append(_measured(graph, columns, stack.centers[rough], stack.roots[rough]))
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([smooth, rough]))
    return graph("Gather", graph("Concat", *parts, axis=0), order, axis=0)


def _polynomials(graph: Graph, model: SEPModel, columns: Value, which: IntArray) -> Value:
    stack = model.stack
    coordinates = graph("Sub", columns, stack.origin[:, np.newaxis])
    first, second = np.triu_indices(len(stack.origin))
    products = graph("Mul", graph("Gather", coordinates, first, axis=0), graph("Gather", coordinates, second, axis=0))
    coefficients = stack.coefficients[which]
    monomials = graph("Concat", products, coordinates, axis=0)
    squared = graph("Gemm", coefficients[:, :-1], monomials, coefficients[:, -1:])
    from_boundary = graph("ReduceMin", graph("Abs", graph("Sub", squared, 1.0)), [0], keepdims=0)
    in_doubt = graph("LessOrEqual", from_boundary, stack.margins[which].max())

    def measure(at: Value) -> list[Value]:
        exact = _measured(graph, graph("Gather", columns, at, axis=1), stack.centers[which], stack.roots[which])
        places = graph("Expand", graph("Unsqueeze", at, [0]), graph("Shape", exact))
        return [graph("ScatterElements", squared, places, exact, axis=1)]

    (checked,) = graph.where_any(in_doubt, ["DOUBLE"], measure, [squared])
    return graph("Max", checked, 0.0)


def _measured(graph: Graph, columns: Value, centers: FloatArray, roots: FloatArray) -> Value:
    """Squared radii from the centers, which are subtracted first: a difference of products would lose digits."""
    moved = graph("Sub", graph("Unsqueeze", columns, [0]), centers[:, :, np.newaxis])
    return graph("ReduceSumSquare", graph("MatMul", roots, moved), [1], keepdims=0)


def squared_distances(graph: Graph, columns: Value, points: FloatArray) -> Value:
    """Squared Euclidean distances to some points, of shape (J, n)."""
    middle = points.mean(axis=0)
    moved = points - middle
    sizes = np.sum(moved**2, axis=1, keepdims=True)
    coordinates = graph("Sub", columns, middle[:, np.newaxis])
    own = graph("ReduceSumSquare", coordinates, [0], keepdims=1)
    both = graph("Add", own, sizes)
    return graph("Add", graph("MatMul", -2.0 * moved, coordinates), both)


# All features are padded to the same number of knots if this multiplies the number of knots by at most this factor.
FILLED_UP = 2


def decide_by_weights(
    graph: Graph, model: SEPModel, weights: Weights, geometry: Geometry, codes: Value | None
) -> tuple[dict[str, Value], Value]:
    """Label (as a position), trust, probabilities, region and scores, and whether each row lies in an ellipsoid."""
    place, gauge = _smallest_gauge(graph, model, geometry)
    guard = guard_of(graph, model, geometry)
    if guard is not None:
        gauge = graph("Max", gauge, guard)
    region, inside = _regions(graph, model, geometry, place)
    scores = _scores(graph, model, weights, geometry)
    if codes is not None:
        scores = graph("Add", scores, _categories(graph, weights, codes))
    near, n_classes = graph("Softmax", scores, axis=1), len(model.classes)
    probabilities = _faded(graph, near, gauge, n_classes)
    label = _most_likely(graph, probabilities, model.shares)
    # A model of one class fades as if there were two.
    believed = probabilities if n_classes > 1 else _faded(graph, near, gauge, 2)
    trust = _of_label(graph, believed, label)
    values = {"probabilities": probabilities, "label": label, "trust": trust, "region": region, "scores": scores}
    return values, inside


def _scores(graph: Graph, model: SEPModel, weights: Weights, geometry: Geometry) -> Value:
    """Scores of the classes, of shape (n, C)."""
    terms = [graph("Clip", geometry.features, np.float64(-LINE_END), np.float64(LINE_END))]
    coefficients = [weights.lines]
    if geometry.squared is not None:
        capped = graph("Min", geometry.squared, FARTHEST_SQUARED)
        terms.append(graph("Exp", graph("Mul", graph("Max", capped, 1.0), -NEARNESS_DECAY)))
        terms.append(graph("Log", graph("Add", capped, DEPTH_FLOOR)))
        # `exp(-decay)` cancels this factor where the squared gauge is 1, so that nearness is 1 there.
        coefficients += [np.exp(NEARNESS_DECAY) * weights.near, weights.deep]
    weighty = np.flatnonzero(weights.isolated.any(axis=1))
    if geometry.apart is not None and len(weighty):
        apart = (
            geometry.apart if len(weighty) == len(model.isolated) else graph("Gather", geometry.apart, weighty, axis=0)
        )
        terms.append(graph("Exp", graph("Mul", apart, -0.5 / weights.width**2)))
        coefficients.append(weights.isolated[weighty])
    constant = weights.offsets - weights.ellipsoid_means.sum(axis=0) - weights.isolated_mean
    without = np.flatnonzero(weights.n_knots == 0)
    constant = constant + sum((weights.curves[j][1][:, 0] for j in without.tolist()), np.zeros(len(constant)))
    together = graph("Concat", *terms, axis=0) if len(terms) > 1 else terms[0]
    scores = graph("Gemm", together, np.concatenate(coefficients), constant, transA=1)
    for which in _groups(weights.n_knots):
        scores = graph("Add", scores, _curves(graph, weights, geometry.features, which))
    return scores


def _curves(graph: Graph, weights: Weights, columns: Value, which: IntArray) -> Value:
    """What the steps of some features add to the scores, (n, C): count the knots passed, then look up the level."""
    curves, most = [weights.curves[j] for j in which.tolist()], weights.n_knots[which].max()
    # Padding at infinity is never passed: the graph clips rows far away.
    knots = np.full((len(which), most, 1), np.inf)
    for own, (given, _) in zip(knots, curves, strict=True):
        own[: len(given), 0] = given
    levels = np.concatenate([own.T for _, own in curves])
    starts = np.cumsum([0, *(weights.n_knots[which] + 1)])[:-1]
    own_columns = columns if len(which) == len(weights.n_knots) else graph("Gather", columns, which, axis=0)
    passed = graph("GreaterOrEqual", graph("Unsqueeze", own_columns, [1]), knots)
    # Single precision counts exactly, and twice as fast as integers.
    n_passed = graph.cast(graph.total(graph.cast(passed, "FLOAT"), 1), "INT64")
    return graph.total(graph("Gather", levels, graph("Add", n_passed, starts[:, np.newaxis])), 0)


def _categories(graph: Graph, weights: Weights, codes: Value) -> Value:
    """What categories add to the scores, of shape (n, C); one not seen in training adds nothing."""
    nothing, ends = np.zeros((1, len(weights.offsets))), np.cumsum(weights.n_categories)
    columns = np.split(weights.category_levels, ends[:-1])
    levels = np.concatenate([part for own in columns for part in (own, nothing)])
    starts = ends - weights.n_categories + np.arange(len(ends))
    return graph.total(graph("Gather", levels, graph("Add", codes, starts[:, np.newaxis])), 0)


def _groups(n_knots: IntArray) -> list[IntArray]:
    """Features with knots, in order; split into those with few and with many knots if padding would cost too much."""
    order = np.argsort(n_knots, kind="stable")
    order = order[n_knots[order] > 0]
    if len(order) == 0:
        return []
    ordered = n_knots[order]
    if len(ordered) * ordered[-1] <= FILLED_UP * ordered.sum():
        return [np.sort(order)]
    first = np.arange(1, len(order))
    cut = int(first[np.argmin(first * ordered[:-1] + (len(order) - first) * ordered[-1])])
    return [np.sort(order[:cut]), np.sort(order[cut:])]


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
    row, is_known, size = find(graph, memberships, model.table.memberships)
    inside = graph("Greater", size, np.int64(0))
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


def terms_of(
    graph: Graph,
    model: SEPModel,
    weights: Weights,
    geometry: Geometry,
    codes: Value | None,
    scores: Value,
    label: Value,
) -> dict[str, Value]:
    """The runner-up, as a position, and the terms: all features, then the place and the average row; (n, d + 2)."""
    n_classes = len(model.classes)
    is_label = _one_hot(graph, label, n_classes)
    others = graph("Add", scores, graph("Mul", is_label, LOWEST)) if n_classes > 1 else scores
    runner_up = graph("ArgMax", others, axis=1, keepdims=0)
    side = graph("Sub", is_label, _one_hot(graph, runner_up, n_classes))
    by_feature = graph.total(graph("Mul", _by_class(graph, weights, geometry, codes), graph("Unsqueeze", side, [0])), 2)
    features = graph("Transpose", by_feature, perm=[1, 0])
    offset = graph.total(graph("Mul", side, weights.offsets), 1)
    log_odds = graph.total(graph("Mul", side, scores), 1)
    place = graph("Sub", graph("Sub", log_odds, offset), graph.total(features, 1))
    columns = [features, graph("Unsqueeze", place, [1]), graph("Unsqueeze", offset, [1])]
    return {"runner_up": runner_up, "terms": graph("Concat", *columns, axis=1)}


def _one_hot(graph: Graph, which: Value, n_classes: int) -> Value:
    """A one in the column of each row's class, of shape (n, C)."""
    is_it = graph("Equal", graph("Unsqueeze", which, [1]), np.arange(n_classes)[np.newaxis])
    return graph.cast(is_it, "DOUBLE")


def _by_class(graph: Graph, weights: Weights, geometry: Geometry, codes: Value | None) -> Value:
    """What each feature adds to the score of each class, of shape (d, n, C)."""
    clipped = graph("Clip", geometry.features, np.float64(-LINE_END), np.float64(LINE_END))
    terms = graph("Mul", graph("Unsqueeze", clipped, [2]), weights.lines[:, np.newaxis, :])
    most = max(int(weights.n_knots.max(initial=0)), 1)
    # Padding at infinity is never passed: the graph clips rows far away.
    knots = np.full((len(weights.n_knots), most, 1), np.inf)
    for own, (given, _) in zip(knots, weights.curves, strict=True):
        own[: len(given), 0] = given
    levels = np.concatenate([own.T for _, own in weights.curves])
    starts = np.cumsum([0, *(weights.n_knots + 1)])[:-1]
    passed = graph("GreaterOrEqual", graph("Unsqueeze", geometry.features, [1]), knots)
    n_passed = graph.cast(graph.total(graph.cast(passed, "FLOAT"), 1), "INT64")
    terms = graph("Add", terms, graph("Gather", levels, graph("Add", n_passed, starts[:, np.newaxis])))
    if codes is None:
        return terms
    nothing, ends = np.zeros((1, len(weights.offsets))), np.cumsum(weights.n_categories)
    known = np.concatenate([part for own in np.split(weights.category_levels, ends[:-1]) for part in (own, nothing)])
    first = ends - weights.n_categories + np.arange(len(ends))
    added = graph("Gather", known, graph("Add", codes, first[:, np.newaxis]))
    place = np.zeros((len(weights.n_knots), len(ends)))
    place[weights.category_features, np.arange(len(ends))] = 1.0
    return graph("Add", terms, _spread(graph, place, added))


def _spread(graph: Graph, place: np.ndarray, added: Value) -> Value:
    """What categories add to their features, of shape (d, n, C); `place`, (d, q), is one where they belong together."""
    turned = graph("Transpose", added, perm=[1, 0, 2])
    return graph("Transpose", graph("MatMul", place[np.newaxis], turned), perm=[1, 0, 2])
