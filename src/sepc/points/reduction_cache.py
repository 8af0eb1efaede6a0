"""Cached reductions: sets never change, so a reduction computed once needs no second pass."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sepc.points.pass_log import CountedPoints
from sepc.points.protocol import Answer, PointSet, Reduction

_KNOWN: WeakKeyDictionary[PointSet, dict[Reduction[Any, Any], Any]] = WeakKeyDictionary()


def reduce_once(points: PointSet, reduction: Reduction[Any, Answer]) -> Answer:
    """The result of a reduction, cached as long as the set exists. Equal reductions must have equal hashes."""
    known = _KNOWN.setdefault(points.points if isinstance(points, CountedPoints) else points, {})
    if reduction not in known:
        known[reduction] = points.reduce(reduction)
    answer: Answer = known[reduction]
    return answer
