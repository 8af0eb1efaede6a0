"""The places nearest to rows outside all ellipsoids, in the graph: mirrors `sepc.model.nearest`.

As there, bounds rule out most pairs of a row and a place, and only the rest is solved.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sepc.model.nearest import ROUNDING, TIE_TOLERANCE
from sepc.model.sep_model import SEPModel
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Geometry, center_margins, squared_distances
from sepc.shapes.distance import MAX_STEPS, NORM_TOLERANCE, SHORTEST_AXIS

# In bounds, shorter axes (relative to the longest) count as this long: a thicker ellipsoid is never farther away.
THINNEST = 1e-20

# Rounding error of a squared distance, relative to its summands and the number of features.
SQUARE_ROUNDING = 2.0**-50


def distances_to_places(graph: Graph, model: SEPModel, geometry: Geometry) -> Value:
    """Distances of shape (K + J, n), infinite where another place is nearer."""
    kinds: list[tuple[Value, Value, Callable[[Value, Value], Value]]] = []
    if geometry.squared is not None:
        lower, upper, coordinates = _ellipsoid_bounds(graph, model, geometry.columns, geometry.squared)
        kinds.append((lower, upper, lambda place, row: _to_ellipsoids(graph, model, coordinates, place, row)))
    if len(model.isolated):
        lower, upper = _isolated_bounds(graph, model, geometry.columns)
        kinds.append((lower, upper, lambda place, row: _to_isolated(graph, model, geometry.rows, place, row)))
    least = graph("Min", *(graph("ReduceMin", upper, [0], keepdims=1) for _, upper, _ in kinds))
    reach = graph("Mul", least, 1.0 + 2.0 * TIE_TOLERANCE)
    distances = []
    for lower, _, solve in kinds:
        # Written so that NaN, which is no bound, keeps a pair.
        pairs = graph("NonZero", graph("Not", graph("Greater", lower, reach)))
        place, row = (graph("Gather", pairs, np.int64(i), axis=0) for i in range(2))
        nowhere = graph("Expand", np.array([[np.inf]]), graph("Shape", lower))
        distances.append(graph("ScatterND", nowhere, graph("Transpose", pairs, perm=[1, 0]), solve(place, row)))
    return graph("Concat", *distances, axis=0)


def _ellipsoid_bounds(graph: Graph, model: SEPModel, columns: Value, squared: Value) -> tuple[Value, Value, Value]:
    """Lower and upper bounds of the distances, (K, n), and coordinates of the rows along the axes, (K, d, n)."""
    places, origin = model.places, model.stack.origin
    K, d = places.centers.shape
    offsets = np.einsum("kij,kj->ki", places.axes, places.centers - origin)
    moved = graph("Sub", columns, origin[:, np.newaxis])
    stacked = graph("Gemm", places.axes.reshape(K * d, d), moved, -offsets.reshape(K * d, 1))
    coordinates = graph("Reshape", stacked, np.array([K, d, -1]))

    longest = places.semi_axes[:, :1]
    ratios = np.maximum(places.semi_axes / longest, THINNEST)
    powers = np.stack([np.ones_like(ratios), ratios**2, ratios**-2, ratios**-4], axis=1)
    scaled = graph("Div", coordinates, longest[:, :, np.newaxis])
    forms = graph("Sqrt", graph("MatMul", powers, graph("Mul", scaled, scaled)))
    to_center, width, gauge, slope = (graph("Gather", forms, np.int64(i), axis=1) for i in range(4))
    square_to_way = graph("Sub", to_center, graph("Div", width, to_center))
    at_entry = graph("Div", graph("Mul", gauge, graph("Sub", gauge, 1.0)), slope)
    at_entry = graph("Where", graph("IsNaN", at_entry), square_to_way, at_entry)
    bound = graph("Sub", graph("Max", square_to_way, at_entry), graph("Mul", to_center, ROUNDING))

    own_gauge = graph("Sqrt", graph("Max", squared, 1.0))
    outer_part = graph("Add", graph("Sub", 1.0, graph("Reciprocal", own_gauge)), center_margins(model))
    upper = graph("Mul", graph("Mul", to_center, longest), outer_part)
    return graph("Mul", bound, longest), upper, coordinates


def _isolated_bounds(graph: Graph, model: SEPModel, columns: Value) -> tuple[Value, Value]:
    squares, terms = squared_distances(graph, columns, model.isolated)
    error = graph("Mul", terms, SQUARE_ROUNDING * (model.isolated.shape[1] + 4))
    lower, upper = graph("Sub", squares, error), graph("Add", squares, error)
    return graph("Sqrt", graph("Max", lower, 0.0)), graph("Sqrt", graph("Max", upper, 0.0))


def _of_pairs(graph: Graph, coordinates: Value, place: Value, row: Value, d: int) -> Value:
    """Coordinates of pairs, of shape (p, d), from those of all rows in all places, of shape (K, d, n)."""
    n = graph("Gather", graph("Shape", coordinates), np.int64(2))
    first = graph("Add", graph("Mul", graph("Mul", place, np.int64(d)), n), row)
    steps = graph("Mul", np.arange(d), n)
    at = graph("Add", graph("Unsqueeze", first, [1]), graph("Unsqueeze", steps, [0]))
    return graph("Gather", graph("Reshape", coordinates, np.array([-1])), at)


def _to_ellipsoids(graph: Graph, model: SEPModel, all_coordinates: Value, place: Value, row: Value) -> Value:
    """Distances of pairs by the secular equation, as in `sepc.shapes.distance`."""
    semi_axes = model.places.semi_axes
    coordinates = _of_pairs(graph, all_coordinates, place, row, semi_axes.shape[1])
    longest = semi_axes[:, :1]
    ratios = graph("Gather", np.maximum(semi_axes / longest, SHORTEST_AXIS), place)
    own_longest = graph("Gather", longest, place)
    sizes = graph("ReduceMax", graph("Abs", coordinates), [1], keepdims=1)
    sizes = graph("Max", sizes, own_longest)
    unit = graph("Div", own_longest, sizes)
    squares = graph("Mul", graph("Mul", ratios, ratios), unit)
    pulls = graph("Mul", ratios, graph("Abs", graph("Div", coordinates, sizes)))
    from_longest = graph("Sub", _norms(graph, pulls), unit)
    from_one = graph("ReduceMax", graph("Sub", pulls, squares), [1], keepdims=1)
    start = graph("Max", from_longest, from_one, 0.0)

    def climb(roots: Value) -> tuple[Value, Value]:
        inverses = graph("Reciprocal", graph("Add", squares, roots))
        images = graph("Mul", pulls, inverses)
        images_squared = graph("Mul", images, images)
        norms_squared = graph.total(images_squared, 1, keepdims=True)
        excess = graph("Sub", graph("Sqrt", norms_squared), 1.0)
        slopes = graph.total(graph("Mul", images_squared, inverses), 1, keepdims=True)
        steps = graph("Div", graph("Mul", excess, norms_squared), slopes)
        upwards = graph("Where", graph("Greater", excess, 0.0), steps, 0.0)
        far = graph("NonZero", graph("Greater", excess, NORM_TOLERANCE))
        return graph("Greater", graph("Size", far), np.int64(0)), graph("Add", roots, upwards)

    roots = graph.repeat(MAX_STEPS, start, climb)
    beyond = graph("Mul", coordinates, graph("Div", roots, graph("Add", squares, roots)))
    return graph("Squeeze", _norms(graph, beyond), [1])


def _to_isolated(graph: Graph, model: SEPModel, rows: Value, place: Value, row: Value) -> Value:
    own = graph("Gather", rows, row)
    return graph("Squeeze", _norms(graph, graph("Sub", own, graph("Gather", model.isolated, place))), [1])


def _norms(graph: Graph, rows: Value) -> Value:
    return graph("Sqrt", graph.total(graph("Mul", rows, rows), 1, keepdims=True))


def first_of(graph: Graph, distances: Value) -> tuple[Value, Value, Value]:
    """The nearest place, its distance, and a mask of all places tied with it, of shape (K + J, n)."""
    distance = graph("ReduceMin", distances, [0], keepdims=1)
    near = graph("LessOrEqual", distances, graph("Mul", distance, 1.0 + TIE_TOLERANCE))
    place = graph("ArgMax", graph.cast(near, "INT32"), axis=0, keepdims=0)
    return place, graph("Squeeze", distance, [0]), near


def gauges(graph: Graph, model: SEPModel, squared: Value | None, place: Value, distance: Value) -> Value:
    """Gauges of rows: that of the nearest ellipsoid, or 1 plus the distance to the nearest isolated row."""
    K = model.n_ellipsoids
    from_row = graph("Add", distance, 1.0)
    if squared is None:
        return from_row
    own = graph("Unsqueeze", graph("Min", place, np.int64(K - 1)), [0])
    in_ellipsoid = graph("Sqrt", graph("Squeeze", graph("GatherElements", squared, own, axis=0), [0]))
    return graph("Where", graph("Less", place, np.int64(K)), in_ellipsoid, from_row)
