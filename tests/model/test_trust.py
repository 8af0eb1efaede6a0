"""The formulas of trust, on numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from sepc.model.trust import credible_interval, most_likely, published_probabilities, smooth


def test_published_trust_of_region_61():
    probabilities = published_probabilities(np.array([[1.0, 5.0]]), np.array([1]), np.array([547, 256]))
    assert probabilities[0, 1] == pytest.approx(0.737, abs=5e-4)
    assert probabilities[0, 1] == pytest.approx(6 * 256 / (6 * 256 + 1 * 548), abs=1e-15)


def test_published_trust_is_certain_in_any_pure_region():
    counts = np.array([[1.0, 0.0], [400.0, 0.0]])
    probabilities = published_probabilities(counts, np.array([0, 0]), np.array([547, 256]))
    np.testing.assert_allclose(probabilities[:, 0], 1.0)


def test_evidence_by_hand():
    # q = (m + share) / (m + 1) = (3.6, 1.4) / 5; p = (n + 30 q) / (n + 30) = (2 + 21.6, 0 + 8.4) / 32.
    probabilities = smooth(np.array([[2.0, 0.0]]), np.array([[3.0, 1.0]]), np.array([0.6, 0.4]))
    np.testing.assert_allclose(probabilities, [[23.6 / 32, 8.4 / 32]])


def test_evidence_without_rows_is_the_prior():
    shares = np.array([0.7, 0.2, 0.1])
    np.testing.assert_allclose(smooth(np.zeros((1, 3)), np.zeros((1, 3)), shares), [shares])


@given(st.integers(1, 10_000), st.floats(0.05, 0.95))
def test_evidence_grows_with_pure_rows_and_never_certifies_one(n, share):
    shares = np.array([share, 1 - share])
    few, more = (smooth(np.array([[k, 0.0]]), np.array([[k, 0.0]]), shares)[0, 0] for k in (n, n + 1))
    assert few < more < 1
    assert smooth(np.array([[1.0, 0]]), np.array([[1.0, 0]]), np.array([0.5, 0.5]))[0, 0] < 0.95


def test_credible_interval_is_that_of_a_beta_distribution():
    low, high = credible_interval(np.array([0.9]), np.array([70.0]), 0.95)
    assert (low[0], high[0]) == pytest.approx(beta(90, 10).interval(0.95))


def test_ties_go_to_the_larger_class_then_to_the_first():
    shares = np.array([0.3, 0.4, 0.3])
    assert most_likely(np.array([[0.4, 0.4, 0.2], [0.4, 0.2, 0.4], [0.2, 0.3, 0.5]]), shares).tolist() == [1, 0, 2]
