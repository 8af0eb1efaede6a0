"""Every metric against a value worked out by hand, against all orders of tied rows, and against scikit-learn."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from weekly import weekly

from sepc import SEPClassifier, metrics

CORRECT = np.array([True, False, True, False, True, True])
TRUST = np.array([2.0, 1.0, 1.0, 1.0, 0.5, 0.5])


def over_all_orders(metric, correct, trust):
    """Mean over all orders of the rows of a metric that breaks ties by the order given."""
    values = []
    for order in itertools.permutations(range(len(correct))):
        ranked = sorted(order, key=lambda i: -trust[i])
        values.append(metric(~correct[list(ranked)]))
    return np.mean(values)


def test_ties_are_the_mean_over_all_orders():
    n = np.arange(1, 7)
    for metric, one_order in (
        (metrics.aurc, lambda wrong: np.mean(np.cumsum(wrong) / n)),
        (metrics.augrc, lambda wrong: np.mean(np.cumsum(wrong)) / 6),
        (lambda c, t: metrics.risk_at_coverage(c, t, 0.5), lambda wrong: wrong[:3].mean()),
    ):
        assert metric(CORRECT, TRUST) == pytest.approx(over_all_orders(one_order, CORRECT, TRUST))


def test_areas_by_hand():
    right, trust = [False, True, True], [3, 2, 1]
    assert metrics.aurc(right, trust) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert metrics.augrc(right, trust) == pytest.approx((1 + 1 + 1) / 3 / 3)
    assert metrics.excess_aurc(right, trust) == pytest.approx(11 / 18 - 1 / 9)
    assert metrics.excess_aurc(CORRECT, CORRECT.astype(float)) == metrics.aurc([True, True], [1, 2]) == 0


def test_risk_and_coverage_answer_each_other():
    correct, trust = np.array([True] * 8 + [False, True]), np.linspace(1, 0, 10)
    assert metrics.risk_at_coverage(correct, trust, 0.8) == 0
    assert metrics.risk_at_coverage(correct, trust, 0.9) == pytest.approx(1 / 9)
    assert metrics.coverage_at_risk(correct, trust, 0.0) == 0.8
    assert metrics.coverage_at_risk(correct, trust, 0.1) == 1.0
    assert metrics.coverage_at_risk([False, True], [0.9, 0.1], 0.0) == 0
    # A threshold takes tied rows together or not at all.
    assert metrics.coverage_at_risk([True, True, False], [0.9, 0.5, 0.5], 0.3) == pytest.approx(1 / 3)


def test_auroc_and_brier_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    correct, trust = rng.random(300) < 0.7, rng.integers(0, 10, 300) / 10
    assert metrics.auroc(correct, trust) == pytest.approx(roc_auc_score(correct, trust))
    assert np.isnan(metrics.auroc([True, True], [0.1, 0.2]))
    assert metrics.brier(correct, trust) == pytest.approx(brier_score_loss(correct, trust))


def test_ece_by_hand():
    # Bins of two rows: trust (0.2, 0.4) with one right, (0.8, 1.0) with both right.
    assert metrics.ece([False, True, True, True], [0.2, 0.4, 0.8, 1.0], n_bins=2) == pytest.approx((0.4 + 0.2) / 4)
    assert metrics.ece([True] * 4, [1.0] * 4) == 0
    # Tied rows share their outcomes, so a bin border among them changes nothing.
    assert metrics.ece([True, False] * 4, [0.5] * 8, n_bins=3) == pytest.approx(0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.aurc([True], [1.0, 2.0]), "length"),
        (lambda: metrics.aurc([], []), "length"),
        (lambda: metrics.aurc([True], [np.nan]), "ranked"),
        (lambda: metrics.risk_at_coverage([True], [1.0], 0.0), "coverage"),
        (lambda: metrics.ece([True], [1.0], n_bins=0), "n_bins"),
    ],
)
def test_refuses_in_the_users_terms(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("model", "tried"),
    [(LogisticRegression(max_iter=1000), {"C": [0.01, 1.0]}), weekly(SEPClassifier(), {"n_impure": [0, 5]})],
    ids=["another model", "ours"],
)
def test_scorer_serves_a_grid_search(model, tried):
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(model, tried, scoring=metrics.neg_aurc_scorer, cv=3).fit(X, y)
    assert -0.2 < search.best_score_ <= 0


def test_scorer_is_the_area_of_the_trust_that_a_model_has():
    X, y = load_iris(return_X_y=True)
    plain = LogisticRegression(C=0.01).fit(X, y)
    trust, right = plain.predict_proba(X).max(axis=1), plain.predict(X) == y
    assert metrics.neg_aurc_scorer(plain, X, y) == -metrics.aurc(right, trust) < 0.0
