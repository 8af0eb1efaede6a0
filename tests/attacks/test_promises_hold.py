"""Every promise holds under attack: fewer draws than `make attacks` has, so that only a promise clearly broken fails.

How often each attack may break its promise here follows from the binomial distribution: if all promises are just kept,
the chance that any test in this folder fails is below one in 10,000.
"""

import pytest
from few_draws import BROKEN_ONCE, N_TESTS, holds, most_broken
from sepc_benchmarks.attacking import (
    audits,
    certificates,
    costs,
    groups,
    merges,
    monitors,
    overall,
    overall_labels,
    per_label,
    plans,
    reports,
    reviews,
    shifts,
)
from sepc_benchmarks.attacking.attack import Kind

# How many draws each attack of a file gets, by how long they take.
N_DRAWS = {
    **dict.fromkeys((overall, per_label, groups, costs, certificates, reports, shifts), 40),
    **dict.fromkeys((overall_labels, audits), 20),
    **dict.fromkeys((monitors, merges, reviews, plans), 8),
}
# These take longest, and are left to `make attacks`.
SLOW = {
    "100,000 rows",
    "real rows, digits, ten labels",
    "one row at a time",
    "merged again, all saved and loaded between",
    "a budget of 1",
}
CHOSEN = [
    pytest.param(attack, n_draws, id=f"{attack.promise.name}: {attack.tried}")
    for file, n_draws in N_DRAWS.items()
    for attack in file.attacks()
    if attack.kind is Kind.ATTACK and attack.tried not in {*SLOW, *BROKEN_ONCE}  # these are in test_known_breaks.py
]


# Those that take longest of every promise; of each, others are tried on every change.
@pytest.mark.slow_cases(
    "error rate in every group: * threshold*, errors fall with trust",
    "no harm: three groups wrong alike, whatever the trust",
    "no harm: one threshold, ten groups wrong alike",
    "certificates of regions: regions of a partition",
    "error rate under another mix of regions: 300 tiny regions",
    "error rate under another mix of regions: bad ones of 60 regions *",
    "error rate under another mix of regions: three large regions",
    "error rate under another mix of regions: a region 20 times as often",
    "error rate under another mix of regions: no shift at all",
    "error rate under another mix of regions: trust tied at three values",
    "error rate under another mix of regions: the whole range of trust",
    "error rate under another mix of regions: a target in one region",
    "error rate: real rows, digits",
    "false alarms among failing regions: no region fails, claims of all sizes",
    "false alarms among failing regions: regions of a partition",
    "false clusters: beside a true cluster",
    "false clusters: rows of a partition",
    "false alarms of a monitor: 50 regions",
    "false alarms of a monitor: saved and loaded after every batch",
    "false alarms of a monitor: labels late at random",
    "certificate of a review queue: half of the budget to decide, half of the rows aimed at",
    "certificate of a review queue: saved and loaded twice a day",
    "certificate of a review queue: short late reviews, saved and loaded every day",
    "certificate of a review queue: 30 rows a day for a budget of 20",
)
@pytest.mark.parametrize(("attack", "n_draws"), CHOSEN)
def test_promise_holds(attack, n_draws):
    assert holds(attack, n_draws)


def test_the_chance_of_failing_is_shared_by_all_tests():
    assert len(CHOSEN) + 20 <= N_TESTS
    assert most_broken(8, 0.05) < 8
