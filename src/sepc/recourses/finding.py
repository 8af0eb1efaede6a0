"""Find a row that the model accepts with a label, then make it cheaper and simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.training_summary import ANYWHERE
from sepc.recourses._limits import Choice, Limits, Options
from sepc.recourses.bounds import Box, Entry, Reach

# Steps of equal length in different directions cost the same, and rounding must not choose among them.
COST_DIGITS = 9


class Judgements(NamedTuple):
    """The output of a model for some rows."""

    log_odds: FloatArray
    is_it: BoolArray
    inside: BoolArray

    @classmethod
    def of(cls, chance: FloatArray, is_it: BoolArray, inside: BoolArray) -> Judgements:
        """Judgements from the probability of the label."""
        safe = np.clip(chance, 1e-12, 1.0 - 1e-12)
        return cls(np.log(safe) - np.log1p(-safe), is_it, inside)


class Candidates(NamedTuple):
    """Rows within the limits, in an ellipsoid of the label."""

    rows: FloatArray
    costs: FloatArray
    log_odds: FloatArray
    is_it: BoolArray

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def found(self) -> FloatArray:
        """The cheapest row that meets the target, of shape (1, d + Q); no rows if there is none."""
        rows, costs = self.rows[self.is_it], self.costs[self.is_it]
        return rows[[costs.round(COST_DIGITS).argmin()]] if len(rows) else rows


@dataclass(frozen=True, eq=False)
class Target:
    """The target of a search, and how to recognise it."""

    limits: Limits
    owner: int
    ellipsoids: IntArray
    judge: Callable[[FloatArray], Judgements]

    def candidates(self, rows: FloatArray) -> Candidates:
        """The rows that are within the limits and in an ellipsoid of the label."""
        rows = rows[self.limits.allow(rows)]
        if len(rows) == 0:
            return Candidates(rows, np.empty(0), np.empty(0), np.empty(0, dtype=bool))
        judged = self.judge(rows)
        inside = judged.inside[:, self.ellipsoids].any(axis=1)
        costs = self.limits.costs(rows[inside])
        return Candidates(rows[inside], costs, judged.log_odds[inside], judged.is_it[inside])

    def cheapest(self, rows: FloatArray) -> FloatArray:
        """The cheapest of some rows, of shape (1, d + Q); no rows if there are none."""
        return rows[[self.limits.costs(rows).round(COST_DIGITS).argmin()]] if len(rows) else rows


# Rounds of taking changes back, and of exchanging them for other ones.
MOST_SAVINGS, MOST_EXCHANGES = 8, 6
# How much of a change is left when it is taken back, and the saving, as a share of the cost, worth another round.
KEPT = np.array([0.0, 0.5, 0.8, 0.95])
WORTH = 1e-2
# Changes of a single feature for which others are taken back in exchange: those with the highest log-odds.
MOST_CHANGES = 8
# The most rows with changes taken back that an exchange asks the model about.
MOST_EXCHANGED = 600
# How much more a simpler row may cost, and how many levels of rounding are tried.
DEARER, ROUNDINGS = 1.02, 4


def improve(target: Target, row: FloatArray) -> FloatArray:
    """A row that costs less and still meets the target, if one is found; one that costs hardly more is made simpler."""
    row = _reduce_cost(target, row)
    for _ in range(MOST_EXCHANGES if target.limits.choices else 0):
        cheaper = _exchange(target, row)
        if len(cheaper) == 0:
            break
        row = _reduce_cost(target, cheaper[0])
    return _tidy(target, row)


def _exchange(target: Target, row: FloatArray) -> FloatArray:
    """A cheaper row with one feature changed, in exchange for which other changes are taken back; may be empty."""
    limits = target.limits
    others = single_changes(limits, row)
    others = others[limits.allow(others)]
    if len(others) == 0:
        return others
    best = np.argsort(-target.judge(others).log_odds, kind="stable")[:MOST_CHANGES]
    taken_back = [part(limits, other) for other in others[best] for part in (_take_back, _take_back_two)]
    rows = limits.complete(np.concatenate(taken_back))
    rows = rows[limits.costs(rows) < (1.0 - WORTH) * limits.costs(row[np.newaxis])]
    return target.candidates(rows[:MOST_EXCHANGED]).found


def _reduce_cost(target: Target, row: FloatArray) -> FloatArray:
    """A row that costs less and still meets the target, found by taking changes back."""
    limits = target.limits
    for _ in range(MOST_SAVINGS):
        rows = limits.complete(_take_back(limits, row))
        cheaper = limits.costs(rows) < (1.0 - WORTH) * limits.costs(row[np.newaxis])
        less = target.candidates(rows[cheaper]).found
        if len(less) == 0:
            break
        row = less[0]
    return row


def _tidy(target: Target, row: FloatArray) -> FloatArray:
    """A row that costs hardly more, with fewer changes and rounder numbers, and still meets the target."""
    limits = target.limits
    for variants in (_without_smallest, _round_changes):
        rows = variants(limits, row)
        rows = rows[limits.costs(rows) <= DEARER * limits.costs(row[np.newaxis])]
        tidy = target.candidates(rows)
        # The tidiest variant comes first.
        row = tidy.rows[tidy.is_it][0] if tidy.is_it.any() else row
    return row


def _without_smallest(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with the smallest changes of numbers taken back, most changes first."""
    smallest_first = sorted(
        (j for j in limits.changed(row) if limits.prices[j] > 0.0), key=limits.ways(row).__getitem__
    )
    rows = np.tile(row, (len(smallest_first), 1))
    for variant, n in zip(rows, range(len(smallest_first), 0, -1), strict=True):
        variant[smallest_first[:n]] = limits.row[smallest_first[:n]]
    return limits.complete(rows)


def _round_changes(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with the changed numbers rounded to a power of ten, the coarsest first."""
    numbers = [j for j in limits.changed(row) if limits.prices[j] > 0.0 and not limits.is_whole[j]]
    steps = 10.0 ** np.floor(np.log10(limits.model.scale[numbers]) - np.arange(ROUNDINGS)[:, np.newaxis])
    rows = np.tile(row, (ROUNDINGS, 1))
    rows[:, numbers] = np.round(rows[:, numbers] / steps) * steps
    return limits.complete(rows)


def single_changes(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows that differ from `row` in a single feature."""
    where, values = limits.moves
    differs = row[where] != values
    rows = np.tile(row, (int(differs.sum()), 1))
    rows[np.arange(len(rows)), where[differs]] = values[differs]
    return limits.complete(rows)


def _take_back(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with some changes taken back, to be completed: each one, the smallest few together, or all in part."""
    moved = limits.changed(row)
    numbers = [j for j in moved if limits.prices[j] > 0.0]
    smallest_first = sorted(numbers, key=limits.ways(row).__getitem__)
    sets = [[j] for j in numbers] + [smallest_first[:i] for i in range(2, len(numbers) + 1)]
    some = np.zeros((len(sets), len(row)), dtype=bool)
    for is_taken, features in zip(some, sets, strict=True):
        is_taken[features] = True
    rows = np.concatenate([np.where(some, limits.row + kept * (row - limits.row), row) for kept in KEPT])
    columns = [limits.n_features + choice.column for choice in limits.choices if choice.features.start in moved]
    back = np.tile(row, (len(columns), 1))
    back[np.arange(len(columns)), columns] = limits.row[columns]
    return limits.round_whole_numbers(np.concatenate([rows, back]))


def _take_back_two(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with two changes taken back, to be completed."""
    features = {choice.features.start: limits.n_features + choice.column for choice in limits.choices}
    pairs = list(combinations((features.get(j, j) for j in limits.changed(row)), 2))
    rows = np.tile(row, (len(pairs), 1))
    for one, pair in zip(rows, pairs, strict=True):
        one[list(pair)] = limits.row[list(pair)]
    return rows


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


def find(target: Target, reached: Reach) -> FloatArray:
    """The cheapest row found that meets the target, of shape (1, d + Q); no rows if none was found."""
    ways = entries(target, reached)
    first = target.candidates(np.concatenate([_depths(target, reached), *map(_walk, ways)]))
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
    found = box.project(k)
    settled = box.settle(found.point)
    if box.options or box.limits.is_whole.any():
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
