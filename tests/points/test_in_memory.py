"""Point sets in memory: blocks behave as one array, and only one of them is held at a time."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reading import MadeOnDemand, made_rows

from sepc.geometry import ArrayPoints, BlockPoints
from sepc.points.reductions import ColumnRange, CountInside, Moments, ProjectionCounts, Signatures, Tail


@dataclass(frozen=True)
class Beyond:
    feature: int
    limit: float

    def contains(self, rows):
        return rows[:, self.feature] > self.limit


class Concatenated:
    """A reduction that writes down how it was combined."""

    def map(self, block):
        return str(int(block[0, 0]))

    def combine(self, left, right):
        return f"({left}{right})"

    def finish(self, state):
        return state


CELLS = st.sampled_from([-1.0, 0.0, 0.5, 1.0]) | st.floats(-10, 10)


@st.composite
def array_and_blocks(draw, d=2):
    rows = draw(arrays(np.float64, (draw(st.integers(0, 12)), d), elements=CELLS))
    cuts = sorted(draw(st.lists(st.integers(0, len(rows)), max_size=5)))
    return ArrayPoints(rows), BlockPoints(np.split(rows, cuts))


def assert_same_rows(left, right):
    assert (left.n_points, left.n_features) == (right.n_points, right.n_features)
    np.testing.assert_array_equal(left.gather(100), right.gather(100))


@given(array_and_blocks(), st.lists(CELLS, max_size=3))
def test_splits_of_splits_agree(pair, limits):
    array, blocks = pair
    for i, limit in enumerate(limits):
        inside, outside = array.split(Beyond(i % 2, limit))
        blocks_inside, blocks_outside = blocks.split(Beyond(i % 2, limit))
        assert_same_rows(inside, blocks_inside)
        assert_same_rows(outside, blocks_outside)
        assert (inside.gather(100)[:, i % 2] > limit).all()
        assert not (outside.gather(100)[:, i % 2] > limit).any()
        assert inside.n_points + outside.n_points == array.n_points
        array, blocks = outside, blocks_outside


@given(array_and_blocks(), array_and_blocks(), CELLS)
def test_unions_agree(first, second, limit):
    expected = np.concatenate((first[0].rows, second[0].split(Beyond(0, limit))[0].rows))
    for left in first:
        for right in second:
            joined = left.union(right.split(Beyond(0, limit))[0])
            assert_same_rows(joined, ArrayPoints(expected))


@given(array_and_blocks(), CELLS, st.floats(0, 1), st.integers(0, 5))
def test_samples_agree_also_after_a_split(pair, limit, share, seed):
    array, blocks = pair
    assert_same_rows(array.sample(share, seed), blocks.sample(share, seed))
    kept = array.split(Beyond(0, limit))[0]
    sample = blocks.split(Beyond(0, limit))[0].sample(share, seed)
    assert_same_rows(kept.sample(share, seed), sample)
    # A row is chosen for what it is: sampling and splitting may trade places.
    assert_same_rows(blocks.sample(share, seed).split(Beyond(0, limit))[0], sample)


@given(array_and_blocks(), CELLS)
def test_reductions_of_a_union_of_parts_agree_with_the_whole(pair, limit):
    array, blocks = pair
    inside, outside = blocks.split(Beyond(1, limit))
    again = outside.union(inside)
    regions = (Beyond(0, 0.0), Beyond(1, 0.5))
    assert (again.reduce(CountInside(regions)) == array.reduce(CountInside(regions))).all()
    assert (again.reduce(Signatures(regions)).counts == array.reduce(Signatures(regions)).counts).all()
    np.testing.assert_array_equal(again.reduce(ColumnRange()), array.reduce(ColumnRange()))
    np.testing.assert_allclose(again.reduce(Moments()).scatter, array.reduce(Moments()).scatter, rtol=1e-12, atol=1e-12)


def test_union_drops_emptied_blocks_and_chains_stay_flat():
    source = MadeOnDemand(n_blocks=3, n_rows=5)
    points = BlockPoints(source)
    none, everything = points.split(Beyond(0, np.inf))
    assert len(none.union(none).blocks) == 1
    assert none.union(none).n_points == 0
    joined = everything
    # More unions than Python's calls may nest.
    for _ in range(2000):
        joined = joined.union(none)
    assert len(joined.blocks) == 3
    assert_same_rows(joined, points)


def test_one_block_at_a_time_is_in_memory():
    source = MadeOnDemand(n_blocks=5, n_rows=50)
    rows = np.concatenate([made_rows(i, 50) for i in range(5)])
    points = BlockPoints(source)
    reductions = [
        Moments(),
        ColumnRange(),
        CountInside((Beyond(0, 1.0),)),
        Signatures((Beyond(0, 1.0),)),
        ProjectionCounts(np.ones(2), np.zeros(1)),
        Tail(np.ones(2), 0.0, 1.0),
    ]
    for reduction in reductions:
        source.asked_for.clear()
        points.reduce(reduction)
        assert source.asked_for == [0, 1, 2, 3, 4]
    inside, _ = points.split(Beyond(0, 2.0))
    np.testing.assert_array_equal(inside.gather(250), rows[rows[:, 0] > 2.0])
    assert inside.sample(0.5, 0).union(inside).n_points > inside.n_points


def test_an_emptied_block_is_never_asked_for_again():
    source = MadeOnDemand(n_blocks=5, n_rows=20)
    far, _ = BlockPoints(source, shapes=[(20, 2)] * 5).split(Beyond(0, 3.5))
    assert source.asked_for == [0, 1, 2, 3, 4]
    left = [i for i in range(5) if (made_rows(i, 20)[:, 0] > 3.5).any()]
    assert 0 < len(left) < 5
    source.asked_for.clear()
    far.reduce(Moments())
    far.split(Beyond(1, 0.0))
    far.sample(0.5, 0)
    far.gather(1000)
    assert source.asked_for == left * 4


def test_blocks_may_lie_in_a_file(tmp_path):
    rows = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    np.save(tmp_path / "rows.npy", rows)
    on_disk = np.load(tmp_path / "rows.npy", mmap_mode="r")
    points = BlockPoints([on_disk[:40], on_disk[40:]])
    assert points.gather(100).dtype == np.float64
    assert_same_rows(points.split(Beyond(0, 0.0))[0], ArrayPoints(rows[rows[:, 0] > 0]))


@pytest.mark.parametrize(
    ("n_blocks", "tree"), [(1, "0"), (2, "(01)"), (3, "((01)2)"), (4, "((01)(23))"), (7, "(((01)(23))((45)6))")]
)
def test_states_are_combined_in_order_in_a_fixed_tree(n_blocks, tree):
    assert BlockPoints([np.full((1, 1), i) for i in range(n_blocks)]).reduce(Concatenated()) == tree


@pytest.mark.parametrize("make", [ArrayPoints, lambda rows: BlockPoints(np.array_split(rows, 3))])
def test_gather_refuses_too_many_rows_in_their_numbers_before_it_reads(make):
    points = make(np.zeros((2_000, 20)))
    assert points.gather(2_000).shape == (2_000, 20)
    with pytest.raises(ValueError, match=r"2,000 rows \(320\.0 kB\) .* 1,999\. Raise local_rows"):
        points.gather(1_999)
    source = MadeOnDemand(n_blocks=48, n_rows=1)
    points = BlockPoints(source, shapes=[(1_000_000, 20)] * 48)
    assert (points.n_points, points.n_features) == (48_000_000, 20)
    with pytest.raises(ValueError, match=r"48,000,000 rows \(7\.7 GB\)"):
        points.gather(1_000_000)
    assert source.asked_for == []


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ArrayPoints(np.zeros(3)), r"\(3,\)"),
        (lambda: BlockPoints([]), "at least one block"),
        (lambda: BlockPoints([np.zeros((1, 2)), np.zeros((1, 3))]), r"\(1, 2\), \(1, 3\)"),
        (lambda: ArrayPoints(np.zeros((1, 2))).union(ArrayPoints(np.zeros((1, 3)))), "2 and 3 features"),
        (lambda: BlockPoints([np.zeros((1, 2))]).union(ArrayPoints(np.zeros((1, 3)))), "2 and 3 features"),
        (lambda: BlockPoints([np.zeros((2, 1))], kept=[np.ones(3, dtype=bool)]), "3 marks"),
        (lambda: BlockPoints([np.zeros((2, 1))], kept=[None, None]), "2 masks"),
    ],
)
def test_what_is_no_set_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
