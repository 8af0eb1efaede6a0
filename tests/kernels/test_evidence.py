"""Columns of steps act like the matrix they stand for; penalties of their groups are learned from the rows."""

import numpy as np
import pytest
from scipy.special import expit

from sepc.geometry import fit_softmax
from sepc.kernels.evidence import LARGEST_PENALTY, PRIOR_PENALTY, effective_degrees, learn_penalties
from sepc.kernels.stepped_columns import SteppedColumns


def stepped(n=200, n_columns=(5, 3, 0, 7), climbs=(True, False, True, True), n_dense=4, dense=None, centred=False):
    rng, total = np.random.default_rng(0), sum(n_columns)
    return SteppedColumns(
        places=np.array([rng.integers(0, s + 1, n) for s in n_columns], dtype=np.int64).reshape(len(n_columns), n).T,
        n_columns=np.array(n_columns, dtype=np.int64),
        climbs=np.array(climbs, dtype=bool),
        shift=rng.uniform(size=total) * (not centred),
        scale=rng.uniform(0.5, 2.0, size=total),
        dense=rng.normal(size=(n, n_dense)) if dense is None else dense,
    )


def plain(array):
    return stepped(len(array), (), (), dense=array)


KINDS = {
    "mixed": stepped(),
    "steps alone": stepped(n_dense=0),
    "no groups": stepped(n_columns=(), climbs=()),
    "one group": stepped(n_columns=(2,), climbs=(True,)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_steps_act_like_the_matrix(kind):
    columns, rng = KINDS[kind], np.random.default_rng(1)
    matrix = columns.to_array()
    assert columns.shape == matrix.shape
    n, m = matrix.shape
    for k in (1, 3):
        coefficients, slopes = rng.normal(size=(k, m)), rng.normal(size=(k, n))
        np.testing.assert_allclose(columns.scores(coefficients), coefficients @ matrix.T, atol=1e-12)
        np.testing.assert_allclose(columns.sums(slopes), slopes @ matrix, atol=1e-12)
    rows, weights, part = rng.uniform(size=n), rng.uniform(size=m), np.arange(0, n, 3)
    for own in (columns, plain(matrix)):
        wanted = (matrix[part] * rows[part, None]).T @ matrix[part]
        np.testing.assert_allclose(own.gram(part, rows[part]), wanted, atol=1e-11)
        np.testing.assert_allclose(own.row_squares(weights), matrix**2 @ weights, atol=1e-11)
    center, scale = rng.normal(size=m), rng.uniform(0.5, 2.0, size=m + 1)
    wanted = np.column_stack([(matrix - center) * scale[:-1], np.full(n, scale[-1])])
    np.testing.assert_allclose(columns.standardise(center, scale).to_array(), wanted, atol=1e-12)
    assert columns.astype(np.float32).scores(np.zeros((1, m), np.float32)).dtype == np.float32


@pytest.mark.parametrize(("n", "n_classes"), [(12, 4), (400, 2), (400, 4)])
def test_weights_of_steps_are_those_of_the_matrix(n, n_classes):
    rng, columns = np.random.default_rng(4), stepped(n, centred=True)
    which = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    weights = rng.uniform(0.5, 2.0, n)
    ours, dense = (
        fit_softmax(own, which, n_classes, penalty=0.5, weights=weights) for own in (columns, columns.to_array())
    )
    assert ours.converged
    assert ours.gap < 1e-15
    np.testing.assert_allclose(ours.coefficients, dense.coefficients, atol=1e-9)
    np.testing.assert_allclose(ours.offsets, dense.offsets, atol=1e-9)
    columns.dense[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        fit_softmax(columns, which, n_classes, penalty=0.5)


@pytest.mark.parametrize("n", [15, 400])
def test_what_rows_determine_is_that_of_the_inverse(n):
    columns, curvature = stepped(n, (8, 8), (True, False), 5), np.random.default_rng(0).random(n)
    array = np.column_stack([columns.to_array(), np.ones(n)])
    second = (array * curvature[:, None]).T @ array + np.diag([*np.ones(columns.shape[1]), 0.0])
    wanted = 1.0 - np.linalg.inv(second).diagonal()[:-1]
    np.testing.assert_allclose(effective_degrees(columns, curvature), wanted, atol=1e-4)
    assert not effective_degrees(columns, np.zeros(n)).any()


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
    three = np.where((y == 1) & (np.random.default_rng(3).random(4_000) < 0.5), 2, y)
    found = learn_penalties(columns, three, 3, groups, np.array([0, 1]), weights=np.ones(4_000))
    assert found.penalties[1] > 10 * found.penalties[0]


def test_useless_features_among_many_lose_their_weights():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3_000, 40))
    y = (rng.random(3_000) < expit(2.0 * X[:, 0] - 2.0 * X[:, 1])).astype(np.int64)
    groups, one_pool = np.arange(40), np.zeros(40, dtype=np.int64)
    found = learn_penalties(plain(X), y, 2, groups, one_pool, weights=np.ones(3_000), max_rounds=60, tol=1e-3)
    assert (found.penalties[:2] <= 1.0).all()
    assert np.median(found.penalties[2:]) > 1e3
    assert np.median(found.n_effective[2:]) < 0.05


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
    alone = learn_penalties(plain(X), np.zeros(4, int), 1, np.zeros(1, int), np.array([0]), weights=np.ones(4))
    assert (alone.penalties.tolist(), alone.converged) == ([PRIOR_PENALTY], True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_weights_at_a_bound_are_not_effective(n_classes):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((400, 2))
    which = (values[:, 0] + rng.logistic(size=400) > 0).astype(np.int64) + (n_classes - 2) * (rng.random(400) < 0.3)
    knots = np.quantile(values, np.linspace(0.1, 0.9, 9))
    columns = SteppedColumns(
        places=np.searchsorted(knots, values, side="right"),
        n_columns=np.array([9, 9]),
        climbs=np.array([True, True]),
        shift=np.zeros(18),
        scale=np.ones(18),
        dense=np.empty((400, 0)),
    )
    groups, given = np.repeat([0, 1], 9), {"weights": np.ones(400), "signs_for": n_classes - 1}
    right, wrong = (
        learn_penalties(columns, which, n_classes, groups, np.zeros(2, int), signs=sign * (groups == 0), **given)
        for sign in (1, -1)
    )
    assert right.n_effective[0] > 0.5
    assert wrong.n_effective[0] < 0.05
