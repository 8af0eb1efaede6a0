"""Raise the trust in a row one feature at a time, and take back changes that are not needed."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.recourses.limits import Limits
from sepc.recourses.targets import Target

# Rounds of changing one feature at a time until a row is accepted, and of taking changes back.
MOST_RAISES, MOST_SAVINGS = 8, 8
# A change that costs nothing is worth as much as one that costs this.
LEAST_COST = 0.2
# How much of a change is kept when it is taken back, and the share of the cost that is worth another round.
KEPT = np.array([0.0, 0.5, 0.8, 0.95])
WORTH = 1e-2
# How much dearer a tidier row may be, and to how many digits of a deviation its numbers may be rounded.
DEARER, ROUNDINGS = 1.02, 4


def raised(target: Target, row: FloatArray) -> FloatArray:
    """A row that is what is looked for, by changing one feature after the other; none if that fails."""
    limits, log_odds = target.limits, float(target.judge(row[np.newaxis]).log_odds[0])
    for _ in range(MOST_RAISES):
        changed = target.candidates(_single_changes(limits, row))
        if changed.is_it.any():
            return changed.found
        if len(changed) == 0 or changed.log_odds.max() <= log_odds:
            break
        dearer = np.maximum(changed.costs - limits.costs(row[np.newaxis]), 0.0)
        best = int(np.argmax((changed.log_odds - log_odds) / (LEAST_COST + dearer)))
        row, log_odds = changed.rows[best], float(changed.log_odds[best])
    return np.empty((0, len(row)))


def saved(target: Target, row: FloatArray) -> FloatArray:
    """A row that costs less and still is what is looked for, by taking changes back."""
    limits = target.limits
    for _ in range(MOST_SAVINGS):
        rows = _taken_back(limits, row)
        cheaper = limits.costs(rows) < (1.0 - WORTH) * limits.costs(row[np.newaxis])
        less = target.candidates(rows[cheaper]).found
        if len(less) == 0:
            break
        row = less[0]
    return row


def tidied(target: Target, row: FloatArray) -> FloatArray:
    """A row that costs hardly more, with fewer changes and rounder numbers, as long as it is what is looked for."""
    limits = target.limits
    for variants in (_without_smallest, _rounded):
        rows = variants(limits, row)
        rows = rows[limits.costs(rows) <= DEARER * limits.costs(row[np.newaxis])]
        tidy = target.candidates(rows)
        # The tidiest variant comes first.
        row = tidy.rows[tidy.is_it][0] if tidy.is_it.any() else row
    return row


def _without_smallest(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with the smallest changes of numbers taken back, the most of them first."""
    smallest_first = sorted(
        (j for j in limits.changed(row) if limits.prices[j] > 0.0), key=limits.ways(row).__getitem__
    )
    rows = np.tile(row, (len(smallest_first), 1))
    for own, n in zip(rows, range(len(smallest_first), 0, -1), strict=True):
        own[smallest_first[:n]] = limits.row[smallest_first[:n]]
    return rows


def _rounded(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with the numbers that changed rounded to a power of ten, the coarsest first."""
    numbers = [j for j in limits.changed(row) if limits.prices[j] > 0.0 and not limits.is_whole[j]]
    steps = 10.0 ** np.floor(np.log10(limits.model.scale[numbers]) - np.arange(ROUNDINGS)[:, np.newaxis])
    rows = np.tile(row, (ROUNDINGS, 1))
    rows[:, numbers] = np.round(rows[:, numbers] / steps) * steps
    return rows


def _single_changes(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows that differ from one in a single feature."""
    where, values = limits.moves
    differs = row[where] != values
    rows = np.tile(row, (int(differs.sum()), 1))
    rows[np.arange(len(rows)), where[differs]] = values[differs]
    return limits.encoded(rows)


def _taken_back(limits: Limits, row: FloatArray) -> FloatArray:
    """Rows with some changes taken back: each of them, the smallest few together, or all in part."""
    moved = limits.changed(row)
    numbers = [j for j in moved if limits.prices[j] > 0.0]
    smallest_first = sorted(numbers, key=limits.ways(row).__getitem__)
    sets = [[j] for j in numbers] + [smallest_first[:i] for i in range(2, len(numbers) + 1)]
    some = np.zeros((len(sets), len(row)), dtype=bool)
    for own, features in zip(some, sets, strict=True):
        own[features] = True
    rows = np.concatenate([np.where(some, limits.row + kept * (row - limits.row), row) for kept in KEPT])
    columns = [limits.n_features + own.column for own in limits.choices if own.features.start in moved]
    back = np.tile(row, (len(columns), 1))
    back[np.arange(len(columns)), columns] = limits.row[columns]
    return limits.encoded(limits.rounded(np.concatenate([rows, back])))
