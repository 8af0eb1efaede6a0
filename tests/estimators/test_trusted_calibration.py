"""Calibration finds the true coefficients, and gives calibrated probabilities on new rows."""

import numpy as np
import pytest
from scipy.special import expit

from sepc.estimators.trusted.calibration import Calibration
from sepc.metrics import ece


def drawn(n, seed=0):
    rng = np.random.default_rng(seed)
    given = rng.standard_normal((n, 3))
    return given, rng.random(n) < expit(given @ [1.5, 0.0, -1.0] + 1.0)


def test_finds_the_true_coefficients_and_none_below_zero():
    calibration = Calibration.fit(*drawn(20_000))
    assert calibration.coefficients[0] == pytest.approx(1.3, abs=0.25)
    assert calibration.coefficients[1] == pytest.approx(0.0, abs=0.05)
    assert calibration.coefficients[2] == 0


def test_is_calibrated_on_new_rows_where_the_signals_suffice():
    rng = np.random.default_rng(1)
    given = rng.standard_normal((4000, 2))
    correct = rng.random(4000) < expit(given @ [1.0, 0.5] + 1.0)
    calibration = Calibration.fit(given[:2000], correct[:2000])
    assert ece(correct[2000:], calibration.apply(given[2000:])) < 0.05


@pytest.mark.parametrize("outcome", [True, False])
def test_rows_of_one_outcome_promise_nothing_for_certain(outcome):
    given, _ = drawn(50)
    calibration = Calibration.fit(given, np.full(50, outcome))
    chance = calibration.apply(given)
    assert ((chance > 0.9) & (chance < 1)).all() if outcome else ((chance < 0.1) & (chance > 0)).all()


def test_coefficients_stay_where_few_rows_say_little():
    given, correct = drawn(8)
    towards = np.array([0.5, 0.25, 0.0])
    calibration = Calibration.fit(given, correct, towards=towards, penalty=1e6)
    np.testing.assert_allclose(calibration.coefficients, towards, atol=1e-3)
