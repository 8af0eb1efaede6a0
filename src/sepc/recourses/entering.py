"""Ways into the ellipsoids of a label: where to enter, and from there inwards."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.model.usual import ANYWHERE
from sepc.recourses.choices import Choice, Options
from sepc.recourses.reaching import Box, Entry, Reach
from sepc.recourses.targets import Target

# Ellipsoids whose depths are looked at: the cheapest to reach. Of these, so many are walked into for being cheapest,
# and as many for having the most training rows, where a label is rather trusted.
MOST_DEPTHS, MOST_WALKS = 12, 4
# A walk goes from the boundary inwards in so many steps.
STEPS = np.linspace(0.0, 1.0, 7)
# A category is kept if it is at least this frequent in an ellipsoid, as a share of the most frequent one.
FREQUENT = 0.2


def entries(target: Target, reached: Reach) -> list[Entry]:
    """Where to enter the ellipsoids that are cheapest to reach, the cheapest first."""
    every, found = Box.whole(target.limits), list(reached.entries)
    near = reached.nearest(MOST_DEPTHS)
    largest = sorted(near, key=target.limits.model.table.rows_inside.__getitem__, reverse=True)
    for k in dict.fromkeys([*near[:MOST_WALKS], *largest[:MOST_WALKS]]):
        if all(entry.ellipsoid != k for entry in found):
            found += _entered(k, every)
        if target.limits.choices:
            found += _entered(k, _usual_box(target, k))
    return sorted(found, key=lambda entry: entry.squared)


def depths(target: Target, reached: Reach) -> FloatArray:
    """Rows deep in ellipsoids, with the categories usual there."""
    rows = [_deep_in(k, _usual_box(target, k)) for k in reached.nearest(MOST_DEPTHS)]
    return np.array(rows).reshape(-1, len(target.limits.row))


def beside(target: Target, row: FloatArray) -> Iterator[Entry]:
    """Where to enter the ellipsoid that a row lies deepest in, with the categories of the row."""
    limits, model = target.limits, target.limits.model
    apart = limits.model.standardize(row[np.newaxis])[0] - model.centers[target.ellipsoids]
    gauges = np.linalg.norm(np.einsum("kij,kj->ki", model.roots[target.ellipsoids], apart), axis=1)
    codes = row[limits.n_features :].astype(np.int64).tolist()
    options = [choice.only(code) for choice, code in zip(limits.choices, codes, strict=True)]
    return _entered(int(target.ellipsoids[gauges.argmin()]), replace(Box.whole(limits), options=options))


def walk(entry: Entry) -> FloatArray:
    """Rows on the way from an entry deep into its ellipsoid, within limits."""
    way = entry.box.projector(entry.ellipsoid).inner() - entry.place
    return entry.box.rows_at(entry.place + STEPS[:, np.newaxis] * way)


def _entered(k: int, box: Box) -> Iterator[Entry]:
    settled = box.settled(box.projected(k).point)
    found = settled.projected(k)
    if found.is_feasible:
        yield Entry(k, settled, found.point, settled.relaxed.squared + found.squared)


def _deep_in(k: int, box: Box) -> FloatArray:
    return np.asarray(box.rows_at(box.projector(k).inner()[np.newaxis])[0])


def _usual_box(target: Target, k: int) -> Box:
    """All numbers within limits, with the categories usual in an ellipsoid."""
    usual, every = target.limits.usual, Box.whole(target.limits)
    group = usual.group(k, target.owner)
    counts = usual.category_counts[usual.group(ANYWHERE, target.owner) if group is None else group]
    return replace(
        every, options=[_usual(counts[usual.categories_of(own.features.start)], own) for own in target.limits.choices]
    )


def _usual(counts: IntArray, choice: Choice) -> Options:
    """The row's own category if it is frequent, else the most frequent one that is allowed."""
    allowed = choice.allowed[choice.allowed < len(counts)]
    if len(allowed) == 0:
        return choice.only(int(choice.allowed[0]))
    most = int(allowed[counts[allowed].argmax()])
    is_frequent = choice.own < len(counts) and counts[choice.own] > FREQUENT * counts[most]
    return choice.only(choice.own if is_frequent and choice.own in allowed else most)
