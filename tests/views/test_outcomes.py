"""Outcomes: counts that add up, bins that keep ties together, curves that are those of the metrics."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.datasets import make_moons

from sepc import SEPClassifier
from sepc.metrics import aurc, risk_at_coverage
from sepc.views.outcomes import (
    is_right,
    outcomes_by_region,
    reliability_bins,
    risk_coverage,
    rows_to_review,
)

decided = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.2, 0.5, 0.9, 0.95, 1.0])), min_size=1, max_size=60
).map(lambda rows: tuple(np.array(column) for column in zip(*rows, strict=True)))


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(700, noise=0.25, random_state=0)
    classifier = SEPClassifier().fit(X[:300], y[:300])
    return classifier, classifier.decide(X[300:]), y[300:]


def test_every_row_is_counted_once(moons):
    classifier, decisions, y = moons
    found = outcomes_by_region(decisions, classifier.regions_, y)
    rows = found.right + found.wrong
    assert rows.sum() == 400
    assert (np.diff(rows) <= 0).all()
    np.testing.assert_allclose(rows @ found.trust / 400, decisions.trust.mean())
    for region, right, trust, name in zip(found.region.tolist(), found.right, found.trust, found.names, strict=True):
        inside = decisions.region == region
        assert right == np.sum((decisions.label == y)[inside])
        np.testing.assert_allclose(trust, decisions.trust[inside].mean())
        assert name == ("a combination not seen in training" if region < 0 else classifier.regions_.names[region])
    assert len(outcomes_by_region(decisions[:0], classifier.regions_, [])) == 0


def test_what_cannot_be_compared_is_refused():
    assert is_right(np.array(["a", "b"], dtype=object), ["a", "c"]).tolist() == [True, False]
    for call, message in (
        (lambda: is_right([0, 1], ["no", "yes"]), "int64 such as 0"),
        (lambda: is_right([0, 1, 1], [0, 1]), "3 labels"),
        (lambda: reliability_bins([True, False], [0.5, np.nan]), "NaN"),
        (lambda: reliability_bins([True], [0.5], 0), "n_bins"),
    ):
        with pytest.raises(ValueError, match=message):
            call()


@given(decided, st.integers(1, 12))
def test_bins_hold_every_row_and_keep_ties_together(rows, n_bins):
    correct, trust = rows
    bins = reliability_bins(correct, trust, n_bins)
    n = len(trust)
    assert bins.n_rows.sum() == n
    assert len(bins) <= min(n_bins, len(np.unique(trust)))
    np.testing.assert_allclose(bins.n_rows @ bins.right, correct.sum(), atol=1e-9)
    np.testing.assert_allclose(bins.n_rows @ bins.trust, trust.sum(), atol=1e-9)
    assert (np.diff(bins.trust) > 0).all()
    assert len(bins) == 1 or bins.n_rows.min() >= 0.5 * n / n_bins
    ends = np.cumsum(np.sort(trust) < np.inf)[np.cumsum(bins.n_rows) - 1]
    assert all(np.sort(trust)[end - 1] < np.sort(trust)[end] for end in ends[:-1])


def test_intervals_are_exact():
    correct = np.r_[np.ones(7, bool), np.zeros(3, bool), np.ones(5, bool)]
    bins = reliability_bins(correct, np.r_[np.full(10, 0.6), np.full(5, 0.9)], 2)
    expected = binomtest(7, 10).proportion_ci(0.95, method="exact")
    np.testing.assert_allclose([bins.low[0], bins.high[0]], expected, rtol=1e-6)
    assert bins.high[1] == 1.0
    np.testing.assert_allclose(bins.low[1], 0.025 ** (1 / 5))


@given(decided)
def test_the_curve_is_that_of_the_metrics(rows):
    correct, trust = rows
    curve = risk_coverage(correct, trust)
    np.testing.assert_allclose(curve.risk.mean(), curve.aurc, atol=1e-12)
    assert curve.aurc == aurc(correct, trust)
    for coverage, risk in zip(curve.coverage, curve.risk, strict=True):
        np.testing.assert_allclose(risk, risk_at_coverage(correct, trust, coverage), atol=1e-12)


def test_rows_to_review_are_the_least_trusted_of_those_not_accepted(moons):
    _, decisions, _ = moons
    first = rows_to_review(decisions, 7)
    assert len(first) == 7
    assert not decisions.accepted[first].any()
    assert decisions.trust[first].tolist() == sorted(decisions.trust)[:7]
    assert len(rows_to_review(decisions, 10**9)) == np.sum(~decisions.accepted)
