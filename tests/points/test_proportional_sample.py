"""Samples keep of every row its share of copies, and are the same on every engine and in any order of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optional import package_or_skip
from same_model import in_blocks

from sepc.points.blocks import LabelledBlocks
from sepc.points.in_memory import ArrayPoints, ClassArrays
from sepc.points.proportional_sample import HIGHEST_HASH, MemoryLimits, RowCounts, sample_classes
from sepc.points.row_digest import row_hashes

SMALL = MemoryLimits(n_rows=4, n_counters=4)
CELLS = st.sampled_from([-1.0, -0.0, 0.0, 0.5]) | st.floats(-10, 10)


def in_arrays(*classes):
    return ClassArrays(tuple(map(ArrayPoints, classes)))


def of_one_class(blocks):
    return in_blocks(blocks, [np.zeros(len(block)) for block in blocks])


def sample(rows, n_wanted, seed=0, n_least=0, **options):
    return sample_classes(in_arrays(rows), n_wanted, seed, n_least, **options)[0]


class Counted:
    """Blocks that count how often all of them are read."""

    def __init__(self, blocks):
        self.blocks, self.n_passes = blocks, 0

    def map_blocks(self, function, combine):
        self.n_passes += 1
        return self.blocks.map_blocks(function, combine)


def n_passes(rows, n_wanted, **options):
    found = of_one_class([rows])
    counted = Counted(found.blocks)
    sample_classes(LabelledBlocks(counted, found.n_columns, found.labels, found.sizes), n_wanted, 0, 0, **options)
    return counted.n_passes


def copies(rows, row):
    return int((rows == row).all(axis=1).sum())


def distinct(n, d=2, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@st.composite
def shuffled_blocks(draw):
    """The same rows three times: in an array, in blocks, and shuffled in other blocks."""
    few = draw(arrays(np.float64, (draw(st.integers(1, 12)), 2), elements=CELLS))
    rows = np.repeat(few, draw(st.lists(st.integers(1, 9), min_size=len(few), max_size=len(few))), axis=0)
    order = np.array(draw(st.permutations(range(len(rows)))))
    cuts = [sorted(draw(st.lists(st.integers(0, len(rows)), max_size=5))) for _ in range(2)]
    return rows, of_one_class(np.split(rows, cuts[0])), of_one_class(np.split(rows[order], cuts[1]))


@given(
    shuffled_blocks(),
    st.integers(1, 60),
    st.integers(0, 3),
    st.sampled_from([SMALL, MemoryLimits(6, 20), MemoryLimits()]),
)
def test_any_blocking_and_order_gives_the_same_sample(case, n_wanted, seed, limits):
    rows, blocks, shuffled = case
    drawn = sample(rows, n_wanted, seed, limits=limits)
    for points in (blocks, shuffled):
        (other,) = sample_classes(points, n_wanted, seed, 0, limits)
        assert other.weight == drawn.weight
        assert other.rows.tobytes() == drawn.rows.tobytes()
    assert (np.diff(row_hashes(drawn.rows, seed).astype(float)) >= 0).all()
    assert all(copies(drawn.rows, row) <= copies(rows, row) for row in rows)


@pytest.mark.parametrize("seed", range(3))
def test_large_sets_in_blocks_shuffled_give_the_same_sample(seed):
    rng = np.random.default_rng(seed)
    rows = distinct(6000, seed=seed)
    rows[rng.random(6000) < 0.3] = rows[0]
    rows[3000:] = rows[rng.integers(3000, size=3000)]
    limits = MemoryLimits(200, 60)
    drawn = sample(rows, 100, seed, limits=limits)
    shuffled = of_one_class(np.array_split(rng.permutation(rows), 37))
    assert sample_classes(shuffled, 100, seed, 0, limits)[0].rows.tobytes() == drawn.rows.tobytes()
    assert len(drawn.rows) == 100
    assert abs(copies(drawn.rows, rows[0]) - copies(rows, rows[0]) / 60) < 1


@given(st.lists(st.integers(1, 200), min_size=1, max_size=30), st.integers(1, 3000), st.integers(0, 9))
def test_copies_are_kept_in_proportion_and_the_size_is_right(counts, n_wanted, seed):
    rows = np.repeat(np.arange(float(len(counts))), counts)[:, np.newaxis]
    n_wanted = min(n_wanted, len(rows))
    kept = sample(rows, n_wanted, seed).rows
    n_copies = np.bincount(kept[:, 0].astype(int), minlength=len(counts))
    assert (np.abs(n_copies - np.array(counts) * n_wanted / len(rows)) < 1 + 1e-9).all()
    assert len(kept) == n_wanted


@pytest.mark.parametrize("share", [0.01, 0.05, 0.4])
def test_a_frequent_row_keeps_its_share_beside_many_distinct_ones(share):
    rows = distinct(20_000)
    rows[: int(20_000 * share)] = 0.0
    limits = MemoryLimits(400, 400)
    for seed in range(10):
        kept = sample(rows, 300, seed, limits=limits).rows
        assert abs(copies(kept, 0.0) - 300 * share) < 1
        assert len(kept) == 300


def test_every_row_is_drawn_as_often_as_its_copies_say():
    counts = np.array([1] * 60 + [3] * 30 + [8] * 10 + [300])
    rows = np.repeat(np.arange(float(len(counts))), counts)[:, np.newaxis]
    n_seeds, n_wanted = 1000, 20
    n_copies = np.zeros(len(counts))
    for seed in range(n_seeds):
        kept = sample(rows, n_wanted, seed, limits=MemoryLimits(30, 8)).rows
        n_copies += np.bincount(kept[:, 0].astype(int), minlength=len(counts))
    expected = n_seeds * n_wanted * counts / len(rows)
    for own in (slice(0, 60), slice(60, 90), slice(90, 100), slice(100, 101)):
        assert n_copies[own].sum() == pytest.approx(expected[own].sum(), rel=0.07)
    assert (np.abs(n_copies - expected) < 6 * np.sqrt(expected * 8) + 1).all()


def test_every_class_keeps_its_fewest_rows_and_knows_their_weight():
    rows = distinct(30_000)
    classes = in_arrays(*np.split(rows, [10, 3010]))
    samples = sample_classes(classes, n_wanted=3000, seed=1)
    assert [len(drawn.rows) for drawn in samples] == [10, 1000, 2699]
    assert [drawn.weight for drawn in samples] == [1.0, 3.0, 26_990 / 2699]
    samples = sample_classes(classes, n_wanted=3000, seed=1, n_least=0)
    assert [len(drawn.rows) for drawn in samples] == [1, 300, 2699]


def test_another_seed_draws_other_rows():
    rows = distinct(1000)
    first, second = ({row.tobytes() for row in sample(rows, 100, seed).rows} for seed in (0, 1))
    assert len(first & second) < 30


def test_equal_few_and_all_rows():
    rows = np.full((5000, 3), 0.1)
    for limits in (MemoryLimits(), SMALL):
        drawn = sample(rows, 70, limits=limits)
        assert (drawn.rows == rows[:70]).all()
        assert drawn.weight == 5000 / 70
    assert sample(np.ones((1, 2)), 5).rows.tolist() == [[1.0, 1.0]]
    assert sample(np.ones((0, 2)), 5).rows.shape == (0, 2)
    rows = np.repeat(distinct(10), 5, axis=0)
    for n_wanted in (50, 51, 10**6):
        drawn = sample(rows, n_wanted)
        assert drawn.weight == 1.0
        assert sorted(drawn.rows.tolist()) == sorted(rows.tolist())


def test_rows_that_do_not_repeat_and_few_that_do_take_one_pass():
    rows, limits = distinct(20_000), MemoryLimits(100, 100)
    assert n_passes(rows, 20, limits=limits) == n_passes(rows, 5000, limits=limits) == 1
    assert n_passes(rows[np.arange(20_000) % 50], 20, limits=limits) == 1
    assert n_passes(rows[np.arange(20_000) % 2000], 200, limits=limits) == 2
    assert n_passes(np.where(np.arange(20_000)[:, np.newaxis] % 20, rows, 0.0), 20, limits=limits) == 2


def test_classes_of_the_same_blocks_share_passes():
    rows = distinct(3000)
    rows[::3] = 0.0
    parts, labels = np.array_split(rows, 3), np.array_split(np.arange(3000) % 2, 3)
    found = in_blocks(parts, labels)
    blocks = Counted(found.blocks)
    classes = LabelledBlocks(blocks, found.n_columns, found.labels, found.sizes)
    samples = sample_classes(classes, 40, 0, 0, MemoryLimits(40, 40))
    assert blocks.n_passes == 2
    for k, drawn in enumerate(samples):
        assert drawn.rows.tobytes() == sample(rows[k::2], 20, limits=MemoryLimits(40, 40)).rows.tobytes()


@given(st.lists(st.lists(st.integers(0, 12), max_size=30), min_size=1, max_size=6), st.integers(1, 5))
def test_frequent_hashes_are_found_however_rows_come(blocks, n_counters):
    look = RowCounts(0, HIGHEST_HASH, n_counters=n_counters)
    states = [look.map(np.array(block, dtype=float).reshape(-1, 1)) for block in blocks]
    state = states[0]
    for other in states[1:]:
        state = look.combine(state, other)
    n = sum(map(len, blocks))
    assert state.frequent.n_lost <= n / (n_counters + 1)
    assert len(state.frequent.hashes) <= n_counters
    many = state.held.hashes[state.held.counts > n / (n_counters + 1)]
    assert np.isin(many, state.frequent.may_exceed(n / (n_counters + 1))).all()
    held = dict(zip(state.held.hashes.tolist(), state.held.counts.tolist(), strict=True))
    for hashed, count in zip(state.frequent.hashes.tolist(), state.frequent.counts.tolist(), strict=True):
        assert count <= held[hashed] <= count + state.frequent.n_lost


@pytest.mark.parametrize("limits", [MemoryLimits(), MemoryLimits(200, 100)])
def test_a_cluster_draws_the_sample_of_the_same_rows(client, limits):
    dask, da = package_or_skip("dask"), package_or_skip("dask.array")
    from sepc.points.engines import labelled_blocks

    rng = np.random.default_rng(0)
    rows = distinct(5000, 3)
    rows[rng.random(5000) < 0.2] = 0.0
    labels = np.where(rng.random(5000) < 0.3, "b", "a")
    cuts = [700, 700, 701, 4000]
    parts = [da.from_delayed(dask.delayed(part), (np.nan, 3), float) for part in np.split(rows, cuts)]
    targets = [da.from_delayed(dask.delayed(part), (np.nan,), labels.dtype) for part in np.split(labels, cuts)]
    there, _ = labelled_blocks(da.concatenate(parts), da.concatenate(targets))
    here = in_blocks(np.split(rows, cuts), np.split(labels, cuts))
    arrays_of_classes = in_arrays(*(rows[labels == k] for k in "ab"))
    expected = [sample_classes(sets, 300, 5, 100, limits) for sets in (here, arrays_of_classes)]
    for k, drawn in enumerate(sample_classes(there, 300, 5, 100, limits)):
        for samples in expected:
            assert (drawn.weight, drawn.rows.tobytes()) == (samples[k].weight, samples[k].rows.tobytes())
