"""Classification by counts, in the graph: mirrors `sepc.model.rules`, up to the trust of a label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sepc._typing import FloatArray
from sepc.model.count_rules import judge_sets
from sepc.model.sep_model import SEPModel
from sepc.onnx.graph import Graph, Value
from sepc.onnx.locating import Geometry
from sepc.onnx.lookup import find
from sepc.onnx.nearest import distances_to_places, first_of, gauges
from sepc.onnx.trust import most_likely, of_label, published, smoothed

# The outputs of a rule by name, and their types.
Verdict = dict[str, Value]
KINDS = {"probabilities": "DOUBLE", "label": "INT64", "trust": "DOUBLE", "region": "INT64"}


def judged(graph: Graph, model: SEPModel, geometry: Geometry) -> tuple[Verdict, Value]:
    """Label (as a position), trust, probabilities and region, and whether each row lies in an ellipsoid."""
    if geometry.squared is None:
        outside = graph("Expand", np.array([True]), graph("Slice", graph("Shape", geometry.columns), [1], [2]))
        row = graph.cast(graph("Not", outside), "INT64")
        verdict = _of_table(graph, model, row)
    else:
        memberships = graph.cast(graph("LessOrEqual", geometry.squared, 1.0 + model.slack), "DOUBLE")
        row, is_known, size = find(graph, memberships, model.table.memberships)
        outside = graph("Equal", size, np.int64(0))
        unseen = graph("Not", graph("Or", is_known, outside))
        verdict = _with_unseen(graph, model, memberships, unseen, _of_table(graph, model, row))
    return _with_outside(graph, model, geometry, outside, verdict), graph("Not", outside)


def _of_table(graph: Graph, model: SEPModel, row: Value) -> Verdict:
    """The verdict for sets of ellipsoids that training rows have; that of the empty set is overwritten later."""
    seen = judge_sets(model, model.table.memberships)
    return {name: graph("Gather", getattr(seen, name), row, axis=0) for name in KINDS}


def _with_unseen(graph: Graph, model: SEPModel, memberships: Value, unseen: Value, verdict: Verdict) -> Verdict:
    """Rules R1, R2a and R2b for sets of ellipsoids that no training row has."""

    def judge(at: Value) -> Verdict:
        sets = graph("Gather", memberships, at, axis=1)
        in_all, in_any = _inside_all_and_any(graph, model, sets)
        nobody = graph("Equal", graph.total(in_all, 1, keepdims=True), 0.0)
        wider = graph("Where", nobody, in_any, in_all)
        is_single = graph("Equal", graph.total(sets, 0), 1.0)
        owner = graph("ArgMax", sets, axis=0, keepdims=0)
        owner = graph("Where", is_single, graph("Gather", model.owners, owner), np.int64(-1))
        own_verdict = _verdict(graph, model, graph("Mul", wider, 0.0), wider, wider, model.shares, owner)
        own_verdict["region"] = graph("Where", is_single, np.int64(-1), np.int64(-1))
        return own_verdict

    return _overwritten(graph, unseen, judge, verdict)


def _with_outside(graph: Graph, model: SEPModel, geometry: Geometry, outside: Value, verdict: Verdict) -> Verdict:
    """Case 3: as if in the nearest ellipsoid or at the nearest isolated row, fading with distance."""

    def judge(at: Value) -> Verdict:
        own = geometry.some(graph, at)
        place, distance, near = first_of(graph, distances_to_places(graph, model, own))
        gauge = gauges(graph, model, own.squared, place, distance)
        exact, counts, owner = _counted(graph, model, place, near)
        larger = graph("Max", gauge, 1.0)
        fading = graph("Unsqueeze", graph("Reciprocal", graph("Mul", larger, larger)), [1])
        exact, faded = graph("Mul", exact, fading), graph("Mul", counts, fading)
        equal = np.full(len(model.classes), 1.0 / len(model.classes))
        own_verdict = _verdict(graph, model, exact, faded, counts, equal, owner)
        own_verdict["region"] = graph("Add", place, np.int64(len(model.table.counts)))
        return own_verdict

    return _overwritten(graph, outside, judge, verdict)


def _counted(graph: Graph, model: SEPModel, place: Value, near: Value) -> tuple[Value, Value, Value]:
    """Training rows of each class exactly at the nearest place and in it at all, of shape (n, C), and its class.

    Where several places tie, the rows they share are counted, or all their rows if they share none; the class is -1.
    """
    K, J, every = model.n_ellipsoids, len(model.isolated), np.arange(model.n_places)
    exact = graph("Gather", model.exact_at(every).astype(np.float64), place)
    counts = graph("Gather", model.counts_at(every).astype(np.float64), place)
    owner = graph("Gather", model.place_owners, place)
    tied = graph("Greater", graph.total(graph.cast(near, "INT64"), 0), np.int64(1))

    def count(at: Value) -> list[Value]:
        places = graph.cast(graph("Gather", near, at, axis=1), "DOUBLE")
        at_isolated = np.concatenate([np.zeros((K, len(model.classes))), model.counts_at(every[K:])])
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


def _verdict(
    graph: Graph, model: SEPModel, exact: Value, wider: Value, counts: Value, shares: FloatArray, owner: Value
) -> Verdict:
    """Label, probabilities and trust, as `sepc.model.rules._judge`; `counts` are `wider` before fading."""
    if model.published:
        alone = graph("GreaterOrEqual", owner, np.int64(0))
        label = graph("Where", alone, owner, most_likely(graph, counts, model.shares))
        probabilities = published(graph, counts, label, model.class_counts)
    else:
        probabilities = smoothed(graph, exact, wider, shares)
        label = most_likely(graph, probabilities, model.shares)
    believed = published(graph, counts, label, model.class_counts) if model.trust == "published" else probabilities
    return {"probabilities": probabilities, "label": label, "trust": of_label(graph, believed, label)}


def _overwritten(graph: Graph, mask: Value, judge: Callable[[Value], Verdict], verdict: Verdict) -> Verdict:
    """The verdict, replaced by that of `judge` for the rows of a mask."""

    def put(at: Value) -> list[Value]:
        own_verdict = judge(at)
        return [graph.put(before, at, own_verdict[name]) for name, before in verdict.items()]

    kinds = [KINDS[name] for name in verdict]
    return dict(zip(verdict, graph.where_any(mask, kinds, put, list(verdict.values())), strict=True))


def _inside_all_and_any(graph: Graph, model: SEPModel, sets: Value) -> tuple[Value, Value]:
    """Training rows of each class in every ellipsoid of a set, and in some, of shape (s, C); sets have shape (K, s)."""
    n_common = graph("MatMul", model.table.memberships.astype(np.float64), sets)
    in_all = graph("Equal", n_common, graph.total(sets, 0, keepdims=True))
    masks = [graph.cast(mask, "DOUBLE") for mask in (in_all, graph("Greater", n_common, 0.0))]
    counts = [graph("MatMul", model.table.counts.T.astype(np.float64), mask) for mask in masks]
    every, some = (graph("Transpose", n_rows, perm=[1, 0]) for n_rows in counts)
    return every, some
