"""Samples drawn by hash: the right share, the same rows everywhere."""

import numpy as np
import pytest
from scipy import stats

from sepc.points.row_hash import is_sampled, row_hashes
from sepc.points.tiles import TILE_ROWS


def test_equal_rows_have_equal_hashes_in_any_layout():
    rows = np.random.default_rng(0).normal(size=(TILE_ROWS + 100, 3))
    hashes = row_hashes(rows, seed=5)
    assert (row_hashes(np.asfortranarray(rows), 5) == hashes).all()
    assert (row_hashes(rows[::-7], 5) == hashes[::-7]).all()
    assert row_hashes(rows[17:18], 5)[0] == hashes[17]
    assert len(np.unique(hashes)) == len(rows)


def test_negative_zero_is_zero():
    assert row_hashes(np.array([[-0.0, 1.0]]), 0) == row_hashes(np.array([[0.0, 1.0]]), 0)


def test_hashes_depend_on_every_column_its_place_and_the_seed():
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0], [3.0, 2.0]])
    hashes = [*row_hashes(rows, 0), *row_hashes(rows, 1), *row_hashes(rows, -1)]
    assert len(set(hashes)) == len(hashes)


def test_hashes_are_the_same_on_every_machine_and_in_every_release():
    assert row_hashes(np.array([[1.0, -2.5]]), 7).tolist() == [13633646694616567665]


@pytest.mark.parametrize("share", [0.001, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("kind", ["integers", "normal", "grid"])
def test_a_sample_has_its_share(share, kind):
    n = 40_000
    rows = {
        "integers": np.arange(n, dtype=np.float64).reshape(-1, 1),
        "normal": np.random.default_rng(1).normal(size=(n, 2)),
        "grid": np.indices((200, 200)).reshape(2, -1).T.astype(np.float64),
    }[kind]
    n_kept = int(is_sampled(rows, share, seed=11).sum())
    assert stats.binomtest(n_kept, n, share).pvalue > 1e-4


@pytest.mark.parametrize("distance", [1, 2, 1024])
def test_the_fates_of_neighbouring_integers_are_unrelated(distance):
    kept = is_sampled(np.arange(40_000.0).reshape(-1, 1), 0.5, seed=0)
    table = np.histogram2d(kept[:-distance], kept[distance:], bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_the_fates_under_two_seeds_are_unrelated():
    rows = np.arange(40_000.0).reshape(-1, 1)
    table = np.histogram2d(is_sampled(rows, 0.5, 0), is_sampled(rows, 0.5, 1), bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-4


@pytest.mark.parametrize("bit", range(0, 64, 9))
def test_every_bit_of_the_hash_is_set_half_of_the_time(bit):
    hashes = row_hashes(np.arange(20_000.0).reshape(-1, 1), 3)
    n_set = int((hashes >> np.uint64(bit) & np.uint64(1)).sum())
    assert stats.binomtest(n_set, len(hashes)).pvalue > 1e-4


def test_a_larger_share_keeps_the_rows_of_a_smaller_one():
    rows = np.random.default_rng(2).normal(size=(1000, 2))
    small, large = is_sampled(rows, 0.2, 9), is_sampled(rows, 0.4, 9)
    assert small.any()
    assert not (small & ~large).any()


def test_all_rows_or_none():
    rows = np.random.default_rng(3).normal(size=(1000, 2))
    assert is_sampled(rows, 1.0, 0).all()
    assert not is_sampled(rows, 0.0, 0).any()


@pytest.mark.parametrize("share", [-0.1, 1.1, np.nan])
def test_a_share_lies_between_zero_and_one(share):
    with pytest.raises(ValueError, match="between 0 and 1"):
        is_sampled(np.zeros((1, 1)), share, 0)
