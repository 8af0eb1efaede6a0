"""Monitor: false alarms on streams without change, delays beside MAPIE and KS tests, and the regions named.

SEPClassifier is fitted on 2,000 rows of a data set; reference and streams are drawn from its other rows with
replacement, anew for each stream, so that there is no change but the one that is planted. False alarms are counted
over streams of 10^5 rows in batches of 1,000, with labels. Delays are rows from the change, after 10,000 rows without,
in batches of 500; MAPIE's RiskMonitoring watches the share of wrong labels with a tolerance of 0, its
OnlineMartingaleTest the conformity of labels, and the KS tests compare each batch and feature with the reference, their
level of 5 % spent as 1 / (k (k + 1)) over batches and equally over features. In a slow drift one feature creeps by one
deviation over 20,000 rows, after 10,000 without change. There KS tests may also take the last 5,000 rows; a Wasserstein
distance of a batch above a tenth of a deviation is what Evidently calls a drift; ADWIN is run as river does. The same
methods watch streams as long without drift.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from sepc.lifecycle import Monitor
from sepc.lifecycle.monitoring.monitor_state import with_rows
from sepc_benchmarks.measure import arguments, save, show
from sepc_benchmarks.planted_drift import CHANGES, Population, Rows, creeping, population, regions_to_change
from sepc_benchmarks.watchers import CONFIDENCE, METHODS, SLOW_METHODS, Watchers

SETS = ("moons", "magic_gamma_telescope", "phoneme", "pendigits", "electricity")
# The delays of MAPIE take long, and are of the first sets.
N_DELAY_SETS = 3
N_REFERENCE = 4_000
SEED = 2

# Streams without change of each data set, 1,000 in all, and their batches.
N_STREAMS, N_PUBLIC, N_BATCHES, BATCH = 200, 3, 100, 1_000
# A stream with a change.
N_CALM, N_AFTER, N_AFTER_NAMED, STEP = 10_000, 10_000, 20_000, 500
N_DELAYS, N_NAMED = 10, 60
# A slow drift.
N_CREEP, N_SLOW = 20_000, 10


def false_alarms(whole: Population, n_streams: int, n_batches: int) -> dict[str, Any]:
    """Streams of rows that are decided on once, and then only counted."""
    rng, n_false = np.random.default_rng([SEED, 1]), 0
    monitor = Monitor(whole.model, whole.X[:N_REFERENCE], whole.y[:N_REFERENCE], confidence=CONFIDENCE)
    for _ in range(n_streams):
        state = replace(monitor._state, reference=whole.drawn(rng, N_REFERENCE).tally(monitor)).fresh
        for _ in range(n_batches):
            state = with_rows(state, monitor._rates, whole.drawn(rng, BATCH).tally(monitor))
        n_false += bool(state.alarms)
    return counted(whole.name, "counts", monitor._rates.n_regions, n_streams, n_batches, n_false)


def false_alarms_public(whole: Population, n_streams: int, n_batches: int) -> dict[str, Any]:
    """The same through `update`."""
    rng, n_false = np.random.default_rng([SEED, 2]), 0
    for _ in range(n_streams):
        monitor = monitor_of(whole, rng)
        for _ in range(n_batches):
            rows = rng.integers(len(whole.X), size=BATCH)
            monitor.update(whole.X[rows], whole.y[rows])
        n_false += bool(monitor.alarms)
    return counted(whole.name, "update", monitor._rates.n_regions, n_streams, n_batches, n_false)


def counted(name: str, by: str, n_regions: int, n_streams: int, n_batches: int, n_false: int) -> dict[str, Any]:
    bound = float(beta.ppf(0.95, n_false + 1, n_streams - n_false)) if n_false < n_streams else 1.0
    return {
        "data set": name,
        "fed by": by,
        "regions": n_regions,
        "streams": n_streams,
        "rows each": n_batches * BATCH,
        "with an alarm": n_false,
        "%": 100 * n_false / n_streams,
        "at most % (95 % sure)": 100 * bound,
    }


def counted_in_all(records: Sequence[dict[str, Any]]) -> dict[str, Any]:
    own = [record for record in records if record["fed by"] == "counts"]
    n_regions, n_streams, n_false = (sum(one[key] for one in own) for key in ("regions", "streams", "with an alarm"))
    return counted("all", "counts", n_regions, n_streams, own[0]["rows each"] // BATCH, n_false)


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
    """Whether the first alarm names the right region, and a moved feature."""
    n_found = n_right = n_feature = n_early = 0
    for rng, after, region in streams(whole, change, n_streams):
        monitor = monitor_of(whole, rng)
        alarms = first_alarms(monitor, whole, rng, N_CALM, STEP)
        n_early += bool(alarms)
        alarms = alarms or first_alarms(monitor, after, rng, N_AFTER_NAMED, STEP)
        if alarms:
            n_found += 1
            n_right += alarms[0].region in right_regions(whole, after, region, change)
            features = np.flatnonzero((whole.X[: len(after.X)] != after.X[: len(whole.X)]).any(axis=0))
            n_feature += any(one.name == f"x{j}" for j in features for one in alarms[0].moved)
    found = {"data set": whole.name, "change": change, "streams": n_streams, "alarms": n_found, "too early": n_early}
    return with_percent(found | {"right region": n_right} | ({"right feature": n_feature} if "move" in change else {}))


def with_percent(record: dict[str, Any]) -> dict[str, Any]:
    return record | {"right region %": 100 * record["right region"] / record["streams"]}


def added(records: Sequence[dict[str, Any]], change: str) -> dict[str, Any]:
    """The streams of all data sets together, with one change or any."""
    own = [record for record in records if change in ("any", record["change"])]
    names = ("streams", "alarms", "too early", "right region")
    return with_percent({"data set": "all", "change": change} | {key: sum(one[key] for one in own) for key in names})


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


def slow_drift(populations: Sequence[Population], n_streams: int, n_calm: int, n_creep: int) -> list[dict[str, Any]]:
    """For each method, the median of rows from the start of the drift to the alarm, and alarms without a drift."""
    found = {(whole.name, name): np.empty(n_streams) for whole in populations for name in SLOW_METHODS}
    n_false = dict.fromkeys(SLOW_METHODS, 0)
    for whole in populations:
        for i in range(n_streams):
            for method, first, is_calm in watched(whole, i, n_calm, n_creep):
                if is_calm:
                    n_false[method] += first is not None
                else:
                    found[whole.name, method][i] = delay_of(first, n_calm)
        print({name: described(found[whole.name, name]) for name in SLOW_METHODS}, n_false, file=sys.stderr, flush=True)
    n_all = n_streams * len(populations)
    return [
        {"method": name}
        | {whole.name: described(found[whole.name, name]) for whole in populations}
        | {"alarms without drift %": 100 * n_false[name] / n_all, "streams of each kind": n_all}
        for name in SLOW_METHODS
    ]


def watched(whole: Population, i: int, n_calm: int, n_creep: int) -> Iterator[tuple[str, int | None, bool]]:
    """The first alarm of each method in a stream with a slow drift, and in one of the same length without."""
    for is_calm in (False, True):
        rng = np.random.default_rng([SEED, 4, i, is_calm])
        watchers = Watchers(whole, rng.integers(len(whole.X), size=N_REFERENCE))
        batches = creeping(whole, rng, n_calm, n_creep, STEP, *([0.0] if is_calm else []))
        for name, method in SLOW_METHODS.items():
            yield name, watchers.first_alarm(method, batches), is_calm


def changes_of(whole: Population) -> list[str]:
    """The local changes; labels flip only where there is a region in which the model is mostly right."""
    return [change for change in list(CHANGES)[:3] if len(changeable(whole, change))]


def main() -> None:
    options = arguments(__doc__)
    small = options.smallest
    names, n_rows = (("moons",), 6_000) if small else (SETS, 40_000)
    populations = [population(name, n_rows) for name in names]
    tables: dict[str, list[dict[str, Any]]] = {"false alarms": [], "named": [], "delays": []}
    for whole in populations:
        tables["false alarms"].append(false_alarms(whole, *((4, 5) if small else (N_STREAMS, N_BATCHES))))
        tables["false alarms"].append(false_alarms_public(whole, *((1, 3) if small else (N_PUBLIC, N_BATCHES))))
        print(tables["false alarms"][-2:], file=sys.stderr, flush=True)
        for change in changes_of(whole):
            tables["named"].append(named(whole, change, 1 if small else N_NAMED))
            print(tables["named"][-1], file=sys.stderr, flush=True)
    tables["false alarms"].append(counted_in_all(tables["false alarms"]))
    tables["named"] += [added(tables["named"], change) for change in (*list(CHANGES)[:3], "any")]
    save(options.output, tables)
    for whole in populations[:N_DELAY_SETS]:
        for change in list(CHANGES)[:1] if small else CHANGES:
            tables["delays"].append(delays(whole, change, *((1, 500, 500) if small else (N_DELAYS, N_CALM, N_AFTER))))
            print(tables["delays"][-1], file=sys.stderr, flush=True)
    tables["slow drift"] = slow_drift(
        populations[:N_DELAY_SETS], *((1, 500, 1_000) if small else (N_SLOW, N_CALM, N_CREEP))
    )
    for title, records in tables.items():
        show(title, records)
    save(options.output, tables)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        main()
