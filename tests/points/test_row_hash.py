"""Hashes of rows: the same everywhere, and as good as random, so that a low hash is a fair lot."""

import numpy as np
import pytest
from scipy import stats

from sepc.points.row_digest import N_HASHES, row_hashes


def is_low(rows, share, seed):
    return row_hashes(rows, seed) < np.uint64(int(share * N_HASHES))


def test_hashes_depend_on_values_columns_and_seed_alone_on_every_machine_and_in_every_release():
    rows = np.random.default_rng(0).normal(size=(5_000, 3))
    hashes = row_hashes(rows, seed=5)
    assert (row_hashes(np.asfortranarray(rows), 5) == hashes).all()
    assert (row_hashes(rows[::-7], 5) == hashes[::-7]).all()
    assert row_hashes(rows[17:18], 5)[0] == hashes[17]
    assert len(np.unique(hashes)) == len(rows)
    assert row_hashes(np.array([[-0.0, 1.0]]), 0) == row_hashes(np.array([[0.0, 1.0]]), 0)
    rows = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0], [3.0, 2.0]])
    hashes = [*row_hashes(rows, 0), *row_hashes(rows, 1), *row_hashes(rows, -1)]
    assert len(set(hashes)) == len(hashes)
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
    n_kept = int(is_low(rows, share, seed=11).sum())
    assert stats.binomtest(n_kept, n, share).pvalue > 1e-4


@pytest.mark.parametrize("distance", [0, 1, 2, 1024])
def test_the_fates_of_neighbours_and_under_two_seeds_are_unrelated(distance):
    rows = np.arange(40_000.0).reshape(-1, 1)
    first, second = is_low(rows, 0.5, seed=0), is_low(rows, 0.5, seed=int(distance == 0))
    table = np.histogram2d(first[: len(rows) - distance], second[distance:], bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_every_bit_of_the_hash_is_set_half_of_the_time():
    hashes = row_hashes(np.arange(20_000.0).reshape(-1, 1), 3)
    for bit in range(0, 64, 9):
        n_set = int((hashes >> np.uint64(bit) & np.uint64(1)).sum())
        assert stats.binomtest(n_set, len(hashes)).pvalue > 1e-4
