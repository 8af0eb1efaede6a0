"""Where rows lie, in the graph: squared radii as in `sepc.regions.membership`.

Inside the graph rows are columns, so that its inner loops are long: "rows" has the shape (d, n) everywhere.
"""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.onnx.graph import Graph, Value
from sepc.regions.membership import BOUNDARY_MARGIN, FARTHEST
from sepc.regions.model import SEPModel


def standardized(graph: Graph, given: Value, shift: FloatArray, scale: FloatArray) -> Value:
    """Rows of shape (n, d), in the user's own features, as standardised columns."""
    moved = graph("Div", graph("Sub", given, shift), scale)
    return graph("Clip", graph("Transpose", moved, perm=[1, 0]), np.float64(-FARTHEST), np.float64(FARTHEST))


def within_floats(graph: Graph, model: SEPModel, rows: Value) -> Value:
    """Rows so far away that a squared radius would overflow, drawn in."""
    end = np.float64(0.5 * min(FARTHEST, model.stack.farthest))
    return graph("Clip", rows, -end, end)


def squared_radii(graph: Graph, model: SEPModel, rows: Value) -> Value:
    """Squared radii of shape (K, n), by polynomials where these are exact enough, else from the centers."""
    stack = model.stack
    rough = stack.rough
    smooth = np.setdiff1d(np.arange(model.n_ellipsoids), rough)
    parts = []
    if len(smooth):
        parts.append(_polynomials(graph, model, rows, smooth))
    if len(rough):
        parts.append(_measured(graph, rows, stack.centers[rough], stack.roots[rough]))
    if len(parts) == 1:
        return parts[0]
    order = np.argsort(np.concatenate([smooth, rough]))
    return graph("Gather", graph("Concat", *parts, axis=0), order, axis=0)


def _polynomials(graph: Graph, model: SEPModel, rows: Value, which: IntArray) -> Value:
    stack = model.stack
    coordinates = graph("Sub", rows, stack.origin[:, np.newaxis])
    first, second = np.triu_indices(len(stack.origin))
    products = graph("Mul", graph("Gather", coordinates, first, axis=0), graph("Gather", coordinates, second, axis=0))
    coefficients = stack.coefficients[which]
    monomials = graph("Concat", products, coordinates, axis=0)
    squared = graph("Gemm", coefficients[:, :-1], monomials, coefficients[:, -1:])
    from_boundary = graph("ReduceMin", graph("Abs", graph("Sub", squared, 1.0)), [0], keepdims=0)
    in_doubt = graph("LessOrEqual", from_boundary, stack.margins[which].max())

    def measure(at: Value) -> list[Value]:
        exact = _measured(graph, graph("Gather", rows, at, axis=1), stack.centers[which], stack.roots[which])
        places = graph("Expand", graph("Unsqueeze", at, [0]), graph("Shape", exact))
        return [graph("ScatterElements", squared, places, exact, axis=1)]

    (checked,) = graph.where_any(in_doubt, ["DOUBLE"], measure, [squared])
    return graph("Max", checked, 0.0)


def _measured(graph: Graph, rows: Value, centers: FloatArray, roots: FloatArray) -> Value:
    """Squared radii from the centers. These go first: a difference of two products would lose the digits."""
    moved = graph("Sub", graph("Unsqueeze", rows, [0]), centers[:, :, np.newaxis])
    mapped = graph("MatMul", roots, moved)
    return graph.total(graph("Mul", mapped, mapped), 1)


def squared_distances(graph: Graph, rows: Value, points: FloatArray) -> tuple[Value, Value]:
    """Squared Euclidean distances to some points, of shape (J, n), and the largest term that each is a sum of.

    Measured from the middle of the points. Near a point, half of the digits are lost.
    """
    middle = points.mean(axis=0)
    moved = points - middle
    sizes = np.sum(moved**2, axis=1, keepdims=True)
    coordinates = graph("Sub", rows, middle[:, np.newaxis])
    own = graph.total(graph("Mul", coordinates, coordinates), 0, keepdims=True)
    terms = graph("Add", own, sizes)
    return graph("Add", graph("MatMul", -2.0 * moved, coordinates), terms), terms


def center_margins(model: SEPModel) -> FloatArray:
    """How far, at most, the gauges of rows just outside are off, of shape (K, 1)."""
    margins = model.stack.margins.copy()
    margins[model.stack.rough] = BOUNDARY_MARGIN
    return margins
