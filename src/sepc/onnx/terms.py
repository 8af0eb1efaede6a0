"""What each feature adds to the log-odds of a label against the runner-up: mirrors `sepc.model.terms`."""

from __future__ import annotations

import numpy as np

from sepc.model.sep_model import SEPModel
from sepc.model.weights import LINE_END, Weights
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Geometry

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
