"""Make a row that meets the target cheaper and simpler: take changes back, also in exchange for other ones."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from sepc._typing import FloatArray
from sepc.recourses.limits import Limits
from sepc.recourses.targets import Target

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
