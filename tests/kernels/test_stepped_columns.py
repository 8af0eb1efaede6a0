"""Columns of steps, kept as places, must act exactly like the matrix they stand for."""

from __future__ import annotations

import numpy as np
import pytest

from sepc.kernels._columns import DenseColumns
from sepc.kernels.softmax import fit_softmax
from sepc.kernels.stepped_columns import SteppedColumns


def stepped(n=200, n_columns=(5, 3, 0, 7), climbs=(True, False, True, True), n_dense=4, seed=0):
    rng = np.random.default_rng(seed)
    return SteppedColumns(
        places=np.array([rng.integers(0, s + 1, n) for s in n_columns], dtype=np.int64).reshape(len(n_columns), n).T,
        n_columns=np.array(n_columns, dtype=np.int64),
        climbs=np.array(climbs, dtype=bool),
        shift=rng.uniform(size=sum(n_columns)),
        scale=rng.uniform(0.5, 2.0, size=sum(n_columns)),
        dense=rng.normal(size=(n, n_dense)),
    )


KINDS = {
    "mixed": stepped(),
    "steps alone": stepped(n_dense=0),
    "no groups": stepped(n_columns=(), climbs=()),
    "one group": stepped(n_columns=(2,), climbs=(True,)),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [1, 3])
def test_products_are_those_of_the_matrix(kind, k):
    columns = KINDS[kind]
    matrix, rng = columns.to_array(), np.random.default_rng(1)
    coefficients, slopes = rng.normal(size=(k, matrix.shape[1])), rng.normal(size=(k, len(matrix)))
    assert columns.shape == matrix.shape
    np.testing.assert_allclose(columns.scores(coefficients), coefficients @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(columns.sums(slopes), slopes @ matrix, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_summaries_are_those_of_the_matrix(kind):
    columns = KINDS[kind]
    dense, rng = DenseColumns(columns.to_array()), np.random.default_rng(2)
    n, m = columns.shape
    rows, weights, part = rng.uniform(size=n), rng.uniform(size=m), np.arange(0, n, 3)
    np.testing.assert_allclose(columns.gram(part, rows[part]), dense.gram(part, rows[part]), atol=1e-11)
    np.testing.assert_allclose(columns.row_squares(weights), dense.row_squares(weights), atol=1e-11)
    np.testing.assert_allclose(columns.moments(rows), dense.moments(rows), atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_those_of_the_matrix(kind):
    columns = KINDS[kind]
    matrix, rng = columns.to_array(), np.random.default_rng(3)
    center, scale = rng.normal(size=matrix.shape[1]), rng.uniform(0.5, 2.0, size=matrix.shape[1] + 1)
    wanted = np.column_stack([(matrix - center) * scale[:-1], np.full(len(matrix), scale[-1])])
    np.testing.assert_allclose(columns.standardise(center, scale).to_array(), wanted, atol=1e-12)
    np.testing.assert_allclose(DenseColumns(matrix).standardise(center, scale).to_array(), wanted, atol=1e-12)
    assert columns.astype(np.float32).scores(np.zeros((1, matrix.shape[1]), np.float32)).dtype == np.float32


def test_a_number_that_is_none_is_found_wherever_it_is():
    columns = stepped()
    assert columns.is_finite()
    columns.dense[3, 1] = np.inf
    assert not columns.is_finite()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("n", [12, 400])
def test_weights_of_steps_are_those_of_the_matrix(n, n_classes):
    rng = np.random.default_rng(4)
    given = stepped(n=n)
    columns = SteppedColumns(
        given.places, given.n_columns, given.climbs, np.zeros_like(given.shift), given.scale, given.dense
    )
    which = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    weights = rng.uniform(0.5, 2.0, n)
    ours = fit_softmax(columns, which, n_classes, penalty=0.5, weights=weights)
    plain = fit_softmax(columns.to_array(), which, n_classes, penalty=0.5, weights=weights)
    assert ours.converged
    assert ours.gap < 1e-15
    np.testing.assert_allclose(ours.coefficients, plain.coefficients, atol=1e-9)
    np.testing.assert_allclose(ours.offsets, plain.offsets, atol=1e-9)
