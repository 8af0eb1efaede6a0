"""From counts to probabilities and trust, in the graph: mirrors `sepc.model.trust`."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.trust import PRIOR_ROWS, TIE
from sepc.onnx.graph import Graph, Value


def smoothed(graph: Graph, exact: Value, wider: Value, shares: FloatArray) -> Value:
    """Class probabilities from the training rows in exactly the same region, smoothed with those of a wider set."""
    n_wider = graph("Add", graph.total(wider, 1, keepdims=True), 1.0)
    around = graph("Div", graph("Add", wider, shares), n_wider)
    weighed = graph("Add", exact, graph("Mul", around, PRIOR_ROWS))
    return graph("Div", weighed, graph("Add", graph.total(exact, 1, keepdims=True), PRIOR_ROWS))


def published(graph: Graph, counts: Value, label: Value, class_counts: IntArray) -> Value:
    """Class probabilities as published in the paper."""
    classes = np.arange(len(class_counts))
    own = graph("Equal", graph("Unsqueeze", label, [1]), classes)
    here = graph("Add", counts, graph.cast(own, "DOUBLE"))
    everywhere = (class_counts + (classes == np.argmax(class_counts))).astype(np.float64)
    weights = graph("Mul", here, everywhere)
    return graph("Div", weights, graph.total(weights, 1, keepdims=True))


def most_likely(graph: Graph, probabilities: Value, shares: FloatArray) -> Value:
    """The class with the largest probability; ties go to the larger class, then to the first."""
    largest = graph("Mul", graph("ReduceMax", probabilities, [1], keepdims=1), 1.0 - TIE)
    tied = graph("GreaterOrEqual", probabilities, largest)
    return graph("ArgMax", graph("Where", tied, shares, -1.0), axis=1, keepdims=0)


def of_label(graph: Graph, probabilities: Value, label: Value) -> Value:
    """The probability of each row's label."""
    return graph("Squeeze", graph("GatherElements", probabilities, graph("Unsqueeze", label, [1]), axis=1), [1])
