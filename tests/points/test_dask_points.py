"""Sets on a cluster: every answer is bit for bit that of the same blocks in memory, and rows stay where they are."""

import dataclasses
import pickle

import numpy as np
import pytest
from optional import package_or_skip
from threadpoolctl import threadpool_limits

from sepc.geometry import ArrayPoints, BlockPoints, Ellipsoid
from sepc.model.counts import StackedSignatures
from sepc.points.proportional_sample import HIGHEST_HASH, RowCounts
from sepc.points.reductions import (
    BlockLabels,
    ColumnRange,
    CountInside,
    Farthest,
    Moments,
    ProjectionCounts,
    ProjectionRange,
    Signatures,
    Tail,
    points_by_class,
)
from sepc.points.row_digest import HashSample
from sepc.shapes.ellipsoid import HalfSpaces

dask = package_or_skip("dask")
da = package_or_skip("dask.array")

D = 4
SIZES = (700, 0, 1, 5000, 1, 0, 300)
ELLIPSOIDS = tuple(Ellipsoid(np.full(D, k / 3.0), np.eye(D) / (1 + k) + 0.01) for k in range(3))
DIRECTION = np.array([0.3, -0.2, 0.9, 0.1])


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
    Moments(),
    Moments(np.ones(D), np.arange(2.0 * D).reshape(D, 2)),
    ColumnRange(),
    ProjectionRange(np.eye(D)[:, :2] + 0.1, np.ones(D)),
    ProjectionCounts(DIRECTION, np.linspace(-1, 1, 9), np.ones(D)),
    Tail(DIRECTION, 0.1, 0.4),
    CountInside(ELLIPSOIDS),
    Signatures(ELLIPSOIDS),
    StackedSignatures.of(ELLIPSOIDS, D, 1e-9),
    Farthest(np.zeros(D), np.eye(D), 50),
    Farthest(np.zeros(D), np.eye(D), 50, above=9.0),
    HashSample(0.1, 3),
    RowCounts(3, 2**62, n_least=20, n_counters=50),
    RowCounts(3, HIGHEST_HASH, also=np.arange(3, dtype=np.uint64)),
]


def half(j, limit=0.0):
    return HalfSpaces(np.eye(D)[j : j + 1], np.array([limit]))


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
def sets(client, blocks, labels):
    """Pairs of sets, on the cluster and in blocks: all rows, and the rows of each class."""
    from sepc.points.engines import labelled_points

    there, classes, labels_found = labelled_points(collection(blocks), collection(labels))
    here, in_blocks, expected = points_by_class(blocks, [BlockLabels.of(own) for own in labels])
    assert labels_found.tolist() == expected.tolist() == ["a", "b"]
    return [*zip((there, *classes), (here, *in_blocks), strict=True)]


def bits(value):
    """Everything in an answer, arrays as bytes."""
    if dataclasses.is_dataclass(value):
        return [bits(getattr(value, field.name)) for field in dataclasses.fields(value)]
    if isinstance(value, tuple | list):
        return [bits(part) for part in value]
    return (value.shape, value.tobytes()) if isinstance(value, np.ndarray) else pickle.dumps(value)


def assert_same_bits(there, here):
    with threadpool_limits(1):
        assert (there.n_points, there.n_features) == (here.n_points, here.n_features)
        for reduction in REDUCTIONS:
            assert bits(there.reduce(reduction)) == bits(here.reduce(reduction)), reduction
        assert bits(there.gather(10_000)) == bits(here.gather(10_000))


def test_every_reduction_has_the_same_bits(sets):
    for there, here in sets:
        assert_same_bits(there, here)
    assert sets[0][0].n_points == sum(SIZES)


def test_splits_samples_and_unions_have_the_same_bits(sets):
    (_, (there, here), (other_there, other_here)) = sets
    parts = [*zip(there.split(half(0)), here.split(half(0)), strict=True)]
    parts += [*zip(parts[1][0].split(half(1)), parts[1][1].split(half(1)), strict=True)]
    parts += [(there.sample(0.3, 1), here.sample(0.3, 1))]
    parts += [(parts[2][0].sample(0.5, 2), parts[2][1].sample(0.5, 2))]
    parts += [(parts[0][0].union(other_there), parts[0][1].union(other_here))]
    parts += [tuple(points.split(ELLIPSOIDS[2])[1] for points in parts[-1])]
    for pair in parts:
        assert 0 < pair[0].n_points < sum(SIZES)
    assert_same_bits(*parts[1])
    assert_same_bits(*parts[5])
    assert_same_bits(*parts[-1])
    np.testing.assert_array_equal(parts[4][0].gather(9999), parts[4][1].gather(9999))


def test_an_emptied_set_is_as_empty_as_in_blocks(sets):
    (_, (there, here), _) = sets
    nowhere = half(0, 1e9)
    pair = there.split(nowhere)[0], here.split(nowhere)[0]
    assert pair[0].n_points == 0
    assert_same_bits(*pair)
    assert_same_bits(pair[0].union(pair[0]), pair[1].union(pair[1]))
    assert_same_bits(pair[0].union(there), pair[1].union(here))
    assert pair[0].split(half(1))[0].n_points == 0


def test_rescaled_rows_have_the_same_bits_and_one_copy(sets):
    shift, scale = np.linspace(-1, 1, D), np.linspace(0.5, 3, D)
    moved = [(there.rescaled(shift, scale), here.rescaled(shift, scale)) for there, here in sets]
    assert_same_bits(*moved[1])
    copies = {block.shard.key for there, _ in moved for block in there.blocks}
    assert len(copies) == len({block.shard.key for block in sets[0][0].blocks})


def test_what_makes_no_sense_is_refused_and_moves_nothing(sets):
    there = sets[0][0]
    before = there.traffic.n_bytes
    with pytest.raises(ValueError, match=r"6,002 rows \(192\.1 kB\) .* 6,001"):
        there.gather(6_001)
    with pytest.raises(TypeError, match="ArrayPoints"):
        there.union(ArrayPoints(np.zeros((1, D))))
    with pytest.raises(ValueError, match="4 and 2 features"):
        there.union(ArrayPoints(np.zeros((1, 2))))
    with pytest.raises(TypeError, match="DaskPoints"):
        BlockPoints([np.zeros((1, D))]).union(there)
    assert there.traffic.n_bytes == before


def test_a_pass_moves_only_its_answer(sets):
    there = sets[0][0]
    passes, before = there.traffic.n_passes, there.traffic.n_bytes
    there.reduce(Moments())
    assert there.traffic.n_passes == passes + 1
    moved = there.traffic.n_bytes - before
    assert 0 < moved < 600 * len(SIZES)
    inside, _ = there.split(half(0))
    inside.split(half(1))
    assert there.traffic.n_passes == passes + 3
    assert there.traffic.n_bytes - before - moved < 600 * len(SIZES)
