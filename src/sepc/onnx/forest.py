"""A forest in the graph: an image of `sepc.selective._members` and `_forest_model`."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.onnx.causes import is_far
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import squared_radii, standardized, within_floats
from sepc.onnx.rules import probabilities_of
from sepc.regions.kinds import Cause
from sepc.regions.model import SEPModel
from sepc.selective._forest_model import MOSTLY, NEVER_CERTAIN, ForestModel
from sepc.selective._members import FADING, FARTHEST_SQUARED, PRIOR_ROWS, SUREST


def decide_forest(graph: Graph, model: ForestModel, given: Value, min_trust: float) -> dict[str, Value]:
    """Label (a position), probabilities, trust and cause of rows given in the user's own features."""
    rows = standardized(graph, given, model.standard.shift, model.standard.scale)
    probabilities, scores, far, voted = [], [], [], []
    for b, member in enumerate(model.members):
        own = within_floats(graph, member.model, graph("MatMul", member.projection.T, rows))
        squared = squared_radii(graph, member.model, own) if member.model.n_ellipsoids else None
        probabilities.append(_vote(graph, member.model, own, squared))
        far.append(graph.cast(is_far(graph, member.model, own, squared), "DOUBLE"))
        voted.append(graph("ArgMax", probabilities[-1], axis=1, keepdims=1))
        if model.head is not None and squared is not None:
            scores.append(_score(graph, squared, model.head.weights[b]))
    n = float(len(model.members))
    average = graph("Div", graph("Sum", *probabilities), n)
    calibrated = graph("MatMul", _centred_logs(graph, average), model.platt.weights)
    blended = graph("Softmax", graph("Add", calibrated, model.platt.offsets), axis=1)
    if model.head is not None:
        own_say = graph("Softmax", graph("Add", graph("Sum", *scores), model.head.offsets), axis=1)
        both = graph("Add", _centred_logs(graph, own_say), _centred_logs(graph, blended))
        blended = graph("Softmax", graph("Div", both, 2.0), axis=1)
    label = graph("ArgMax", blended, axis=1, keepdims=0)
    trust = graph("ReduceMax", blended, [1], keepdims=0)
    agreeing = graph("Equal", graph("Concat", *voted, axis=1), graph("Unsqueeze", label, [1]))
    agreement = graph("Div", graph.total(graph.cast(agreeing, "DOUBLE"), 1), n)
    cause = _causes(graph, trust, agreement, graph("Div", graph("Sum", *far), n), min_trust)
    return {"label": label, "probabilities": blended, "trust": trust, "cause": cause}


def _vote(graph: Graph, model: SEPModel, rows: Value, squared: Value | None) -> Value:
    """The mean of two probabilities: by the counts where a row lies, and by the densities of all ellipsoids."""
    by_counts = probabilities_of(graph, model, rows, squared)
    if squared is None:
        return by_counts
    return graph("Div", graph("Add", by_counts, _densities(graph, model, squared)), 2.0)


def _densities(graph: Graph, model: SEPModel, squared: Value) -> Value:
    """Probabilities of the classes if every ellipsoid were a Gaussian of its rows, of shape (n, C).

    Each is divided by the highest: what it would be multiplied by again is the same for all classes.
    """
    log_sizes = -np.linalg.slogdet(model.roots)[1][:, np.newaxis]
    near = graph("Min", squared, FARTHEST_SQUARED)
    heights = graph("Sub", graph("Mul", near, -0.5 * (model.centers.shape[1] + 2)), log_sizes)
    relative = graph("Exp", graph("Sub", heights, graph("ReduceMax", heights, [0], keepdims=1)))
    held = model.place_counts[: model.n_ellipsoids] + PRIOR_ROWS
    by_class = graph("Transpose", graph("MatMul", held.T, relative), perm=[1, 0])
    shares = graph("Div", by_class, graph.total(by_class, 1, keepdims=True))
    bounded = graph("Clip", shares, np.float64(1.0 - SUREST), np.float64(SUREST))
    return graph("Div", bounded, graph.total(bounded, 1, keepdims=True))


def _score(graph: Graph, squared: Value, weights: FloatArray) -> Value:
    """Nearness to the ellipsoids of a member times their weights, of shape (n, C)."""
    beyond = graph("Max", graph("Sub", graph("Min", squared, FARTHEST_SQUARED), 1.0), 0.0)
    nearness = graph("Exp", graph("Mul", beyond, -FADING))
    return graph("Transpose", graph("MatMul", weights.T, nearness), perm=[1, 0])


def _centred_logs(graph: Graph, probabilities: Value) -> Value:
    logs = graph("Log", graph("Max", probabilities, NEVER_CERTAIN))
    return graph("Sub", logs, graph("ReduceMean", logs, [1], keepdims=1))


def _causes(graph: Graph, trust: Value, agreement: Value, outside: Value, min_trust: float) -> Value:
    """Far from what most have seen; else thin if so many members agree; else overlap."""
    agree = graph("GreaterOrEqual", agreement, min_trust)
    inside_cause = graph("Where", agree, np.int64(Cause.THIN), np.int64(Cause.OVERLAP))
    cause = graph("Where", graph("Greater", outside, MOSTLY), np.int64(Cause.OUTSIDE), inside_cause)
    return graph("Where", graph("GreaterOrEqual", trust, min_trust), np.int64(Cause.ACCEPTED), cause)
