"""Fits with signed coefficients, compared with a general solver, and their certificates."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax

from sepc.geometry import Softmax, fit_softmax

# Rows, columns and classes; the columns of curves climb, ten steps each.
SIZES = [(300, 6, 2), (300, 40, 2), (40, 60, 2), (300, 6, 3), (300, 40, 4), (40, 60, 3)]


def draw(n: int, d: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([n, d, n_classes])
    rows = rng.standard_normal((n, d))
    if d >= 40:
        values = rng.standard_normal((n, d // 10))
        rows = np.concatenate([value[:, None] >= np.sort(rng.standard_normal(10)) for value in values.T], axis=1) * 1.0
    truth = rows @ rng.standard_normal((d, n_classes)) + 2 * rng.gumbel(size=(n, n_classes))
    which = truth.argmax(axis=1)
    which[:n_classes] = np.arange(n_classes)
    return rows, which


def signs_of(d: int) -> np.ndarray:
    return np.tile([1, 0, -1, 1, 1], d)[:d]


def along(n_classes: int, towards: int) -> np.ndarray:
    return np.eye(n_classes)[towards] - 1.0 / n_classes


def sizes_of(fit: Softmax, signs: np.ndarray, towards: int) -> np.ndarray:
    """The size of each signed column, zero for the others."""
    direction = along(fit.coefficients.shape[1], towards)
    return signs * (fit.coefficients @ direction) / (direction @ direction)


def objective(rows: np.ndarray, which: np.ndarray, offsets: np.ndarray, B: np.ndarray) -> float:
    logs = log_softmax(offsets + rows @ B, axis=1)[np.arange(len(rows)), which]
    return float((1.0 if B.shape[1] == 2 else 0.5) * (B**2).sum() - logs.sum())


def by_general_solver(rows: np.ndarray, which: np.ndarray, n_classes: int, signs: np.ndarray, towards: int) -> float:
    """The smallest objective, by a quasi-Newton method for bounds."""
    is_free, direction, penalty = signs == 0, along(n_classes, towards), 2.0 if n_classes == 2 else 1.0
    n_loose = n_classes * (1 + int(is_free.sum()))

    def unpack(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        B = np.empty((len(signs), n_classes))
        B[is_free] = values[n_classes:n_loose].reshape(-1, n_classes)
        B[~is_free] = np.outer(signs[~is_free] * values[n_loose:], direction)
        return values[:n_classes], B

    def value_and_gradient(values: np.ndarray) -> tuple[float, np.ndarray]:
        offsets, B = unpack(values)
        excess = np.exp(log_softmax(offsets + rows @ B, axis=1)) - np.eye(n_classes)[which]
        by_coefficient = rows.T @ excess + penalty * B
        signed = (by_coefficient[~is_free] @ direction) * signs[~is_free]
        gradient = np.concatenate([excess.sum(axis=0), by_coefficient[is_free].ravel(), signed])
        return objective(rows, which, offsets, B), gradient

    n_signed = int((~is_free).sum())
    bounds = [(None, None)] * n_loose + [(0, None)] * n_signed
    options = {"maxiter": 5000, "maxfun": 10**5, "ftol": 1e-15, "gtol": 1e-9}
    start = np.zeros(n_loose + n_signed)
    return float(
        minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)["fun"]
    )


@pytest.mark.parametrize("towards", [0, 1])
@pytest.mark.parametrize(("n", "d", "n_classes"), SIZES)
def test_signed_fits_reach_the_smallest_objective_within_their_bounds(n, d, n_classes, towards):
    (rows, which), signs = draw(n, d, n_classes), signs_of(d)
    fit = fit_softmax(rows, which, n_classes, penalty=1.0, signs=signs, signs_for=towards)
    sizes = sizes_of(fit, signs, towards)
    assert fit.converged
    assert fit.gap < 1e-14
    assert sizes.min() >= 0.0
    assert (sizes[signs != 0] == 0.0).any(), "no bound is active: the test says nothing"
    others = np.delete(fit.coefficients[signs != 0], towards, axis=1)
    assert np.ptp(others, axis=1).max() == 0.0
    least = by_general_solver(rows, which, n_classes, signs, towards)
    assert objective(rows, which, fit.offsets, fit.coefficients) <= least + 1e-9
    for max_rounds in (1, 2, 3) if d == 40 else ():
        early = fit_softmax(rows, which, n_classes, penalty=1.0, signs=signs, signs_for=towards, max_rounds=max_rounds)
        assert objective(rows, which, early.offsets, early.coefficients) - least <= early.gap + 1e-9
        assert not early.converged


def test_signs_that_hold_anyway_change_nothing_and_a_start_that_breaks_one_is_brought_within_it():
    rows, which = draw(300, 6, 2)
    free = fit_softmax(rows, which, 2, penalty=1.0)
    signs = np.sign(free.coefficients[:, 1]).astype(int)
    fit = fit_softmax(rows, which, 2, penalty=1.0, signs=signs)
    np.testing.assert_allclose(fit.coefficients, free.coefficients, atol=1e-9)
    unsigned = fit_softmax(rows, which, 2, penalty=1.0, signs=np.zeros(6))
    np.testing.assert_array_equal(unsigned.coefficients, free.coefficients)
    turned = fit_softmax(rows, which, 2, penalty=1.0, signs=-signs, start=free)
    assert turned.converged
    assert sizes_of(turned, -signs, 1).min() >= 0.0


@pytest.mark.parametrize(
    ("signs", "signs_for", "message"),
    [([1, 0], 1, "6 columns"), ([2] * 6, 1, "-1, 0 or 1"), ([1] * 6, 2, "from 0 to 1")],
)
def test_impossible_signs_are_refused(signs, signs_for, message):
    rows, which = draw(300, 6, 2)
    with pytest.raises(ValueError, match=message):
        fit_softmax(rows, which, 2, penalty=1.0, signs=signs, signs_for=signs_for)
