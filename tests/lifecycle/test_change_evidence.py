"""Evidence of change is seldom large whatever the rate, and the parts of the level are never more than all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import comb, xlogy
from scipy.stats import binom

from sepc.lifecycle.monitoring.evidence import log_evidence, log_price, most_log_evidence
from sepc.lifecycle.monitoring.state import Tally, Windows


@pytest.mark.parametrize("level", [0.3, 1e-3, 1e-8])
@pytest.mark.parametrize("n", [1, 2, 7, 40, 1000])
def test_the_price_pays_for_a_rate_nobody_knows(n, level):
    """The mean of min(1, exp(D) level / c) over all rows before, for rates near the ends and in the middle."""
    counts, rates = np.arange(n + 1), np.concatenate([[0.0], np.geomspace(0.01 / n, 0.5, 80)])
    log_chance = binom.logpmf(counts, n, rates[:, None])
    divergence = binom.logpmf(counts, n, counts / n) - log_chance
    log_price_of_level = log_price(np.log(level))
    mean = np.exp(log_chance + np.minimum(0.0, divergence + np.log(level) - log_price_of_level)).sum(axis=1)
    assert (mean <= level).all()
    assert mean.max() > 0.1 * level


@pytest.mark.parametrize("before", [0, 3, 50])
def test_the_rows_now_have_a_likelihood_that_sums_to_1(before):
    now = np.arange(31)
    largest_alone = xlogy(before, before / 50) + xlogy(50 - before, 1 - before / 50)
    both = (before + now) / 80
    largest_of_both = xlogy(before + now, both) + xlogy(80 - before - now, 1 - both)
    log_chance = log_evidence(before, 50, now, 30) - largest_alone + largest_of_both
    assert (comb(30, now) * np.exp(log_chance)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("rate", [0.02, 0.2, 0.5])
def test_it_seldom_ever_reaches_what_is_asked_for(rate):
    rng, level = np.random.default_rng(0), 0.3
    before = rng.binomial(50, rate, size=1000)
    now = np.cumsum(rng.random((1000, 400)) < rate, axis=1)
    largest = log_evidence(before[:, None], 50, now, np.arange(1, 401)).max(axis=1)
    assert np.mean(largest >= log_price(np.log(level)) - np.log(level)) <= level


def test_it_grows_with_a_change_and_falls_without():
    n = np.array([100, 1000, 10_000])
    assert (np.diff(log_evidence(100, 1000, 0.3 * n, n)) > 0).all()
    assert (np.diff(log_evidence(100, 1000, 0.1 * n, n)) < 0).all()


counts = st.tuples(st.integers(0, 300), st.integers(0, 300))


@given(counts, counts)
def test_the_cheap_bound_is_one(before, now):
    numbers = [float(one) for one in (before[0], sum(before), now[0], sum(now))]
    assert log_evidence(*numbers) <= most_log_evidence(*map(np.asarray, numbers)) + 1e-9


def rows_of(n):
    below = np.zeros((n, 1), dtype=bool)
    return Tally.of_rows(
        np.zeros(n, dtype=np.int64), np.zeros((n, 1)), below, np.stack([below] * 3), 2, np.zeros((2, 1), dtype=np.int64)
    )


def fed(n):
    """Windows after n rows, which came a hundred at a time."""
    seen = Windows(Tally.empty(2, 1))
    for _ in range(n // 100):
        seen = seen.add(rows_of(100)).renew()
    return seen


def test_all_windows_ever_opened_share_one_level():
    seen, parts = Windows(Tally.empty(2, 1)), {}
    for _ in range(300):
        seen = seen.add(rows_of(400))
        for i, one in enumerate(seen.parts()):
            parts[i, seen.latest[i - 1].number if i else 0] = np.exp(one.log_part)
        seen = seen.renew()
    assert len(parts) > 100
    assert 0.9 < sum(parts.values()) <= 1.0


def test_windows_end_and_the_first_does_not():
    seen = Windows(Tally.empty(2, 1))
    for _ in range(9):
        seen = seen.add(rows_of(500)).renew()
    assert seen.total.n == 4500
    assert [(one.tally.n, one.number) for one in seen.latest] == [(500, 4), (500, 2), (500, 1)]


def test_joined_windows_hold_the_rows_of_both():
    long, other = fed(2700), fed(1300)
    joined = long.join(other)
    assert joined.total.n == 4000
    assert [(one.tally.n, one.number) for one in joined.latest] == [(1000, 3), (2000, 1)]
    assert [(one.tally.n, one.number) for one in long.join(fed(200)).latest] == [(900, 2), (900, 1)]
    assert [(one.tally.n, one.number) for one in fed(200).join(long).latest] == [(900, 2), (900, 1)]


def test_windows_joined_again_and_again_only_grow_while_they_keep_their_number():
    """However far either side has come: rows that left a window never come with the number it had before."""
    rows_of_number = {}
    for n_here, n_there in [(100, 900), (600, 1100), (1300, 1900), (1300, 2200), (2100, 2200), (2900, 3100)]:
        for i, one in enumerate(fed(n_here).join(fed(n_there)).latest):
            assert rows_of_number.get((i, one.number), 0) <= one.tally.n
            rows_of_number[i, one.number] = one.tally.n
    assert len(rows_of_number) > 3


def numbered(ids, n):
    """A tally in which every row has a region of its own, so that one sees which rows it holds."""
    below = np.zeros((len(ids), 1), dtype=bool)
    return Tally.of_rows(
        ids, np.zeros((len(ids), 1)), below, np.stack([below] * 3), n, np.zeros((2, 1), dtype=np.int64)
    )


def test_three_workers_merged_again_and_again_never_test_more_windows_than_the_level_was_parted_into():
    """While a window keeps its number its rows only grow, and the rows before it, which it is compared with, stay."""
    rng, n, n_seen = np.random.default_rng(0), 20_000, 0
    start = Windows(Tally.empty(n, 1))
    workers, held, parts = [start] * 3, {}, {}
    while n_seen < 15_000:
        worker, n_new = rng.integers(3), int(rng.integers(50, 700))
        workers[worker] = workers[worker].add(numbered(np.arange(n_seen, n_seen + n_new), n)).renew()
        n_seen += n_new
        joined = start.join(workers[0]).join(workers[1]).join(workers[2])
        for i, part in enumerate(joined.parts()):
            key = i, joined.latest[i - 1].number if i else 0
            earlier, now = (set(np.flatnonzero(one.rows)) for one in (part.earlier, part.tally))
            assert held.get(key, (earlier, set()))[0] == earlier
            assert held.get(key, (earlier, set()))[1] <= now
            held[key], parts[key] = (earlier, now), np.exp(part.log_part)
    assert len(held) > 12
    assert sum(parts.values()) <= 1.0
