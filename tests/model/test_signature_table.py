"""The signature table answers what a recount of all rows would."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sepc.model.locate import pack_sets
from sepc.model.signature_table import SignatureTable
from sepc.points.in_memory import ArrayPoints
from sepc.points.signatures import Signatures
from sepc.shapes.ellipsoid import Ellipsoid


def drawn(seed, K, n=300, d=2, C=3):
    rng = np.random.default_rng(seed)
    ellipsoids = tuple(Ellipsoid(rng.standard_normal(d), np.eye(d) * rng.uniform(0.5, 2)) for _ in range(K))
    return ellipsoids, rng.standard_normal((n, d)), rng.integers(C, size=n), rng


def table_of(ellipsoids, rows, labels, C=3):
    return SignatureTable.of_classes([ArrayPoints(rows[labels == c]).reduce(Signatures(ellipsoids)) for c in range(C)])


@pytest.mark.parametrize("K", [1, 5, 70])
def test_rules_equal_a_recount_on_ten_thousand_queries(K):
    ellipsoids, rows, labels, rng = drawn(K, K)
    table = table_of(ellipsoids, rows, labels)
    member = np.stack([e.contains(rows) for e in ellipsoids], axis=1)
    queries = rng.standard_normal((10_000, 2)) * 1.5
    sets = np.unique(np.stack([e.contains(queries) for e in ellipsoids], axis=1), axis=0)
    sets = np.vstack([sets, rng.random((50, K)) < 0.2])
    of_class = np.eye(3, dtype=int)[labels]
    for counted, wanted in (
        (table.inside_all(sets), (~(sets[:, None, :] & ~member[None])).all(axis=2) @ of_class),
        (table.inside_any(sets), (sets[:, None, :] & member[None]).any(axis=2) @ of_class),
    ):
        np.testing.assert_array_equal(counted, wanted)
    exact = (sets[:, None, :] == member[None]).all(axis=2) @ of_class
    place = table.find(pack_sets(sets))
    np.testing.assert_array_equal(np.where(place[:, None] >= 0, table.counts[place], 0), exact)


def test_no_ellipsoid_leaves_one_empty_set():
    table = SignatureTable.of_classes([ArrayPoints(np.zeros((n, 2))).reduce(Signatures(())) for n in (3, 4)])
    assert table.memberships.shape == (1, 0)
    np.testing.assert_array_equal(table.counts, [[3, 4]])
    np.testing.assert_array_equal(table.inside_all(np.zeros((2, 0), dtype=bool)), [[3, 4], [3, 4]])


@given(st.integers(0, 10_000))
def test_every_row_is_counted_once(seed):
    ellipsoids, rows, labels, _ = drawn(seed, seed % 9, n=40)
    table = table_of(ellipsoids, rows, labels)
    np.testing.assert_array_equal(table.counts.sum(axis=0), np.bincount(labels, minlength=3))
    assert len(np.unique(table.memberships, axis=0)) == len(table.memberships)
