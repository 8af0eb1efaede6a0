"""Evidence of change: its mean is at most 1 whatever the rate, and the parts of the level are never more than all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from sepc.lifecycle.evidence import log_evidence, most_log_evidence
from sepc.lifecycle.tally import Tally
from sepc.lifecycle.windows import Windows


@pytest.mark.parametrize("guess", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("rate", [0.0, 0.003, 0.05, 0.3, 0.5, 0.97])
def test_its_mean_is_at_most_1_by_all_outcomes(rate, guess):
    before, now = np.meshgrid(np.arange(13), np.arange(41), indexing="ij")
    chance = binom.pmf(before, 12, rate) * binom.pmf(now, 40, rate)
    assert chance.sum() == pytest.approx(1.0)
    assert (chance * np.exp(log_evidence(before, 12, now, 40, guess))).sum() <= 1.0 + 1e-12


@pytest.mark.parametrize("rate", [0.02, 0.2])
def test_it_seldom_ever_reaches_what_is_asked_for(rate):
    rng, level = np.random.default_rng(0), 0.3
    before = rng.binomial(50, rate, size=1000)
    now = np.cumsum(rng.random((1000, 400)) < rate, axis=1)
    largest = log_evidence(before[:, None], 50, now, np.arange(1, 401), rate).max(axis=1)
    assert np.mean(largest >= -np.log(level)) <= level


def test_it_grows_with_a_change_and_falls_without():
    n = np.array([100, 1000, 10_000])
    assert (np.diff(log_evidence(100, 1000, 0.3 * n, n, 0.1)) > 0).all()
    assert (np.diff(log_evidence(100, 1000, 0.1 * n, n, 0.1)) < 0).all()


counts = st.tuples(st.integers(0, 300), st.integers(0, 300))


@given(counts, counts, st.floats(1e-4, 0.9))
def test_the_cheap_bound_is_one(before, now, guess):
    numbers = [float(one) for one in (before[0], sum(before), now[0], sum(now))]
    assert log_evidence(*numbers, guess) <= most_log_evidence(*map(np.asarray, numbers)) + 1e-9


def rows_of(n):
    return Tally.of_rows(np.zeros(n, dtype=np.int64), np.zeros((n, 1)), np.zeros((n, 1), dtype=bool), 2)


def fed(n):
    """Windows after n rows, which came a hundred at a time."""
    seen = Windows(Tally.empty(2, 1))
    for _ in range(n // 100):
        seen = seen.added(rows_of(100)).renewed()
    return seen


def test_all_windows_ever_opened_share_one_level():
    seen, parts = Windows(Tally.empty(2, 1)), {}
    for _ in range(300):
        seen = seen.added(rows_of(400))
        for i, (_, log_part) in enumerate(seen.parts()):
            parts[i, seen.latest[i - 1].number if i else 0] = np.exp(log_part)
        seen = seen.renewed()
    assert len(parts) > 100
    assert 0.9 < sum(parts.values()) <= 1.0


def test_windows_end_and_the_first_does_not():
    seen = Windows(Tally.empty(2, 1))
    for _ in range(9):
        seen = seen.added(rows_of(500)).renewed()
    assert seen.total.n == 4500
    assert [(one.tally.n, one.number) for one in seen.latest] == [(500, 4), (500, 1)]


def test_joined_windows_hold_the_rows_of_both():
    long, other = fed(2700), fed(1300)
    joined = long.joined(other)
    assert joined.total.n == 4000
    assert [(one.tally.n, one.number) for one in joined.latest] == [(1000, 2)]
    assert [(one.tally.n, one.number) for one in long.joined(fed(200)).latest] == [(700, 2)]
    assert [(one.tally.n, one.number) for one in fed(200).joined(long).latest] == [(700, 2)]


def test_windows_joined_again_and_again_only_grow_while_they_keep_their_number():
    """However far either side has come: rows that left a window never come with the number it had before."""
    rows_of_number = {}
    for n_here, n_there in [(100, 900), (600, 1100), (1300, 1900), (1300, 2200), (2100, 2200), (2900, 3100)]:
        for i, one in enumerate(fed(n_here).joined(fed(n_there)).latest):
            assert rows_of_number.get((i, one.number), 0) <= one.tally.n
            rows_of_number[i, one.number] = one.tally.n
    assert len(rows_of_number) > 3
