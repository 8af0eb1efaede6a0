"""Penalties of groups learned from the rows: effective numbers, what is found, and that it always ends."""

import numpy as np
import pytest
from scipy.special import expit

from sepc.kernels.evidence import LARGEST_PENALTY, PRIOR_PENALTY, effective_degrees, learn_penalties
from sepc.kernels.stepped_columns import SteppedColumns


def plain(array):
    n = len(array)
    return SteppedColumns(
        places=np.empty((n, 0), dtype=np.int64),
        n_columns=np.empty(0, dtype=np.int64),
        climbs=np.empty(0, dtype=bool),
        shift=np.empty(0),
        scale=np.empty(0),
        dense=array,
    )


def stepped(rng, n, n_steps, n_dense):
    return SteppedColumns(
        places=rng.integers(n_steps + 1, size=(n, 2)),
        n_columns=np.array([n_steps, n_steps]),
        climbs=np.array([True, False]),
        shift=np.zeros(2 * n_steps),
        scale=np.full(2 * n_steps, 0.7),
        dense=rng.normal(size=(n, n_dense)),
    )


@pytest.mark.parametrize("n", [15, 400])
def test_what_rows_determine_is_that_of_the_inverse(n):
    rng = np.random.default_rng(0)
    columns, curvature = stepped(rng, n, 8, 5), rng.random(n)
    array = np.column_stack([columns.to_array(), np.ones(n)])
    second = (array * curvature[:, None]).T @ array + np.diag([*np.ones(columns.shape[1]), 0.0])
    wanted = 1.0 - np.linalg.inv(second).diagonal()[:-1]
    np.testing.assert_allclose(effective_degrees(columns, curvature), wanted, atol=1e-4)


def test_rows_without_curvature_determine_nothing():
    assert not effective_degrees(plain(np.eye(3)), np.zeros(3)).any()


def large_and_useless(n, rng, sizes=(30, 30), spread=1.0):
    """Rows whose first columns have weights of a known spread, and whose other columns have none."""
    X = rng.normal(size=(n, sum(sizes)))
    weights = np.concatenate([spread * rng.normal(size=sizes[0]), np.zeros(sizes[1])])
    y = (rng.random(n) < expit(X @ weights)).astype(np.int64)
    return plain(X), y, np.repeat([0, 1], sizes)


@pytest.mark.parametrize("spread", [0.3, 1.0])
def test_the_penalty_of_a_group_is_the_precision_of_its_weights(spread):
    columns, y, groups = large_and_useless(4_000, np.random.default_rng(1), spread=spread)
    found = learn_penalties(columns, y, 2, groups, np.array([0, 1]), weights=np.ones(4_000), tol=1e-3, max_rounds=60)
    assert found.converged
    assert found.penalties[0] == pytest.approx(spread**-2, rel=0.5)
    assert found.penalties[1] > 300.0
    assert found.n_effective[0] > 25.0
    assert found.n_effective[1] < 12.0


def test_useless_features_among_many_lose_their_weights():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3_000, 40))
    y = (rng.random(3_000) < expit(2.0 * X[:, 0] - 2.0 * X[:, 1])).astype(np.int64)
    groups, one_pool = np.arange(40), np.zeros(40, dtype=np.int64)
    found = learn_penalties(plain(X), y, 2, groups, one_pool, weights=np.ones(3_000), max_rounds=60, tol=1e-3)
    assert (found.penalties[:2] <= 1.0).all()
    assert np.median(found.penalties[2:]) > 1e3
    assert np.median(found.n_effective[2:]) < 0.05


def test_a_class_more_changes_little():
    rng = np.random.default_rng(3)
    columns, y, groups = large_and_useless(3_000, rng)
    three = np.where((y == 1) & (rng.random(3_000) < 0.5), 2, y)
    two_found, found = (
        learn_penalties(columns, which, C, groups, np.array([0, 1]), weights=np.ones(3_000))
        for which, C in ((y, 2), (three, 3))
    )
    assert found.penalties[1] > 10 * found.penalties[0]
    assert two_found.penalties[1] > 10 * two_found.penalties[0]


def test_it_ends_and_says_that_it_has_not_settled():
    columns, y, groups = large_and_useless(300, np.random.default_rng(4))
    found = learn_penalties(columns, y, 2, groups, np.array([0, 1]), weights=np.ones(300), tol=0.0, max_rounds=3)
    assert (found.n_rounds, found.converged) == (3, False)
    assert found.change > 0.0


def test_separable_rows_and_empty_groups_have_finite_penalties():
    X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    groups, pools = np.array([1]), np.array([0, 1, 1])
    found = learn_penalties(plain(X), np.array([0, 0, 1, 1]), 2, groups, pools, weights=np.ones(4), max_rounds=50)
    assert np.isfinite(found.penalties).all()
    assert (found.penalties <= LARGEST_PENALTY).all()
    assert not found.n_effective[[0, 2]].any()


def test_one_class_leaves_the_prior():
    found = learn_penalties(plain(np.eye(3)), np.zeros(3, int), 1, np.zeros(3, int), np.array([0]), weights=np.ones(3))
    assert found.penalties == [PRIOR_PENALTY]
    assert found.converged


def test_rows_of_weight_two_are_rows_twice():
    columns, y, groups = large_and_useless(500, np.random.default_rng(5), sizes=(5, 5))
    twice = plain(np.concatenate([columns.dense, columns.dense]))
    one = learn_penalties(columns, y, 2, groups, np.array([0, 1]), weights=np.full(500, 2.0))
    other = learn_penalties(twice, np.tile(y, 2), 2, groups, np.array([0, 1]), weights=np.ones(1_000))
    np.testing.assert_allclose(one.penalties, other.penalties, rtol=1e-3)
