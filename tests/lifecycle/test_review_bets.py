"""Bands and bets: the expected factor of a bet is at most 1 wherever the promise is broken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from sepc.lifecycle import certifying_bets
from sepc.lifecycle.band_evidence import Evidence
from sepc.lifecycle.certifying_bets import best_draws, growth, log_factors, nearest_null
from sepc.lifecycle.trust_bands import bands_of


def drawn_case(seed, n_bands):
    rng = np.random.default_rng(seed)
    weights, drawn = rng.dirichlet(np.ones(n_bands)) + 1e-3, rng.dirichlet(np.ones(n_bands)) + 1e-3
    expected = 10.0 ** rng.uniform(-4.0, -1.0, n_bands)
    return drawn / drawn.sum(), expected, weights / weights.sum(), rng


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_no_rates_that_break_the_promise_make_a_bet_favourable(seed, n_bands):
    drawn, expected, weights, rng = drawn_case(seed, n_bands)
    right, wrong = log_factors(drawn, expected, weights, 0.02)
    for corner in [*np.eye(n_bands), *rng.dirichlet(np.ones(n_bands), size=5)]:
        # All ways to have a mean of exactly max_risk are mixtures of those with one band wrong, where that can be.
        true = np.minimum(0.02 * corner / weights, 1.0)
        if weights @ true < 0.02 - 1e-12:
            continue
        factor = drawn @ ((1.0 - true) * np.exp(right) + true * np.exp(wrong))
        assert factor <= 1.0 + 1e-9


def test_nearest_null_is_nearest():
    drawn, expected, weights, _ = drawn_case(3, 3)
    expected = expected / 10.0
    null = nearest_null(drawn, expected, weights, 0.02)
    assert weights @ null == pytest.approx(0.02, rel=1e-6)
    assert weights @ null <= 0.02

    def cost(rates):
        return drawn @ -(expected * np.log(rates) + (1 - expected) * np.log1p(-rates))

    condition = {"type": "eq", "fun": lambda rates: weights @ rates - 0.02}
    found = minimize(cost, np.full(3, 0.02), bounds=[(1e-6, 0.9)] * 3, constraints=condition, tol=1e-12)
    assert cost(null) <= found.fun + 1e-7


def test_one_band_is_the_plain_likelihood_ratio():
    right, wrong = log_factors(np.ones(1), np.array([0.005]), np.ones(1), 0.02)
    assert right == pytest.approx(np.log(0.995 / 0.98))
    assert wrong == pytest.approx(np.log(0.005 / 0.02))


@pytest.mark.parametrize("below", [1e-17, 1e-15, 1e-13, 1e-10])
def test_rates_expected_a_hair_below_what_is_allowed_make_hardly_a_bet(below):
    drawn, _, weights, _ = drawn_case(5, 3)
    expected = np.array([0.01, 0.02, 0.03])
    expected *= (0.02 - below) / (weights @ expected)
    null = nearest_null(drawn, expected, weights, 0.02)
    assert weights @ null <= 0.02
    assert null == pytest.approx(expected, rel=1e-6)
    assert growth(drawn, expected, weights, 0.02) == pytest.approx(0.0, abs=1e-15)


def test_back_off_ends_where_no_multiplier_is_fair(monkeypatch):
    monkeypatch.setattr(certifying_bets, "brentq", lambda *_, **__: 1e6)
    drawn, expected, weights, _ = drawn_case(3, 3)
    null = nearest_null(drawn, expected / 10.0, weights, 0.02)
    assert null == pytest.approx(expected / 10.0)


def test_nothing_is_bet_where_too_many_errors_are_expected():
    right, wrong = log_factors(np.ones(2) / 2, np.array([0.001, 0.5]), np.ones(2) / 2, 0.02)
    assert (right == 0.0).all()
    assert (wrong == 0.0).all()


def test_best_draws_ask_more_where_errors_are_expected():
    weights, expected = np.array([0.8, 0.1, 0.1]), np.array([0.001, 0.02, 0.06])
    drawn, rate = best_draws(expected, weights, 0.02)
    assert (drawn / weights)[0] < 1.0 < (drawn / weights)[2]
    assert rate > 1.2 * growth(weights, expected, weights, 0.02)


def test_bands_keep_ties_together_and_hold_the_target():
    trust = np.repeat([0.99, 0.98, 0.9, 0.6], [400, 300, 200, 100])
    bands = bands_of(trust, 0.75, 0.02)
    assert bands.coverage[bands.target] == 0.9
    assert bands.coverage.tolist() == [0.4, 0.7, 0.9, 1.0]
    assert bands.of(np.array([1.0, 0.99, 0.985, 0.95, 0.9, 0.6, 0.1])).tolist() == [0, 0, 1, 2, 2, 3, 3]
    assert bands.claimed_risk == pytest.approx([0.01, 0.02, 0.1, 0.4])


def test_without_a_coverage_the_cheapest_for_its_size_is_taken():
    trust = np.concatenate([np.full(600, 0.999), np.full(400, 0.8)])
    bands = bands_of(trust, None, 0.02)
    assert bands.coverage[bands.target] == 0.6


def test_sets_are_certified_in_order_and_stay_so():
    bands = bands_of(np.linspace(1.0, 0.9, 1000), 0.5, 0.02)
    evidence, wrong = Evidence.none(bands, 0.02, 0.95), np.zeros(400, dtype=bool)
    drawn, n_more = evidence.draws(bands.target)
    band = np.repeat(np.arange(bands.target + 1), 100)
    band = np.random.default_rng(0).permutation(band)
    after = evidence.after(band, wrong, drawn)
    assert 149 < n_more < 1000
    assert evidence.certified == -1
    assert after.certified == bands.target
    worse = after.after(band, ~wrong, drawn)
    assert worse.log_now[bands.target] < 0.0
    assert worse.certified == bands.target


def test_a_larger_set_is_not_certified_before_the_target():
    bands = bands_of(np.linspace(1.0, 0.9, 1000), 0.5, 0.02)
    peak = np.zeros(len(bands))
    peak[-1] = 100.0
    none = np.zeros(len(bands))
    assert Evidence(bands, 0.02, 0.95, none, none, peak, peak).certified == -1
