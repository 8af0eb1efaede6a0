"""How attacks are judged: exact intervals, Holm's correction, and controls that must be seen."""

from functools import partial

import numpy as np
import pytest
from scipy.stats import beta, binom
from sepc_benchmarks.attacking.attack import Attack, Kind, Promise
from sepc_benchmarks.attacking.controls import attacks as controls
from sepc_benchmarks.attacking.every_attack import every_attack
from sepc_benchmarks.attacking.verdict import SIGNIFICANT, Outcome, holm, other_records, promise_records

PROMISE = Promise("rain", "howto/audit.md", "it seldom rains", "always")
# Draws by which the mistake of each control is seen.
N_DRAWS = {
    "a test at 5 % after every day": 600,
    "a test at 5 % after every batch": 200,
    "every group is tested at the full level": 60,
    "no harm is tested at the full level in every group": 100,
}


def rains(rng, rate):
    return rng.random() < rate


def test_intervals_and_p_values_are_exact_and_holm_multiplies_by_the_number_of_hypotheses_left():
    # Worked by hand: 0.01 * 4, 0.015 * 3, 0.03 * 2, and 0.04 * 1 raised to the one before it.
    assert holm([0.03, 0.01, 0.04, 0.015]) == pytest.approx([0.06, 0.04, 0.06, 0.045])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []
    outcome = Outcome(Attack(PROMISE, "nothing", partial(rains, rate=0.1)), 1000, 70)
    assert outcome.interval == pytest.approx((beta.ppf(0.025, 70, 931), beta.ppf(0.975, 71, 930)))
    assert outcome.p_value == pytest.approx(binom.sf(69, 1000, 0.05))


def test_a_thousand_draws_see_a_promise_broken_in_nine_percent():
    """Also after Holm's correction for a hundred attacks; 300 draws would see it in less than half of the cases."""
    attack = Attack(PROMISE, "clouds", partial(rains, rate=0.09))
    others = [Outcome(Attack(PROMISE, f"sun {i}", rains), 1000, 50) for i in range(99)]
    record = promise_records([Outcome(attack, 1000, attack.count(range(1000))), *others])[0]
    assert record["p, Holm"] < SIGNIFICANT
    passing = binom.isf(SIGNIFICANT / 100, 300, 0.05)
    assert binom.sf(passing, 300, 0.09) < 0.5


def test_draws_are_the_same_however_they_are_divided():
    attack = Attack(PROMISE, "clouds", partial(rains, rate=0.3))
    assert attack.count(range(40)) == attack.count(range(13)) + attack.count(range(13, 40))
    assert attack.count(range(40)) != Attack(PROMISE, "wind", partial(rains, rate=0.3)).count(range(40, 80))


def test_only_what_promises_cover_is_corrected_for():
    kinds = [Kind.ATTACK, Kind.ATTACK, Kind.CONTROL, Kind.RULED_OUT]
    counts = [30, 80, 500, 900]
    found = [Outcome(Attack(PROMISE, kind.value, rains, kind), 1000, n) for kind, n in zip(kinds, counts, strict=True)]
    (row,) = promise_records(found)
    assert row["p, Holm"] == min(holm([found[0].p_value, found[1].p_value]))
    assert (row["attacks"], row["draws"], row["broken %"]) == (2, 2000, 8.0)
    assert [record["seen"] for record in other_records(found, Kind.CONTROL)] == ["yes"]
    assert [record["broken"] for record in other_records(found, Kind.RULED_OUT)] == [900]


@pytest.mark.slow_cases("no harm is tested at the full level in every group", "merged rows count again and again")
@pytest.mark.parametrize("control", list(controls()), ids=lambda control: control.tried)
def test_every_control_is_seen(control):
    n_draws = N_DRAWS.get(control.tried, 25)
    outcome = Outcome(control, n_draws, control.count(range(n_draws)))
    assert outcome.p_value < 1e-4


def test_no_two_attacks_are_the_same():
    every = list(every_attack())
    names = [(attack.promise.name, attack.tried) for attack in every]
    assert len(set(names)) == len(names)
    assert len({attack.promise for attack in every}) == len({attack.promise.name for attack in every})
    assert all(0.0 < attack.level < 1.0 for attack in every)
    assert np.mean([attack.kind is Kind.ATTACK for attack in every]) > 0.8
