"""Find a row that the model accepts with a label."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.training_summary import ANYWHERE
from sepc.recourses.choices import Choice, Options
from sepc.recourses.improving import improve, single_changes
from sepc.recourses.reaching import Box, Entry, Reach
from sepc.recourses.targets import Target

# Ellipsoids in which the cheapest row is sought: those cheapest to enter.
PULLED = 6

# How many times the slope is computed.
ROUNDS = 3
# Lengths of the first steps uphill, in standard deviations, and of later ones as shares of the step that was enough.
FIRST_PULLS = 0.4 * 2.0 ** np.arange(6)
LATER_PULLS = np.array([0.55, 0.7, 0.85, 1.0])
# Log-odds are step functions, so slopes are taken over this many deviations to either side.
REACH = 0.25
# Factors that shrink the ellipsoid so that rows are sure to lie in it, even once whole numbers are rounded.
SMALLER, SMALLER_TO_ROUND = 1.0 - 1e-6, 0.9

# Ellipsoids in which a row deep inside is tried: the cheapest to reach. Of these, the path inwards is searched for this
# many cheapest ones, and for as many with the most training rows, where trust tends to be higher.
MOST_DEPTHS, MOST_WALKS = 12, 4
# Positions on the path from the boundary inwards.
STEPS = np.linspace(0.0, 1.0, 7)
# A category is kept if it is at least this frequent in an ellipsoid, as a share of the most frequent one.
FREQUENT = 0.2

# Rounds of changing one feature at a time until a row is accepted.
MOST_RAISES = 8
# Added to the cost of every change when gains per cost are compared, so that free changes do not always win.
LEAST_COST = 0.2


def find(target: Target, reached: Reach, seeds: FloatArray | None = None) -> FloatArray:
    """The cheapest row found that meets the target, of shape (1, d + Q); no rows if none was found.

    `seeds` are more rows to try.
    """
    ways = entries(target, reached)
    inside = [_depths(target, reached), *map(_walk, ways)]
    first = target.candidates(np.concatenate(inside if seeds is None else [*inside, seeds]))
    found = [first.found, *(_project_uphill(target, entry) for entry in ways[:PULLED])]
    if len(first) and target.limits.choices:
        found.append(_raise_log_odds(target, first.rows[first.costs.argmin()]))
    if len(first) and not sum(map(len, found)):
        found.append(_raise_log_odds(target, first.rows[first.log_odds.argmax()]))
    best = target.cheapest(np.concatenate(found))
    if len(best) == 0:
        return best
    tried = {entry.ellipsoid for entry in ways[:PULLED]}
    others = [entry for entry in beside(target, best[0]) if target.limits.choices or entry.ellipsoid not in tried]
    best = target.cheapest(np.concatenate([best, *(_project_uphill(target, entry) for entry in others)]))
    return improve(target, best[0])[np.newaxis]


def _project_uphill(target: Target, entry: Entry) -> FloatArray:
    """The cheapest row that meets the target, found by steps towards higher log-odds from an entry; may be empty."""
    limits = target.limits
    box = replace(entry.box, low=limits.ends[0], high=limits.ends[1])
    projector = box.projector(entry.ellipsoid, shrunk=SMALLER_TO_ROUND if limits.is_whole.any() else SMALLER)
    place, lengths, found = entry.place, FIRST_PULLS, np.empty((0, len(limits.row)))
    for _ in range(ROUNDS if len(limits.free) else 0):
        way = _slope(target, box, place)
        if not way.any():
            break
        places = np.array([projector.project(limits.start + length * way).point for length in lengths])
        led_to = target.candidates(box.rows_at(places))
        if len(led_to) < len(places):
            found = target.cheapest(np.concatenate([found, led_to.found]))
            break
        if led_to.is_it.any():
            first = int(np.argmax(led_to.is_it))
            found = target.cheapest(np.concatenate([found, led_to.rows[[first]]]))
            place, lengths = places[first], lengths[first] * LATER_PULLS
        elif len(found):
            break
        else:
            place = places[led_to.log_odds.argmax()]
    return found


def _slope(target: Target, box: Box, place: FloatArray) -> FloatArray:
    """The direction, of length 1, in which log-odds rise most for their cost; zeros where they are flat."""
    limits, free = target.limits, target.limits.free
    steps = REACH * np.eye(limits.n_features)[free]
    odds = target.judge(box.rows_near(np.concatenate([place + steps, place - steps]))).log_odds
    way = np.zeros(limits.n_features)
    way[free] = (odds[: len(free)] - odds[len(free) :]) / limits.prices[free] ** 2
    length = float(np.linalg.norm(limits.prices * way))
    return way / length if length > 0.0 else way


def entries(target: Target, reached: Reach) -> list[Entry]:
    """Where to enter the ellipsoids that are cheapest to reach, the cheapest first."""
    every, found = Box.whole(target.limits), list(reached.entries)
    near = reached.nearest(MOST_DEPTHS)
    largest = sorted(near, key=target.limits.model.table.rows_inside.__getitem__, reverse=True)
    for k in dict.fromkeys([*near[:MOST_WALKS], *largest[:MOST_WALKS]]):
        if all(entry.ellipsoid != k for entry in found):
            found += _entries_of(k, every)
        if target.limits.choices:
            found += _entries_of(k, _usual_box(target, k))
    return sorted(found, key=lambda entry: entry.squared)


def _depths(target: Target, reached: Reach) -> FloatArray:
    """Rows deep in ellipsoids, with the categories usual there."""
    rows = [_deep_in(k, _usual_box(target, k)) for k in reached.nearest(MOST_DEPTHS)]
    return np.array(rows).reshape(-1, len(target.limits.row))


def beside(target: Target, row: FloatArray) -> Iterator[Entry]:
    """Where to enter the ellipsoid that a row lies deepest in, with the categories of the row."""
    limits, model = target.limits, target.limits.model
    apart = model.place(row[np.newaxis])[0] - model.centers[target.ellipsoids]
    gauges = np.linalg.norm(np.einsum("kij,kj->ki", model.roots[target.ellipsoids], apart), axis=1)
    codes = row[limits.n_features :].astype(np.int64).tolist()
    options = [choice.only(code) for choice, code in zip(limits.choices, codes, strict=True)]
    return _entries_of(int(target.ellipsoids[gauges.argmin()]), replace(Box.whole(limits), options=options))


def _walk(entry: Entry) -> FloatArray:
    """Rows on the way from an entry deep into its ellipsoid, within the limits."""
    way = entry.box.projector(entry.ellipsoid).inner() - entry.place
    return entry.box.rows_at(entry.place + STEPS[:, np.newaxis] * way)


def _entries_of(k: int, box: Box) -> Iterator[Entry]:
    settled = box.settle(box.project(k).point)
    found = settled.project(k)
    if found.is_feasible:
        yield Entry(k, settled, found.point, settled.relaxed.squared + found.squared)


def _deep_in(k: int, box: Box) -> FloatArray:
    return np.asarray(box.rows_at(box.projector(k).inner()[np.newaxis])[0])


def _usual_box(target: Target, k: int) -> Box:
    """All numbers within the limits, with the categories usual in an ellipsoid."""
    usual, every = target.limits.usual, Box.whole(target.limits)
    group = usual.group(k, target.owner)
    counts = usual.category_counts[usual.group(ANYWHERE, target.owner) if group is None else group]
    return replace(
        every,
        options=[
            _usual(counts[usual.categories_of(choice.features.start)], choice) for choice in target.limits.choices
        ],
    )


def _usual(counts: IntArray, choice: Choice) -> Options:
    """The current category if it is frequent, else the most frequent one that is allowed."""
    allowed = choice.allowed[choice.allowed < len(counts)]
    if len(allowed) == 0:
        return choice.only(int(choice.allowed[0]))
    most = int(allowed[counts[allowed].argmax()])
    is_frequent = choice.current < len(counts) and counts[choice.current] > FREQUENT * counts[most]
    return choice.only(choice.current if is_frequent and choice.current in allowed else most)


def _raise_log_odds(target: Target, row: FloatArray) -> FloatArray:
    """A row that meets the target, found by changing one feature at a time; empty if that fails."""
    limits, log_odds = target.limits, float(target.judge(row[np.newaxis]).log_odds[0])
    for _ in range(MOST_RAISES):
        changed = target.candidates(single_changes(limits, row))
        if changed.is_it.any():
            return changed.found
        if len(changed) == 0 or changed.log_odds.max() <= log_odds:
            break
        dearer = np.maximum(changed.costs - limits.costs(row[np.newaxis]), 0.0)
        best = int(np.argmax((changed.log_odds - log_odds) / (LEAST_COST + dearer)))
        row, log_odds = changed.rows[best], float(changed.log_odds[best])
    return np.empty((0, len(row)))
