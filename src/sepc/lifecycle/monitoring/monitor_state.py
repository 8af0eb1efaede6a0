"""The state of a monitor, and how rows change it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.lifecycle.monitoring.alarms import Alarm, FeatureShift, describe_region, shifted_features
from sepc.lifecycle.monitoring.evidence import (
    ALL_ROWS,
    COLUMN_KINDS,
    ERROR,
    FEATURE,
    SHARE,
    MonitoredRates,
    log_evidence,
    log_price,
    most_log_evidence,
)
from sepc.lifecycle.monitoring.state import Part, Tally, Windows
from sepc.records import floats, number, part, parts, record, texts

# Regions whose share changed by more standard deviations than this are included in the search for shifted features.
CLEARLY = 3.0


@record
class MonitorState:
    """Everything that a monitor stores.

    Attributes
    ----------
    confidence : float
        Probability that there is never a false alarm.
    shift, scale : (d,) arrays
        Features are standardised as ``(x - shift) / scale``, with the reference's mean and standard deviation.
    features : tuple of str
        Names of the features, as in the reference.
    reference : Tally
        The rows that all others are compared with.
    sources : tuple of str
        A random name of each monitor that has counted rows here, so that no row counts twice.
    seen : Windows
        The rows seen.
    alarms : tuple of Alarm
        All alarms raised, in order.
    """

    confidence: float = number(0.0, 1.0)
    shift: FloatArray = floats("d")
    scale: FloatArray = floats("d")
    features: tuple[str, ...] = texts("d")
    reference: Tally = part(Tally, has_node=False)
    sources: tuple[str, ...] = texts("s")
    seen: Windows = part(Windows, is_inline=True)
    alarms: tuple[Alarm, ...] = parts(Alarm, default=())

    def flaw(self) -> str | None:
        """What is wrong with the scale or the confidence, if anything."""
        is_possible = (self.scale > 0.0).all() and 0.0 < self.confidence < 1.0
        if len(set(self.sources)) < len(self.sources) or bool(self.sources) != bool(self.seen.total.n_seen):
            return "does not say where its rows come from"
        return None if is_possible else "has an impossible scale or confidence"

    @property
    def log_level(self) -> float:
        """Logarithm of the allowed chance of a false alarm, which all rates and windows share."""
        return float(np.log1p(-self.confidence))

    @property
    def watches_errors(self) -> bool:
        """Whether the reference has labels."""
        return bool(self.reference.labelled.any())

    @property
    def fresh(self) -> MonitorState:
        """The state with the same reference before any rows."""
        return replace(self, sources=(), seen=Windows(Tally.empty(*self.reference.sums.shape)), alarms=())


def with_rows(state: MonitorState, watched: MonitoredRates, tally: Tally) -> MonitorState:
    """The state after more rows; new alarms are at the end of its alarms."""
    sources = state.sources or ((secrets.token_hex(8),) if tally.n_seen else ())
    return settle(replace(state, sources=sources, seen=state.seen.add(tally)), watched)


def merged(states: Sequence[MonitorState]) -> MonitorState:
    """The first state with the rows of all, in whatever order they come; raises if a row would count twice."""
    states = [states[0], *(state for state in states[1:] if state.sources)]
    sources = [source for state in states for source in state.sources]
    if len(set(sources)) < len(sources):
        raise ValueError(
            "Two of the monitors have rows in common: one is a copy, comes from the same file, or was merged before. "
            "Give every worker its own monitor, with fresh(), and merge all of them into one that holds none of them."
        )
    in_order = sorted(states, key=lambda state: state.sources)
    return replace(states[0], sources=tuple(sorted(sources)), seen=reduce(Windows.join, (own.seen for own in in_order)))


def settle(state: MonitorState, watched: MonitoredRates) -> MonitorState:
    """The state with an alarm for every rate with enough evidence, the clearest first, and full windows restarted."""
    while (alarm := _clearest(state, watched)) is not None:
        state = replace(state, alarms=(*state.alarms, alarm))
    return replace(state, seen=state.seen.renew())


def _clearest(state: MonitorState, watched: MonitoredRates) -> Alarm | None:
    """The alarm with the most evidence among those not raised yet."""
    parts = [replace(part, earlier=state.reference + part.earlier) for part in state.seen.parts()]
    kinds = watched.kinds(state.watches_errors)
    alarms = [alarm for part in parts for kind in kinds for alarm in _best(state, watched, kind, kinds[kind], part)]
    return max(alarms, key=lambda alarm: (alarm.region != ALL_ROWS, alarm.log_evidence), default=None)


def _have_alarm(state: MonitorState, watched: MonitoredRates, kind: str) -> BoolArray:
    """Which rates of a kind already have an alarm."""
    of_columns = {alarm.moved[0].name for alarm in state.alarms if alarm.kind in COLUMN_KINDS}
    if kind in COLUMN_KINDS:
        return np.array([name in of_columns for name in watched.model.feature_names], dtype=bool)
    others = [alarm for alarm in state.alarms if alarm.kind not in COLUMN_KINDS]
    if not others:
        return np.zeros(len(watched.regions[kind]), dtype=bool)
    return np.isin(watched.regions[kind], [ALL_ROWS, *(alarm.region for alarm in others if alarm.kind == kind)])


def _best(state: MonitorState, watched: MonitoredRates, kind: str, share: float, part: Part) -> Iterator[Alarm]:
    """The alarm of one kind with the most evidence in a window, if any has enough; regions come before all rows."""
    raised, left_out = _have_alarm(state, watched, kind), _have_alarm(state, watched, SHARE)
    before, now = (watched.rates(kind, tally, left_out) for tally in (part.earlier, part.tally))
    log_level = np.log(watched.weights[kind] * share) + part.log_part
    enough = -state.log_level
    bound = most_log_evidence(before.ones, before.n, now.ones, now.n) + log_level
    rest = np.flatnonzero(~raised & (bound >= enough))
    if len(rest) == 0:
        return
    paid = log_level[rest] - log_price(log_level[rest] - enough)
    evidence = log_evidence(before.ones[rest], before.n[rest], now.ones[rest], now.n[rest]) + paid
    clear = np.flatnonzero(evidence >= enough)
    if len(clear) == 0:
        return
    regions = watched.regions[kind][rest]
    best = int(clear[np.lexsort((evidence[clear], regions[clear] != ALL_ROWS))[-1]])
    place, region = int(rest[best]), int(regions[best])
    yield Alarm(
        kind=kind,
        region=region,
        where=describe_region(watched.model, region),
        before=float(before.value[place]),
        now=float(now.value[place]),
        n_rows=int(now.n[place]),
        n_since=part.tally.n,
        log_evidence=float(evidence[best]),
        moved=_find_shifts(part, watched, kind, place),
    )


def _find_shifts(part: Part, watched: MonitoredRates, kind: str, place: int) -> tuple[FeatureShift, ...]:
    """Features that shifted in the region and, if its share changed, in the regions whose share moved the other way."""
    before, now = part.earlier, part.tally
    region, names = int(watched.regions[kind][place]), watched.model.feature_names
    here = (np.arange(watched.n_regions) == region % watched.n_regions) | (region == ALL_ROWS)
    if kind in COLUMN_KINDS:
        return shifted_features(before, now, here, names, first=place)[:1]
    if kind == FEATURE:
        return shifted_features(before, now, here, names, first=place % watched.n_features)
    if kind == ERROR:
        return shifted_features(before, now, here, names)
    opposite = _opposite(before, now, region)
    return shifted_features(before, now, here | opposite if opposite.any() else watched.around(region), names)


def _opposite(before: Tally, now: Tally, region: int) -> BoolArray:
    """Regions whose share clearly changed in the opposite direction."""
    n_old, n_new = max(before.n, 1), max(now.n, 1)
    rise = now.rows / n_new - before.rows / n_old
    pooled = (now.rows + before.rows) / (n_new + n_old)
    deviation = np.sqrt(pooled * (1.0 - pooled) * (1.0 / n_new + 1.0 / n_old))
    return np.asarray(-rise * np.sign(rise[region]) > CLEARLY * deviation)


def all_evidence(state: MonitorState, watched: MonitoredRates) -> dict[str, FloatArray]:
    """For each kind of rate, the largest log evidence in each region so far, not corrected for the number of rates."""
    largest = {}
    nothing, n_regions = np.zeros(watched.n_regions, dtype=bool), watched.n_regions
    for kind in watched.kinds(state.watches_errors):
        before, now = (watched.rates(kind, tally, nothing) for tally in (state.reference, state.seen.total))
        values = log_evidence(before.ones, before.n, now.ones, now.n) - log_price(state.log_level)
        region = watched.regions[kind]
        largest[kind] = np.full(n_regions + 1, np.nan)
        np.fmax.at(largest[kind], np.where(region >= 0, region, n_regions - 2 - region), values)
    return largest
