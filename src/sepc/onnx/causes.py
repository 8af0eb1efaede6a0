"""Why rows are not accepted, in the graph: mirrors `sepc.model.causes`."""

from __future__ import annotations

import numpy as np

from sepc.decisions.kinds import Cause
from sepc.model.sep_model import SEPModel
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Lying, squared_distances


def causes(graph: Graph, model: SEPModel, lying: Lying, inside: Value, accepted: Value, min_trust: float) -> Value:
    """Causes, of shape (n,), from the training rows within reach of each row that is not accepted."""

    def explain(at: Value) -> list[Value]:
        near = _rows_within_reach(graph, model, lying.some(graph, at))
        n_near = graph.total(near, 0)
        nothing = graph("Equal", n_near, 0.0)
        is_outside = graph("And", nothing, graph("Not", graph("Gather", inside, at)))
        enough = graph("Mul", n_near, min_trust)
        is_thin = graph("GreaterOrEqual", graph("ReduceMax", near, [0], keepdims=0), enough)
        inside_cause = graph("Where", is_thin, np.int64(Cause.THIN), np.int64(Cause.OVERLAP))
        return [graph.put(none, at, graph("Where", is_outside, np.int64(Cause.UNSEEN), inside_cause))]

    none = graph("Mul", graph.cast(accepted, "INT64"), np.int64(Cause.ACCEPTED))
    (cause,) = graph.where_any(graph("Not", accepted), ["INT64"], explain, [none])
    return cause


def _rows_within_reach(graph: Graph, model: SEPModel, lying: Lying) -> Value:
    """Training rows of each class whose ellipsoids are all within reach, plus isolated rows within reach; (C, n)."""
    parts = []
    if lying.squared is not None:
        seen = model.table.memberships.any(axis=1)
        beyond = graph.cast(graph("Not", _within_reach(graph, model, lying.columns, lying.squared)), "FLOAT")
        n_beyond = graph("MatMul", model.table.memberships[seen].astype(np.float32), beyond)
        near = graph.cast(graph("Equal", n_beyond, np.float32(0.0)), "DOUBLE")
        parts.append(graph("MatMul", model.table.counts[seen].T.astype(np.float64), near))
    if len(model.isolated):
        apart = lying.apart or squared_distances(graph, lying.columns, model.isolated)[0]
        near = graph.cast(graph("LessOrEqual", apart, model.reach**2), "DOUBLE")
        owners = model.counts_at(np.arange(model.n_ellipsoids, model.n_places))
        parts.append(graph("MatMul", owners.T.astype(np.float64), near))
    return graph("Add", *parts) if len(parts) == 2 else parts[0]


def _within_reach(graph: Graph, model: SEPModel, columns: Value, squared: Value) -> Value:
    """Whether each ellipsoid is within reach along the line to its center."""
    outer_part = graph("Sub", 1.0, graph("Reciprocal", graph("Sqrt", graph("Max", squared, 1.0))))
    to_centers = graph("Sqrt", graph("Max", squared_distances(graph, columns, model.centers)[0], 0.0))
    return graph("LessOrEqual", graph("Mul", to_centers, outer_part), model.reach)
