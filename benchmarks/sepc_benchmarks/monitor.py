"""How often does a monitor raise a false alarm, how soon does it see a change, and does it name the region? Two hours.

SEPClassifier is fitted on 2,000 rows of a data set; reference and streams are drawn from its other rows with
replacement, anew for each stream, so that there is no change but the one that is planted. False alarms are counted
over streams of 10^5 rows in batches of 1,000, with labels. Delays are rows from the change, after 10,000 rows without,
in batches of 500; MAPIE's RiskMonitoring watches the share of wrong labels with a tolerance of 0, its
OnlineMartingaleTest the conformity of labels, and the KS tests compare each batch and feature with the reference, their
level of 5 % spent as 1 / (k (k + 1)) over batches and equally over features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from sepc.lifecycle import Monitor
from sepc.lifecycle.monitoring.monitor_state import with_rows
from sepc_benchmarks.measure import Parts, Records, Tables
from sepc_benchmarks.planted_drift import CHANGES, Population, Rows, population, regions_to_change
from sepc_benchmarks.watchers import CONFIDENCE, METHODS, Watchers

SETS = ("moons", "magic_gamma_telescope", "phoneme", "pendigits", "electricity")
# The delays of MAPIE take long, and are of the first sets.
N_DELAY_SETS = 3
N_REFERENCE = 4_000
SEED = 2

# Streams without change of each data set, 1,000 in all, and their batches.
N_STREAMS, N_BATCHES, BATCH = 200, 100, 1_000
# A stream with a change.
N_CALM, N_AFTER, N_AFTER_NAMED, STEP = 10_000, 10_000, 20_000, 500
N_DELAYS, N_NAMED = 10, 60


def false_alarms(whole: Population, n_streams: int, n_batches: int) -> dict[str, Any]:
    """Streams of rows that are decided on once, and then only counted."""
    rng, n_false = np.random.default_rng([SEED, 1]), 0
    monitor = Monitor(whole.model, whole.X[:N_REFERENCE], whole.y[:N_REFERENCE], confidence=CONFIDENCE)
    for _ in range(n_streams):
        state = replace(monitor._state, reference=whole.drawn(rng, N_REFERENCE).tally(monitor)).fresh
        for _ in range(n_batches):
            state = with_rows(state, monitor._rates, whole.drawn(rng, BATCH).tally(monitor), "benchmark")
        n_false += bool(state.alarms)
    return counted(whole.name, monitor._rates.n_regions, n_streams, n_batches, n_false)


def counted(name: str, n_regions: int, n_streams: int, n_batches: int, n_false: int) -> dict[str, Any]:
    bound = float(beta.ppf(0.95, n_false + 1, n_streams - n_false)) if n_false < n_streams else 1.0
    return {
        "data set": name,
        "regions": n_regions,
        "streams": n_streams,
        "rows each": n_batches * BATCH,
        "with an alarm": n_false,
        "%": 100 * n_false / n_streams,
        "at most % (95 % sure)": 100 * bound,
    }


def counted_in_all(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    n_regions, n_streams, n_false = (
        sum(one[key] for one in records) for key in ("regions", "streams", "with an alarm")
    )
    return counted("all", n_regions, n_streams, records[0]["rows each"] // BATCH, n_false)


def monitor_of(whole: Population, rng: np.random.Generator, *, labels: bool = True) -> Monitor:
    rows = rng.integers(len(whole.X), size=N_REFERENCE)
    return Monitor(whole.model, whole.X[rows], whole.y[rows] if labels else None, confidence=CONFIDENCE)


def streams(whole: Population, change: str, n_streams: int) -> Iterator[tuple[np.random.Generator, Population, int]]:
    """A generator, what the rows are drawn from after the change, and the region where it is."""
    regions = changeable(whole, change)
    for i in range(n_streams):
        rng = np.random.default_rng([SEED, 3, i])
        region = int(rng.choice(regions))
        yield rng, CHANGES[change](whole, region, rng), region


def changeable(whole: Population, change: str) -> NDArray[np.int64]:
    return regions_to_change(whole, accurate=change.startswith("labels"))


def named(whole: Population, change: str, n_streams: int) -> dict[str, Any]:
    """Whether the first alarm names the right region."""
    n_found = n_right = n_early = 0
    for rng, after, region in streams(whole, change, n_streams):
        monitor = monitor_of(whole, rng)
        alarms = first_alarms(monitor, whole, rng, N_CALM, STEP)
        n_early += bool(alarms)
        alarms = alarms or first_alarms(monitor, after, rng, N_AFTER_NAMED, STEP)
        if alarms:
            n_found += 1
            n_right += alarms[0].region in right_regions(whole, after, region, change)
    found = {"data set": whole.name, "change": change, "streams": n_streams, "alarms": n_found, "too early": n_early}
    return with_percent(found | {"right region": n_right})


def with_percent(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"right region %": 100 * record["right region"] / record["streams"]}


def added(records: Records, change: str) -> dict[str, Any]:
    """The streams of all data sets together, with one change or any."""
    own = [record for record in records if change in ("any", record["change"])]
    names = ("streams", "alarms", "too early", "right region")
    return with_percent({"change": change} | {key: sum(one[key] for one in own) for key in names})


def first_alarms(monitor: Monitor, whole: Population, rng: np.random.Generator, n: int, step: int) -> Sequence[Any]:
    for _ in range(n // step):
        alarms = monitor._take(whole.drawn(rng, step).tally(monitor))
        if alarms:
            return alarms
    return ()


def right_regions(whole: Population, after: Population, region: int, change: str) -> set[int]:
    """The region itself; where rows moved, also the one where most of them went and those near its own ellipsoids."""
    if not change.startswith("rows"):
        return {region}
    model = whole.model.model_
    went = after.region[whole.region == region]
    n_sets = len(model.table.counts)
    near: Iterable[int] = n_sets + np.flatnonzero(model.table.memberships[region]) if region < n_sets else []
    values, counts = np.unique(went, return_counts=True)
    return {region, int(values[counts.argmax()]), *map(int, near)}


def delays(whole: Population, change: str, n_streams: int, n_calm: int, n_after: int) -> dict[str, Any]:
    """Median delay of each method in rows, streams never noticed and alarms before the change."""
    found: dict[str, list[float]] = {name: [] for name in METHODS}
    for rng, after, _ in streams(whole, change, n_streams):
        watchers = Watchers(whole, rng.integers(len(whole.X), size=N_REFERENCE))
        parts = [part.drawn(rng, STEP) for part, n in ((whole, n_calm), (after, n_after)) for _ in range(n // STEP)]
        batches = [(one.of.X[one.rows], one.of.y[one.rows]) for one in parts]
        for name, method in METHODS.items():
            found[name].append(delay_of(watchers.first_alarm(method, batches), n_calm))
    record: dict[str, Any] = {"data set": whole.name, "change": change, "streams": n_streams}
    return record | {name: described(np.array(values)) for name, values in found.items()}


def delay_of(first: int | None, n_calm: int) -> float:
    return np.inf if first is None else float((first + 1) * STEP - n_calm)


def described(values: Rows) -> str:
    early, never = int(np.sum(values <= 0)), int(np.sum(np.isinf(values)))
    if early == len(values):
        return "always too early"
    middle = float(np.median(values[values > 0])) if (values > 0).any() else np.inf
    told = "never" if np.isinf(middle) else f"{middle:,.0f}"
    notes = [f"{never} never"] if never and not np.isinf(middle) else []
    notes += [f"{early} too early"] if early else []
    return f"{told} ({', '.join(notes)})" if notes else told


def changes_of(whole: Population) -> list[str]:
    """The local changes; labels flip only where there is a region in which the model is mostly right."""
    return [change for change in list(CHANGES)[:3] if len(changeable(whole, change))]


def parts(smallest: bool) -> Parts:
    names, n_rows = (("moons",), 6_000) if smallest else (SETS, 40_000)
    return {
        "false alarms": lambda: all_false_alarms(names, n_rows, *((4, 5) if smallest else (N_STREAMS, N_BATCHES))),
        "named": lambda: all_named(names, n_rows, 1 if smallest else N_NAMED),
        "delays": lambda: all_delays(names[:N_DELAY_SETS], n_rows, smallest),
    }


def all_false_alarms(names: Sequence[str], n_rows: int, n_streams: int, n_batches: int) -> Tables:
    records = [false_alarms(population(name, n_rows), n_streams, n_batches) for name in names]
    return {"false alarms": [*records, counted_in_all(records)]}


def all_named(names: Sequence[str], n_rows: int, n_streams: int) -> Tables:
    """The streams of all data sets together."""
    populations = [population(name, n_rows) for name in names]
    each = [named(whole, change, n_streams) for whole in populations for change in changes_of(whole)]
    return {"named": [added(each, change) for change in (*list(CHANGES)[:3], "any")]}


def all_delays(names: Sequence[str], n_rows: int, smallest: bool) -> Tables:
    changes, sizes = (list(CHANGES)[:1], (1, 500, 500)) if smallest else (list(CHANGES), (N_DELAYS, N_CALM, N_AFTER))
    populations = [population(name, n_rows) for name in names]
    return {"delays": [delays(whole, change, *sizes) for whole in populations for change in changes]}
