"""The rules of classification by counts in the graph: an image of `sepc.model.rules` up to the trust of a label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sepc._typing import FloatArray
from sepc.model.rules import judge_sets
from sepc.model.sep_model import SEPModel
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Lying
from sepc.onnx.lookup import find
from sepc.onnx.nearest import distances_to_places, first_of, gauges
from sepc.onnx.trust import evidence, most_likely, of_label, published

# What is said of a row, by name, and the types of that.
Verdict = dict[str, Value]
KINDS = {"probabilities": "DOUBLE", "label": "INT64", "trust": "DOUBLE", "region": "INT64"}


def judged(graph: Graph, model: SEPModel, lying: Lying) -> tuple[Verdict, Value]:
    """Label (a position), trust, probabilities and region, and whether each row lies in an ellipsoid."""
    if lying.squared is None:
        outside = graph("Expand", np.array([True]), graph("Slice", graph("Shape", lying.columns), [1], [2]))
        row = graph.cast(graph("Not", outside), "INT64")
        found = _of_table(graph, model, row)
    else:
        memberships = graph.cast(graph("LessOrEqual", lying.squared, 1.0 + model.slack), "DOUBLE")
        row, is_known, size = find(graph, memberships, model.table.memberships)
        outside = graph("Equal", size, np.int64(0))
        unseen = graph("Not", graph("Or", is_known, outside))
        found = _with_unseen(graph, model, memberships, unseen, _of_table(graph, model, row))
    return _with_outside(graph, model, lying, outside, found), graph("Not", outside)


def _of_table(graph: Graph, model: SEPModel, row: Value) -> Verdict:
    """What the rules say of the sets that training rows have; of the empty set it is overwritten later."""
    seen = judge_sets(model, model.table.memberships)
    return {name: graph("Gather", getattr(seen, name), row, axis=0) for name in KINDS}


def _with_unseen(graph: Graph, model: SEPModel, memberships: Value, unseen: Value, found: Verdict) -> Verdict:
    """Rules R1, R2a and R2b for sets of ellipsoids that no training row has."""

    def judge(at: Value) -> Verdict:
        sets = graph("Gather", memberships, at, axis=1)
        in_all, in_any = _inside_all_and_any(graph, model, sets)
        nobody = graph("Equal", graph.total(in_all, 1, keepdims=True), 0.0)
        wider = graph("Where", nobody, in_any, in_all)
        is_single = graph("Equal", graph.total(sets, 0), 1.0)
        owner = graph("ArgMax", sets, axis=0, keepdims=0)
        owner = graph("Where", is_single, graph("Gather", model.owners, owner), np.int64(-1))
        said = _said(graph, model, graph("Mul", wider, 0.0), wider, wider, model.shares, owner)
        said["region"] = graph("Where", is_single, np.int64(-1), np.int64(-1))
        return said

    return _overwritten(graph, unseen, judge, found)


def _with_outside(graph: Graph, model: SEPModel, lying: Lying, outside: Value, found: Verdict) -> Verdict:
    """Case 3: as if in the nearest ellipsoid alone, or at the nearest isolated row, but fading."""

    def judge(at: Value) -> Verdict:
        own = lying.some(graph, at)
        place, distance, near = first_of(graph, distances_to_places(graph, model, own))
        gauge = gauges(graph, model, own.squared, place, distance)
        exact, counts, owner = _counted(graph, model, place, near)
        larger = graph("Max", gauge, 1.0)
        fading = graph("Unsqueeze", graph("Reciprocal", graph("Mul", larger, larger)), [1])
        exact, faded = graph("Mul", exact, fading), graph("Mul", counts, fading)
        equal = np.full(len(model.classes), 1.0 / len(model.classes))
        said = _said(graph, model, exact, faded, counts, equal, owner)
        said["region"] = graph("Add", place, np.int64(len(model.table.counts)))
        return said

    return _overwritten(graph, outside, judge, found)


def _counted(graph: Graph, model: SEPModel, place: Value, near: Value) -> tuple[Value, Value, Value]:
    """Rows of each class at the nearest place alone and in all, (n, C), and its class.

    Where several places are as near, it is of the rows they share, or else of all their rows; and there is no class.
    """
    K, J = model.n_ellipsoids, len(model.isolated)
    exact = graph("Gather", model.place_exact.astype(np.float64), place)
    counts = graph("Gather", model.place_counts.astype(np.float64), place)
    owner = graph("Gather", model.place_owners, place)
    tied = graph("Greater", graph.total(graph.cast(near, "INT64"), 0), np.int64(1))

    def count(at: Value) -> list[Value]:
        places = graph.cast(graph("Gather", near, at, axis=1), "DOUBLE")
        at_isolated = np.concatenate([np.zeros((K, len(model.classes))), model.place_counts[K:]])
        counted = graph("Transpose", graph("MatMul", at_isolated.T, places), perm=[1, 0])
        if K:
            in_all, in_any = _inside_all_and_any(graph, model, graph("Slice", places, [0], [K], [0]))
            no_isolated = graph("Equal", graph.total(counted, 1, keepdims=True), 0.0)
            shared = graph("Greater", graph.total(in_all, 1, keepdims=True), 0.0)
            counted = graph("Where", graph("And", no_isolated, shared), in_all, graph("Add", in_any, counted))
        nobody = graph("Sub", graph("Mul", at, np.int64(0)), np.int64(1))
        return [graph.put(exact, at, counted), graph.put(counts, at, counted), graph.put(owner, at, nobody)]

    if K + J == 1:
        return exact, counts, owner
    exact, counts, owner = graph.where_any(tied, ["DOUBLE", "DOUBLE", "INT64"], count, [exact, counts, owner])
    return exact, counts, owner


def _said(
    graph: Graph, model: SEPModel, exact: Value, wider: Value, counts: Value, shares: FloatArray, owner: Value
) -> Verdict:
    """Label, probabilities and trust, as `sepc.model.rules._judge`; `counts` are `wider` before fading."""
    if model.published:
        alone = graph("GreaterOrEqual", owner, np.int64(0))
        label = graph("Where", alone, owner, most_likely(graph, counts, model.shares))
        probabilities = published(graph, counts, label, model.class_counts)
    else:
        probabilities = evidence(graph, exact, wider, shares)
        label = most_likely(graph, probabilities, model.shares)
    believed = published(graph, counts, label, model.class_counts) if model.trust == "published" else probabilities
    return {"probabilities": probabilities, "label": label, "trust": of_label(graph, believed, label)}


def _overwritten(graph: Graph, mask: Value, judge: Callable[[Value], Verdict], found: Verdict) -> Verdict:
    """What was found, overwritten with what `judge` says of the rows of a mask."""

    def put(at: Value) -> list[Value]:
        said = judge(at)
        return [graph.put(before, at, said[name]) for name, before in found.items()]

    kinds = [KINDS[name] for name in found]
    return dict(zip(found, graph.where_any(mask, kinds, put, list(found.values())), strict=True))


def _inside_all_and_any(graph: Graph, model: SEPModel, sets: Value) -> tuple[Value, Value]:
    """Training rows of each class in every ellipsoid of a set, and in some, of shape (s, C); sets have shape (K, s)."""
    n_common = graph("MatMul", model.table.memberships.astype(np.float64), sets)
    in_all = graph("Equal", n_common, graph.total(sets, 0, keepdims=True))
    chosen = [graph.cast(one, "DOUBLE") for one in (in_all, graph("Greater", n_common, 0.0))]
    counted = [graph("MatMul", model.table.counts.T.astype(np.float64), one) for one in chosen]
    every, some = (graph("Transpose", one, perm=[1, 0]) for one in counted)
    return every, some
