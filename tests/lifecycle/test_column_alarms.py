"""Gaps, new categories and round values raise an alarm of their column, at a level that is accounted for."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from monte_carlo import exceeds

from sepc import SEPClassifier
from sepc.lifecycle import Monitor
from sepc.lifecycle.monitoring.evidence import PART_OF_COLUMNS


def people(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    columns = {
        "age": rng.integers(18, 80, n) + 5 * y,
        "pay": rng.lognormal(7.0, 0.5, n).round(2) + 400.0 * y,
        "town": rng.choice(["Ulm", "Bonn", "Kiel"], size=n, p=[0.5, 0.3, 0.2]),
    }
    return pd.DataFrame(columns).mask(rng.random((n, 3)) < [0.0, 0.05, 0.02]), np.where(y, "yes", "no")


@cache
def started():
    return Monitor(SEPClassifier().fit(*people(900, 0)), people(900, 1)[0])


def watching():
    """A monitor that has seen calm rows."""
    monitor = started().fresh()
    assert monitor.update(people(400, 2)[0]) == []
    return monitor


CHANGES = {
    "emptied": ("age", "gap", lambda own: own.astype(float).mask(own > 0)),
    "more gaps": ("pay", "gap", lambda own: own.mask(own.index % 3 == 0)),
    "no gaps": ("town", "gap", lambda own: own.mask(own.index % 2 == 0)),
    "a new category": ("town", "gap", lambda own: own.mask(own.index % 4 == 0, "Trier")),
    "rounded to tens": ("age", "round", lambda own: own.round(-1)),
    "rounded to whole numbers": ("pay", "round", lambda own: own.round()),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_column_raises_an_alarm_that_names_it(what):
    name, kind, change = CHANGES[what]
    rows, _ = people(200, 3)
    monitor = watching()
    (alarm,) = (own for own in monitor.update(rows.assign(**{name: change(rows[name])})) if own.is_of_column)
    assert (alarm.kind, alarm.region, alarm.moved[0].name, alarm.rises) == (kind, -2, name, True)
    assert {"gap": f"without a known {name}", "round": f"a round {name}"}[kind] in str(alarm)
    assert "Shifted" not in str(alarm)
    assert not alarm.refuses
    assert Monitor.from_bytes(monitor.to_bytes(), monitor.model).alarms == monitor.alarms


def test_each_column_has_an_alarm_of_its_own_and_one_only():
    monitor = watching()
    first = monitor.update(people(200, 4)[0].assign(age=np.nan))
    assert [own.moved[0].name for own in first if own.is_of_column] == ["age"]
    second = monitor.update(people(300, 5)[0].assign(age=np.nan, town=None))
    assert [own.moved[0].name for own in second if own.is_of_column] == ["town"]
    again = monitor.update(people(300, 6)[0].assign(age=np.nan, town=None))
    assert not any(own.is_of_column for own in again)


def test_an_alarm_of_a_column_hides_no_other():
    monitor = watching()
    monitor.update(people(200, 7)[0].assign(town=None))
    rows, _ = people(600, 8)
    later = monitor.update(rows.assign(age=rows["age"] + 25))
    assert {own.kind for own in later} & {"share", "outside", "feature"}


def test_workers_count_gaps_together():
    start = started()
    workers = [start.fresh() for _ in range(3)]
    for seed, worker in enumerate(workers):
        worker.update(people(30, 20 + seed)[0].assign(pay=np.nan))
    assert "gap" in {own.kind for own in start.merge(*workers).alarms}


def test_the_shares_of_the_level_are_never_more_than_all():
    kinds = started()._rates.kinds(with_errors=False)
    assert sum(kinds.values()) == pytest.approx(1.0)
    assert kinds["gap"] + kinds["round"] == pytest.approx(PART_OF_COLUMNS)
    assert all(own.sum() <= 1.0 + 1e-12 for own in started()._rates.weights.values())


def n_false(n_streams, first):
    """Streams of rows without a change, each with its own reference, in which a column raises an alarm."""
    n_alarms = 0
    for seed in range(first, first + n_streams):
        monitor = Monitor(started().model, people(300, 2 * seed + 1)[0], confidence=0.5)
        rows, _ = people(1000, 2 * seed)
        for start in range(0, 1000, 200):
            monitor.update(rows[start : start + 200])
        n_alarms += any(own.is_of_column for own in monitor.alarms)
    return n_alarms


def test_columns_seldom_raise_a_false_alarm():
    """At a level of one half, of which columns have a tenth."""
    assert not exceeds(n_false(20, 1000), 20, 0.05)


@pytest.mark.slow
def test_columns_seldom_raise_a_false_alarm_in_a_thousand_streams():
    assert not exceeds(n_false(1000, 2000), 1000, 0.05)
