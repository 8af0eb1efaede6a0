"""Where rows lie, in the graph: squared radii as in `sepc.model.membership`.

Inside the graph, rows are stored as columns, so that its inner loops are long.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.membership import FARTHEST
from sepc.model.sep_model import SEPModel
from sepc.onnx.graph import Graph, Value


@dataclass(frozen=True)
class Geometry:
    """Rows and their distances to ellipsoids and isolated rows, as values of the graph.

    Attributes
    ----------
    rows, columns : Value
        Standardised, of shapes (n, g) and (g, n); without standalone features.
    features : Value
        All features, standardised, of shape (d, n).
    squared : Value or None
        Their squared radii, of shape (K, n); None if there is no ellipsoid.
    apart : Value or None
        Squared distances to the isolated rows, of shape (J, n); None if there are none.
    """

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
    """Squared Euclidean distances to some points, of shape (J, n).

    Coordinates are relative to the mean of the points. Near a point, half of the digits are lost.
    """
    middle = points.mean(axis=0)
    moved = points - middle
    sizes = np.sum(moved**2, axis=1, keepdims=True)
    coordinates = graph("Sub", columns, middle[:, np.newaxis])
    own = graph("ReduceSumSquare", coordinates, [0], keepdims=1)
    both = graph("Add", own, sizes)
    return graph("Add", graph("MatMul", -2.0 * moved, coordinates), both)
