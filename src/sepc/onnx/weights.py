"""Decisions by weights, in the graph: mirrors `sepc.model.weights` and its rules."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.sep_model import SEPModel
from sepc.model.trust import TIE
from sepc.model.weights import (
    DEPTH_FLOOR,
    FADING_BEGINS,
    FADING_POWER,
    FARTHEST_SQUARED,
    LINE_END,
    NEARNESS_DECAY,
    Weights,
)
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Geometry
from sepc.onnx.lookup import find

# All features are padded to the same number of knots if this multiplies the number of knots by at most this factor.
FILLED_UP = 2


def decide_by_weights(
    graph: Graph, model: SEPModel, weights: Weights, geometry: Geometry, codes: Value | None
) -> tuple[dict[str, Value], Value]:
    """Label (as a position), trust, probabilities, region and scores, and whether each row lies in an ellipsoid.

    `codes`, of shape (q, n), are the codes of categories, if the model has any.
    """
    place, gauge = _smallest_gauge(graph, model, geometry)
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
