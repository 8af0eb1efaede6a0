"""Bands of trust, and the sets of rows that evidence certifies."""

from __future__ import annotations

import numpy as np
import pytest

from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.lifecycle.reviewing.trust_bands import bands_of


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
