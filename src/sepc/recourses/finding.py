"""Find a row that the model accepts with a label."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.recourses.entering import beside, depths, entries, walk
from sepc.recourses.improving import raised, saved, tidied
from sepc.recourses.pulling import pulled
from sepc.recourses.reaching import Reach
from sepc.recourses.targets import Target

# Ellipsoids in which the cheapest row is looked for: those that are cheapest to enter.
PULLED = 6


def find(target: Target, reached: Reach) -> FloatArray:
    """A row that is what is looked for, as cheap as could be found, of shape (1, d + Q); none if none was found."""
    ways = entries(target, reached)
    first = target.candidates(np.concatenate([depths(target, reached), *map(walk, ways)]))
    found = [first.found, *(pulled(target, entry) for entry in ways[:PULLED])]
    if len(first) and target.limits.choices:
        found.append(raised(target, first.rows[first.costs.argmin()]))
    if len(first) and not sum(map(len, found)):
        found.append(raised(target, first.rows[first.log_odds.argmax()]))
    best = target.cheapest(np.concatenate(found))
    if len(best) == 0:
        return best
    tried = {entry.ellipsoid for entry in ways[:PULLED]}
    others = [entry for entry in beside(target, best[0]) if target.limits.choices or entry.ellipsoid not in tried]
    best = target.cheapest(np.concatenate([best, *(pulled(target, entry) for entry in others)]))
    return tidied(target, saved(target, best[0]))[np.newaxis]
