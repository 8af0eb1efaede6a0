"""Bounds, tests in a fixed sequence, bets and splits, by hand and against other ways to compute them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from monte_carlo import exceeds
from scipy.optimize import minimize
from scipy.stats import beta, binom, binomtest

from sepc.statistics import betting
from sepc.statistics.betting import best_draws, growth, log_factors, mean_p_value, nearest_null
from sepc.statistics.rates import (
    beta_interval,
    fixed_grid,
    lower_bound,
    n_before_failure,
    p_value,
    quantile_grid,
    random_parts,
    rate_interval,
    rows_needed,
    rows_to_start,
    stratified_folds,
    sums_at,
    upper_bound,
)


def test_p_values_and_bounds_are_exact():
    errors, n = np.array([0, 1, 3, 10]), np.array([149, 236, 200, 1000])
    by_hand = [sum(binom.pmf(k, m, 0.02) for k in range(e + 1)) for e, m in zip(errors, n, strict=True)]
    np.testing.assert_allclose(p_value(errors, n, 0.02), by_hand, rtol=1e-10)
    np.testing.assert_allclose(p_value(np.array([0]), np.array([149]), 0.02), 0.98**149)
    bounds = upper_bound(errors, n, 0.95)
    np.testing.assert_allclose(binom.cdf(errors, n, bounds), 0.05, rtol=1e-8)
    assert bounds[0] == pytest.approx(1.0 - 0.05 ** (1 / 149))
    assert bounds[2] == beta.ppf(0.95, 4, 197)
    assert (upper_bound(0, 0, 0.95), upper_bound(5, 5, 0.95)) == (1.0, 1.0)


def test_testing_starts_where_three_errors_pass_or_fewer_if_rows_are_few():
    assert (rows_needed(0.02, 0.95), rows_needed(0.05, 0.95)) == (149, 59)
    needed = [149, 236, 313, 386]
    assert [rows_needed(0.02, 0.95, k) for k in range(4)] == needed
    assert all(binom.cdf(k, n, 0.02) <= 0.05 < binom.cdf(k, n - 1, 0.02) for k, n in enumerate(needed))
    assert [rows_to_start(n, 0.02, 0.95) for n in (100, 400, 471, 472, 625, 626, 771, 772, 10**6)] == [
        *[149, 149, 149, 236, 236, 313, 313, 386, 386]
    ]


def test_grids():
    trust = np.random.default_rng(0).random(1000)
    assert len(quantile_grid(trust)) == 200
    assert set(quantile_grid(trust)) <= set(trust)
    assert len(np.unique(fixed_grid())) == 200
    assert fixed_grid().min() == 0.0
    assert 0.999999 < fixed_grid().max() < 1.0


def test_parts_look_at_no_label():
    labels = np.repeat(["a", "b", "c", "d"], [600, 60, 3, 1])
    random = np.random.RandomState(0)
    n_second = np.zeros(len(labels))
    for _ in range(400):
        first, second = random_parts(labels, 0.25, random)
        assert np.array_equal(np.sort(np.concatenate([first, second])), np.arange(len(labels)))
        assert len(second) == 166
        n_second[second] += 1
    # The only row of a class goes as often as any other: 100 of 400 times, give or take 9.
    assert abs(n_second[-1] - 100) < 35
    assert abs(n_second - 100).max() < 45


def test_the_first_part_goes_on_to_a_second_class():
    labels = np.repeat([0, 1], [99, 1])
    sizes = set()
    for seed in range(200):
        first, second = random_parts(labels, 0.5, np.random.RandomState(seed))
        assert 99 in first
        assert len(first) >= 50
        sizes.add(len(first))
    # Then the rare row is the last of the first part, wherever it came in the order.
    assert max(sizes) > 95
    assert len(sizes) > 20
    assert [part.tolist() for part in random_parts(np.zeros(1), 0.5, np.random.RandomState(0))] == [[0], []]
    assert len(random_parts(np.zeros(10), 0.5, np.random.RandomState(0))[1]) == 5


def test_folds_keep_the_shares_of_classes():
    labels = np.repeat(["a", "b", "c", "d"], [600, 60, 3, 1])
    random = np.random.RandomState(0)
    folds = stratified_folds(labels, 3, random)
    assert np.bincount(folds[labels == "a"]).tolist() == [200, 200, 200]
    assert folds[labels == "d"].tolist() == [-1]
    assert all(set(labels[folds != fold]) == set(labels) for fold in range(3))


def test_bets_win_one_on_average_if_the_mean_is_the_limit():
    values, shares = np.array([0.0, 1.0, 5.0]), np.array([0.8, 0.125, 0.075])
    draws = np.random.default_rng(0).multinomial(60, shares, size=100_000)
    limit = float(values @ shares)
    stake = np.sqrt(2 * np.log(20) / (60 * 0.1 * 0.9))
    winnings = np.exp(draws @ np.log(1 + stake * (limit - values) / 5))
    assert limit == pytest.approx(0.5)
    # The largest winnings are rare and huge, so a mean of many draws is a little below 1.
    assert winnings.mean() == pytest.approx(1.0, abs=0.15)
    p = mean_p_value(draws[:20_000], values, limit, 0.95)
    np.testing.assert_allclose(p, np.minimum(1 / winnings[:20_000], 1), rtol=1e-9)
    assert np.mean(p <= 0.05) <= 0.05


def drawn_case(seed, n_strata):
    rng = np.random.default_rng(seed)
    weights, drawn = rng.dirichlet(np.ones(n_strata)) + 1e-3, rng.dirichlet(np.ones(n_strata)) + 1e-3
    expected = 10.0 ** rng.uniform(-4.0, -1.0, n_strata)
    return drawn / drawn.sum(), expected, weights / weights.sum(), rng


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_no_rates_that_break_the_promise_make_a_bet_favourable(seed, n_strata):
    drawn, expected, weights, rng = drawn_case(seed, n_strata)
    right, wrong = log_factors(drawn, expected, weights, 0.02)
    for corner in [*np.eye(n_strata), *rng.dirichlet(np.ones(n_strata), size=5)]:
        # All ways to have a mean of exactly max_risk are mixtures of those with one stratum wrong, where that can be.
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
    minimum = minimize(cost, np.full(3, 0.02), bounds=[(1e-6, 0.9)] * 3, constraints=condition, tol=1e-12)
    assert cost(null) <= minimum.fun + 1e-7


def test_one_stratum_is_the_plain_likelihood_ratio():
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
    monkeypatch.setattr(betting, "brentq", lambda *_, **__: 1e6)
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


@pytest.mark.parametrize(
    ("n", "n_rows", "level"), [(0, 40, 0.8), (3, 40, 0.95), (40, 40, 0.95), (1, 1, 0.8), (500, 10_000, 0.95)]
)
def test_intervals_are_those_of_clopper_and_pearson(n, n_rows, level):
    expected = binomtest(n, n_rows).proportion_ci(level, method="exact")
    low, high = rate_interval(n, n_rows, level)
    assert (float(low), float(high)) == pytest.approx((expected.low, expected.high), abs=1e-12)


@given(st.integers(0, 200), st.integers(0, 200), st.floats(0.5, 0.999))
def test_bounds_lie_about_the_rate_and_mirror_each_other(n_seen, n_others, confidence):
    n_rows = n_seen + n_others
    low, high = lower_bound(n_seen, n_rows, confidence), upper_bound(n_seen, n_rows, confidence)
    assert 0.0 <= low <= n_seen / max(n_rows, 1) <= high <= 1.0
    assert low == 1.0 - upper_bound(n_others, n_rows, confidence)
    assert rate_interval(0, 0) == (0.0, 1.0)


def test_a_beta_distribution_has_its_share_between_the_ends():
    ones, zeros = np.array([3.5, 30.0, 100.0]), np.array([0.5, 30.0, 1.0])
    low, high = beta_interval(ones, zeros, 0.9)
    assert beta.cdf(low, ones, zeros) == pytest.approx(0.05)
    assert beta.cdf(high, ones, zeros) == pytest.approx(0.95)


def test_sums_of_what_thresholds_accept_until_the_first_failure():
    scores, values = np.array([0.2, 0.9, 0.5, 0.9]), np.array([[1, 0], [0, 1], [1, 1], [5, 0]])
    accepted, sums = sums_at(np.array([1.0, 0.9, 0.5, 0.0]), scores, values)
    assert accepted.tolist() == [0, 2, 3, 4]
    assert sums.tolist() == [[0, 0], [5, 1], [6, 2], [7, 2]]
    ends = [n_before_failure(np.array(passes, dtype=bool)) for passes in ([], [1, 1], [1, 0, 1], [0, 1])]
    assert ends == [0, 2, 1, 0]


def test_one_value_beside_zero_has_the_exact_p_value():
    counts = np.array([[149, 0], [380, 6], [900, 10]])
    expected = binom.cdf(counts[:, 1], counts.sum(axis=1), 0.02)
    np.testing.assert_allclose(mean_p_value(counts, np.array([0.0, 50.0]), 1.0, 0.95), expected)


@pytest.mark.parametrize(
    ("n_broken", "n_draws"), [(0, 100), (5, 100), (10, 100), (13, 100), (40, 100), (100, 100), (1, 1)]
)
def test_monte_carlo_tests_fail_where_chance_is_no_explanation(n_broken, n_draws):
    chance = binom.sf(n_broken - 1, n_draws, 0.05)
    assert exceeds(n_broken, n_draws, 0.05) is bool(chance < 0.01)
