"""Why rows are not accepted, in the graph: an image of `sepc.regions.causes`."""

from __future__ import annotations

import numpy as np

from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import squared_distances
from sepc.regions.kinds import Cause
from sepc.regions.model import SEPModel


def causes(
    graph: Graph, model: SEPModel, rows: Value, squared: Value | None, inside: Value, accepted: Value, min_trust: float
) -> Value:
    """Causes of shape (n,), by the training rows within the model's reach of each row that is not accepted."""

    def tell(at: Value) -> list[Value]:
        own_rows = graph("Gather", rows, at, axis=1)
        own_squared = None if squared is None else graph("Gather", squared, at, axis=1)
        near = _rows_within_reach(graph, model, own_rows, own_squared)
        n_near = graph.total(near, 0)
        nothing = graph("Equal", n_near, 0.0)
        is_outside = graph("And", nothing, graph("Not", graph("Gather", inside, at)))
        enough = graph("Mul", n_near, min_trust)
        is_thin = graph("GreaterOrEqual", graph("ReduceMax", near, [0], keepdims=0), enough)
        found = graph("Where", is_thin, np.int64(Cause.THIN), np.int64(Cause.OVERLAP))
        return [graph.put(none, at, graph("Where", is_outside, np.int64(Cause.OUTSIDE), found))]

    none = graph("Mul", graph.cast(accepted, "INT64"), np.int64(Cause.ACCEPTED))
    (found,) = graph.where_any(graph("Not", accepted), ["INT64"], tell, [none])
    return found


def is_far(graph: Graph, model: SEPModel, rows: Value, squared: Value | None) -> Value:
    """Whether no ellipsoid and no isolated row is within reach; of shape (n,)."""
    parts = [] if squared is None else [_within_reach(graph, model, rows, squared)]
    if len(model.isolated):
        parts.append(_isolated_within_reach(graph, model, rows))
    n_near = [graph.total(graph.cast(part, "INT64"), 0) for part in parts]
    return graph("Equal", graph("Add", *n_near) if len(n_near) == 2 else n_near[0], np.int64(0))


def _rows_within_reach(graph: Graph, model: SEPModel, rows: Value, squared: Value | None) -> Value:
    """Training rows of each class all of whose ellipsoids are within reach, and isolated rows that are; (C, n)."""
    parts = []
    if squared is not None:
        seen = model.table.memberships.any(axis=1)
        beyond = graph.cast(graph("Not", _within_reach(graph, model, rows, squared)), "FLOAT")
        n_beyond = graph("MatMul", model.table.memberships[seen].astype(np.float32), beyond)
        near = graph.cast(graph("Equal", n_beyond, np.float32(0.0)), "DOUBLE")
        parts.append(graph("MatMul", model.table.counts[seen].T.astype(np.float64), near))
    if len(model.isolated):
        near = graph.cast(_isolated_within_reach(graph, model, rows), "DOUBLE")
        parts.append(graph("MatMul", np.eye(len(model.classes))[model.isolated_owners].T, near))
    return graph("Add", *parts) if len(parts) == 2 else parts[0]


def _within_reach(graph: Graph, model: SEPModel, rows: Value, squared: Value) -> Value:
    """Whether each ellipsoid is within reach along the line to its center."""
    outer_part = graph("Sub", 1.0, graph("Reciprocal", graph("Sqrt", graph("Max", squared, 1.0))))
    to_centers = graph("Sqrt", graph("Max", squared_distances(graph, rows, model.centers)[0], 0.0))
    return graph("LessOrEqual", graph("Mul", to_centers, outer_part), model.reach)


def _isolated_within_reach(graph: Graph, model: SEPModel, rows: Value) -> Value:
    return graph("LessOrEqual", squared_distances(graph, rows, model.isolated)[0], model.reach**2)
