"""Rows on a cluster: every answer is bit for bit that of the same blocks in memory, and rows stay where they are."""

import dataclasses
import pickle

import numpy as np
import pytest
from optional import package_or_skip
from same_model import in_blocks
from threadpoolctl import threadpool_limits

from sepc.geometry import Ellipsoid
from sepc.model.counts import Signatures
from sepc.points.proportional_sample import HIGHEST_HASH, RowCounts
from sepc.points.reductions import AllRows, ColumnRange, Moments, Transformed
from sepc.points.row_digest import RowDigest

dask = package_or_skip("dask")
da = package_or_skip("dask.array")

D = 4
SIZES = (700, 0, 1, 5000, 1, 0, 300)
ELLIPSOIDS = tuple(Ellipsoid(np.full(D, k / 3.0), np.eye(D) / (1 + k) + 0.01) for k in range(3))


class Concatenated:
    """A reduction that writes down how the blocks are combined."""

    def map(self, block):
        return str(len(block))

    def combine(self, left, right):
        return f"({left} {right})"

    def finish(self, state):
        return state


REDUCTIONS = [
    Concatenated(),
    AllRows(),
    Moments(),
    Moments(np.ones(D), np.arange(2.0 * D).reshape(D, 2)),
    Transformed(Moments(), np.ascontiguousarray),
    ColumnRange(),
    Signatures.of(ELLIPSOIDS, D, 1e-9),
    RowCounts(3, 2**62, n_least=20, n_counters=50),
    RowCounts(3, HIGHEST_HASH, also=np.arange(3, dtype=np.uint64)),
    RowDigest("a"),
]


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    # Two sizes of rows, so that sums depend on the order they are taken in.
    return [rng.standard_normal((n, D)) * rng.choice([1.0, 1e3], size=(n, 1)) for n in SIZES]


@pytest.fixture(scope="module")
def labels(blocks):
    return [np.where(block[:, 0] + 0.1 * np.arange(len(block)) % 1 > 0.5, "b", "a") for block in blocks]


def collection(parts):
    """A Dask array whose blocks are these arrays, of sizes it does not know."""
    shape = (np.nan, *parts[0].shape[1:])
    return da.concatenate([da.from_delayed(dask.delayed(part), shape, part.dtype) for part in parts])


@pytest.fixture
def there(client, blocks, labels):
    from sepc.points.engines import labelled_blocks

    return labelled_blocks(collection(blocks), collection(labels))[0]


def bits(value):
    """Everything in an answer, arrays as bytes."""
    if dataclasses.is_dataclass(value):
        return [bits(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple | list):
        return [bits(part) for part in value]
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else pickle.dumps(value)


def test_every_reduction_has_the_same_bits(there, blocks, labels):
    here = in_blocks(blocks, labels)
    assert (there.labels.tolist(), there.sizes, there.n_columns) == (here.labels.tolist(), here.sizes, D)
    assert (here.labels.tolist(), sum(here.sizes)) == (["a", "b"], sum(SIZES))
    with threadpool_limits(1):
        for reduction in REDUCTIONS:
            assert bits(there.reduce(reduction)) == bits(here.reduce(reduction)), reduction
            for asked in ({0: reduction, 1: reduction}, {1: reduction}):
                answers, expected = there.reduce_each(asked), here.reduce_each(asked)
                assert bits([*answers.values()]) == bits([*expected.values()]), reduction
        for found, expected in zip(there.gathered().arrays, here.gathered().arrays, strict=True):
            assert bits(found.rows) == bits(expected.rows)


def test_a_pass_brings_only_its_answer_here(there, monkeypatch):
    from sepc.points import engines

    moved, waiting = [], engines.answers_of

    def watched(client, futures):
        moved.extend(waiting(client, futures))
        return moved[-1:]

    monkeypatch.setattr(engines, "answers_of", watched)
    there.reduce(Moments())
    assert len(moved) == 1
    assert len(moved[0]) < 1000
