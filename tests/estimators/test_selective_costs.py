"""Costs of errors and of reviews: what is promised of them, by hand and over many draws."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from sepc import Costs, SelectiveClassifier
from sepc.estimators.selective.costs import choose_cheapest
from sepc.estimators.selective.thresholds import choose_threshold
from sepc.statistics.betting import mean_p_value
from sepc.statistics.rates import fixed_grid

N_DRAWS = 1000
# Five per cent, and two standard errors of a share of N_DRAWS.
MOST_VIOLATIONS = 0.05 + 2 * np.sqrt(0.05 * 0.95 / N_DRAWS)
CREDIT = {("bad", "good"): 5, ("good", "bad"): 1}
TWO = np.array(["bad", "good"])


def credit(n=3000, seed=0):
    """Two overlapping classes with the labels of a bank."""
    X, y = make_blobs(n, centers=[[0, 0], [2, 0]], random_state=seed)
    return X, TWO[y]


def test_matrix_from_pairs_and_from_an_array():
    np.testing.assert_array_equal(Costs(CREDIT, review=0.5).matrix(TWO), [[0, 5], [1, 0]])
    np.testing.assert_array_equal(Costs({**CREDIT, ("bad", "bad"): 0.1}, 0.5).matrix(TWO), [[0.1, 5], [1, 0]])
    costs = Costs([[0, 5], [1, 0]], review=0.5)
    assert costs.of(TWO[[0, 0, 1, 1]], TWO[[0, 1, 0, 1]], TWO).tolist() == [0, 5, 1, 0]


def test_labels_the_classifier_does_not_know_have_costs():
    X, y = credit(3000)
    frozen = FrozenEstimator(LogisticRegression().fit(X[:1000], y[:1000]))
    dear = {("ugly", "bad"): 1, ("ugly", "good"): 20, ("bad", "ugly"): 1, ("good", "ugly"): 1}
    costs = Costs({**CREDIT, **dear}, review=0.4)
    # Of the rows far on the side of the good, one in sixteen is ugly, which makes a row there cost 1.25 on average.
    truth = np.where((X[:, 0] > 2) & (np.arange(3000) % 16 == 0), "ugly", y)
    knowing = SelectiveClassifier(frozen, costs).fit(X[1000:], truth[1000:])
    assert knowing.classes_.tolist() == ["bad", "good", "ugly"]
    assert not (knowing.decide(X).accepted & (X[:, 0] > 2)).any()
    assert "does not know 'ugly'" in knowing.summary()
    # Named, but not met: the largest cost that may come makes the promise harder to keep.
    unmet = SelectiveClassifier(frozen, costs).fit(X[1000:], y[1000:])
    assert unmet.classes_.tolist() == ["bad", "good", "ugly"]
    two = SelectiveClassifier(frozen, Costs(CREDIT, 0.4)).fit(X, y)
    assert unmet.promise_.controls[None].n_needed > two.promise_.controls[None].n_needed


def test_one_cost_is_tested_as_errors_are():
    rng = np.random.default_rng(0)
    trust = rng.random(3000)
    wrong = rng.random(3000) < 0.1 * (1 - trust) ** 2
    by_risk = choose_threshold(trust, wrong, fixed_grid(), 0.02, 0.95)
    by_cost = choose_cheapest(trust, 50.0 * wrong, fixed_grid(), np.array([0.0, 50.0]), 1.0, 0.95)
    assert by_risk.threshold <= by_cost.threshold < 1
    assert by_cost.n_needed == by_risk.n_needed == 149


def test_the_cheapest_of_the_passing_thresholds_is_taken():
    # Accepting the second group costs 0.02 a row, the third 0.9, beside a review at 1: both save. The fourth costs 2.
    trust = np.repeat([0.9, 0.8, 0.7, 0.6], 1000)
    cost = np.concatenate(
        [np.zeros(1000), np.repeat([0, 1], [980, 20]), np.repeat([0, 5], [820, 180]), np.full(1000, 2.0)]
    )
    grid, possible = np.array([0.6, 0.7, 0.8, 0.9]), np.array([0.0, 1, 2, 5])
    control = choose_cheapest(trust, cost, grid, possible, 1.0, 0.95)
    assert (control.threshold, control.n_accepted) == (0.7, 3000)
    assert control.mean_cost == pytest.approx((20 + 900 + 1000) / 4000)
    # All rows together cost less than 1 each: that passes, and is dearer.
    assert mean_p_value(np.array([[2800, 20, 1000, 180]]), possible, 1.0, 0.95)[0] < 0.05
    in_another_order = np.random.default_rng(0).permutation(4000)
    assert choose_cheapest(trust[in_another_order], cost[in_another_order], grid, possible, 1.0, 0.95) == control
    assert choose_cheapest(trust[:0], cost[:0], grid, possible, 1.0, 0.95).threshold == np.inf


@pytest.mark.parametrize("worst", [False, True])
def test_the_promise_is_kept_over_many_draws(worst):
    rng = np.random.default_rng(3)
    values, violated, coverage = np.array([0.0, 1.0, 5.0]), [], []
    for _ in range(N_DRAWS):
        trust = rng.random(1000)
        # Just dearer than a review everywhere; or at every trust another, 0.7 (1 - t) on average above t.
        mean = 0.503 if worst else 1.4 * (1 - trust)
        drawn = rng.random(1000)
        cost = values[(drawn < mean * 0.4).astype(int) + (drawn < mean * 0.15)]
        control = choose_cheapest(trust, cost, fixed_grid(), values, 0.5, 0.95)
        dear = worst or 0.7 * (1 - control.threshold) > 0.5
        violated.append(np.isfinite(control.threshold) and dear)
        coverage.append(control.n_accepted / 1000)
    assert np.mean(violated) <= MOST_VIOLATIONS
    # The best threshold is where a row costs 0.5: at 0.36 of the rows.
    assert worst or abs(np.mean(coverage) - 0.36) < 0.05


@pytest.mark.parametrize("frozen", [False, True])
def test_classifier_with_costs(frozen):
    X, y = credit()
    costs = Costs(CREDIT, review=0.4)
    inner = FrozenEstimator(LogisticRegression().fit(X[2000:], y[2000:])) if frozen else LogisticRegression()
    fitted = SelectiveClassifier(inner, costs, random_state=0).fit(X[:2000], y[:2000])
    new, truth = credit(20_000, seed=0)
    decided = fitted.decide(new)
    paid = costs.of(truth, decided.label, fitted.classes_)
    assert paid[decided.accepted].mean() <= 0.4
    mean_cost = np.where(decided.accepted, paid, 0.4).mean()
    expected = fitted.promise_.controls[None].mean_cost
    assert mean_cost == pytest.approx(expected, abs=0.04)
    assert mean_cost < 0.35
    assert fitted.promise_.risk_bound is None
    assert f"{expected:.3g} a row, {0.4 - expected:.3g} less" in fitted.summary()
    assert clone(fitted).fit(X[:2000], y[:2000]).threshold_ == fitted.threshold_


def test_no_threshold_is_worth_it():
    X, y = credit(60)
    few = SelectiveClassifier(LogisticRegression(), Costs(CREDIT, 0.4), random_state=0).fit(X, y)
    assert (few.threshold_, few.coverage_, few.promise_.controls[None].mean_cost) == (np.inf, 0.0, 0.4)
    assert "at least 36" in few.summary()
    assert "only 30" in few.summary()
    noise = TWO[np.random.default_rng(0).integers(2, size=2000)]
    hopeless = SelectiveClassifier(LogisticRegression(), Costs(CREDIT, 0.4), random_state=0).fit(credit(2000)[0], noise)
    assert "most trusted cost " in str(hopeless)
