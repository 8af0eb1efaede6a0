"""Look up a set of ellipsoids in the signature table, with a perfect hash."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.locate import pack_sets
from sepc.onnx.graph import Graph, Value

# Weights of ellipsoids: sums of hundreds of them are exact in a double.
WEIGHTS = 2**31

# Slots and buckets per set: with few sets per bucket and many free slots, displacements are found quickly.
SLOTS = 4
BUCKETS = 1


@dataclass(frozen=True, eq=False)
class PerfectHash:
    """A set of ellipsoids with hashes `(a, b)` is in slot ``(a + displacements[b % G]) % P``, or unknown.

    Attributes
    ----------
    weights : (2, K) array
        Whole numbers; the hashes are their sums over the set.
    displacements : (G,) array
    slots : (P,) array
        Positions in the table.
    """

    weights: FloatArray
    displacements: IntArray
    slots: IntArray

    @classmethod
    def of(cls, sets: BoolArray) -> PerfectHash:
        """Find a perfect hash for the sets; deterministic."""
        rng = np.random.default_rng(0)
        while True:
            weights = rng.integers(1, WEIGHTS, size=(2, sets.shape[1])).astype(np.float64)
            displaced = _displaced(sets, weights)
            if displaced is not None:
                return cls(weights, *displaced)


def _displaced(sets: BoolArray, weights: FloatArray) -> tuple[IntArray, IntArray] | None:
    """Displacements and slots; None if two sets of a bucket collide with every displacement."""
    n_slots, n_buckets = SLOTS * len(sets) + 1, BUCKETS * len(sets)
    first, second = (sets.astype(np.float64) @ weights.T).astype(np.int64).T
    slots, displacements = np.full(n_slots, -1), np.zeros(n_buckets, dtype=np.int64)
    order = np.argsort(second % n_buckets, kind="stable")
    buckets, starts = np.unique(second[order] % n_buckets, return_index=True)
    shared = zip(buckets, np.split(order, starts[1:]), strict=True)
    # The fullest buckets first, while many slots are free.
    for bucket, own in sorted(shared, key=lambda item: -len(item[1])):
        if len(np.unique(first[own] % n_slots)) < len(own):
            return None
        for displacement in range(n_slots):
            places = (first[own] + displacement) % n_slots
            if (slots[places] < 0).all():
                slots[places], displacements[bucket] = own, displacement
                break
        else:
            return None
    return displacements, np.maximum(slots, 0)


def find(graph: Graph, memberships: Value, sets: BoolArray) -> tuple[Value, Value, Value]:
    """The row of the table, whether it holds exactly this set, and the size of the set; each of shape (n,).

    `memberships` has shape (K, n); `sets`, the sets in the table, has shape (T, K).
    """
    K = sets.shape[1]
    hashing, words = PerfectHash.of(sets), pack_sets(np.eye(K, dtype=bool)).T
    codes = graph.cast(graph("MatMul", np.vstack([words, hashing.weights, np.ones((1, K))]), memberships), "INT64")
    n_words = len(words)
    own, first, second, size = graph.split(codes, [n_words, 1, 1, 1])
    displacement = graph("Gather", hashing.displacements, graph("Mod", second, np.int64(len(hashing.displacements))))
    slot = graph("Mod", graph("Add", first, displacement), np.int64(len(hashing.slots)))
    row = graph("Squeeze", graph("Gather", hashing.slots, slot), [0])
    is_known = graph("Equal", graph("Gather", pack_sets(sets).astype(np.int64).T, row, axis=1), own)
    if n_words > 1:
        is_known = graph.cast(graph("ReduceMin", graph.cast(is_known, "INT32"), [0]), "BOOL")
    return row, graph("Squeeze", is_known, [0]), graph("Squeeze", size, [0])
