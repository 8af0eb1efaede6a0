"""The cheapest accepted row of an ellipsoid, if the log-odds of the label were linear.

The cheapest row with given log-odds, in an ellipsoid and a box, is then the projection of the row itself, pulled along
the slope of the log-odds by the right length. So the same projection as for the bound finds it, and the slope is taken
again where it led to.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sepc._typing import FloatArray
from sepc.recourses.reaching import Box, Entry
from sepc.recourses.targets import Target

# How often the slope is taken.
ROUNDS = 3
# Lengths of the first pull in deviations, and of later ones as shares of the one that was enough.
FIRST_PULLS = 0.4 * 2.0 ** np.arange(6)
LATER_PULLS = np.array([0.55, 0.7, 0.85, 1.0])
# Log-odds have steps, so slopes are taken over so many deviations to either side.
REACH = 0.25
# How much smaller the ellipsoid is taken, so that rows surely lie in it, also once their whole numbers are rounded.
SMALLER, SMALLER_TO_ROUND = 1.0 - 1e-6, 0.9


def pulled(target: Target, entry: Entry) -> FloatArray:
    """The cheapest row found that is what is looked for, with the categories of an entry; none if none was found."""
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
    """Where log-odds rise most for their cost, as a way of length 1; zeros where they are flat."""
    limits, free = target.limits, target.limits.free
    steps = REACH * np.eye(limits.n_features)[free]
    odds = target.judge(box.rows_near(np.concatenate([place + steps, place - steps]))).log_odds
    way = np.zeros(limits.n_features)
    way[free] = (odds[: len(free)] - odds[len(free) :]) / limits.prices[free] ** 2
    length = float(np.linalg.norm(limits.prices * way))
    return way / length if length > 0.0 else way
