"""The audit's test of all rows together: exact, at its level, and strong enough for three deviations."""

import numpy as np
import pytest
from monte_carlo import exceeds
from scipy.stats import binom

from sepc import SEPClassifier
from sepc.lifecycle import audit
from sepc.lifecycle.auditing.overall_test import check_all_rows, tail_of_sum


@pytest.mark.parametrize(("n", "risk", "n_errors"), [(40, 0.02, 3), (1000, 0.1, 130), (5, 0.5, 5), (9000, 0.01, 120)])
def test_equal_claims_give_the_binomial_tail(n, risk, n_errors):
    assert tail_of_sum(n_errors, np.full(n, risk)) == pytest.approx(binom.sf(n_errors - 1, n, risk), rel=1e-6)


def test_unequal_claims_give_the_tail_of_their_sum():
    risk = np.array([0.1, 0.5, 0.9])
    chances = np.ones(1)
    for own in risk:
        chances = np.convolve(chances, [1.0 - own, own])
    assert [tail_of_sum(k, risk) for k in range(5)] == pytest.approx([*np.cumsum(chances[::-1])[::-1], 0.0], abs=1e-12)


def one_by_one(risk):
    """The chances of 0, 1, 2 and more errors, by adding one row after the other: only sums of positive numbers."""
    chances = np.zeros(len(risk) + 1)
    chances[0] = 1.0
    for own in risk:
        chances = chances * (1.0 - own) + np.append(0.0, chances[:-1]) * own
    return chances


DESIGNS = {
    "alike": lambda rng, n: np.full(n, rng.random()),
    "any": lambda rng, n: rng.random(n),
    "mostly small": lambda rng, n: rng.beta(0.05, 5.0, n),
    "tiny": lambda rng, n: np.full(n, 1e-4),
    "a few large": lambda rng, n: np.where(np.arange(n) % 100 == 0, 0.9, 5e-4),
    "some certain": lambda rng, n: np.clip(rng.normal(0.3, 0.5, n), 0.0, 1.0),
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("n", [1, 2, 63, 64, 65, 129, 1000, 6000])
def test_the_tail_is_that_of_rows_added_one_by_one(n, design):
    risk = DESIGNS[design](np.random.default_rng(n), n)
    exact = np.cumsum(one_by_one(risk)[::-1])[::-1]
    for n_errors in np.unique(np.linspace(0, n, 40).astype(int)):
        assert tail_of_sum(int(n_errors), risk) == pytest.approx(exact[n_errors], rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("risk", [1e-4, 0.01, 0.1])
def test_very_many_rows_are_added_up_exactly(risk):
    n = 200_000
    for z in (1.0, 2.0, 3.0, 5.0):
        n_errors = int(n * risk + z * np.sqrt(n * risk * (1.0 - risk)))
        assert tail_of_sum(n_errors, np.full(n, risk)) == pytest.approx(binom.sf(n_errors - 1, n, risk), rel=1e-4)


def claims(rng):
    return rng.beta(0.6, 5.0, 500)


def n_failing(z, n_draws, first):
    fails = 0
    for seed in range(first, first + n_draws):
        rng = np.random.default_rng(seed)
        risk = claims(rng)
        variance = risk * (1.0 - risk)
        wrong = rng.random(len(risk)) < risk + z * variance / np.sqrt(variance.sum())
        fails += check_all_rows(wrong, risk, fdr=0.1).fails
    return fails


def test_true_claims_fail_no_more_often_than_the_level():
    assert not exceeds(n_failing(0.0, 100, 0), 100, 0.025)


def test_three_deviations_are_found():
    assert not exceeds(100 - n_failing(3.0, 100, 0), 100, 0.2)


@pytest.mark.slow
def test_a_thousand_draws_keep_the_level_and_the_power():
    assert not exceeds(n_failing(0.0, 1000, 1000), 1000, 0.025)
    assert n_failing(3.0, 1000, 1000) >= 800


def test_errors_spread_over_all_regions_are_found_by_the_whole_and_told_first():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2600, 2))
    y = np.where(X[:, 0] > 0.0, "right", "left")
    model = SEPClassifier().fit(X[:600], y[:600])
    said = model.decide(X[600:])
    right = rng.random(2000) < said.trust - 0.03
    labels = np.where(right, said.label, np.where(said.label == "right", "left", "right"))
    found = audit(model, X[600:], labels)
    assert found.overall.fails
    assert found.overall.z > 3.0
    assert found.summary().startswith("The model as a whole is wrong more often than it claims: ")
    assert "level 2.5 %" in found.summary()
    assert ("all rows together", f"fail (z {found.overall.z:.1f})") in found._card().facts
    assert (found.n_rows, found.n_errors) == (2000, int((~right).sum()))


def test_a_calm_audit_says_so_of_the_whole_too():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1600, 2))
    y = np.where(X[:, 0] > 0.0, "right", "left")
    model = SEPClassifier().fit(X[:600], y[:600])
    found = audit(model, X[600:], model.predict(X[600:]))
    assert not found.overall.fails
    assert "As a whole the model is not wrong more often than it claims: 0 of 1,000 rows" in found.summary()
