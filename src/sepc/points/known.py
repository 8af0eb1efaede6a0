"""What is known of a set already: sets never change, so a summary asked for again needs no further pass."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

from sepc.points.counting import CountedPoints
from sepc.points.protocol import Answer, PointSet, Reduction

_KNOWN: WeakKeyDictionary[PointSet, dict[Reduction[Any, Any], Any]] = WeakKeyDictionary()


def reduce_once(points: PointSet, reduction: Reduction[Any, Answer]) -> Answer:
    """The answer of a reduction, kept as long as the set is. Equal reductions must have equal hashes.

    Examples
    --------
    >>> import numpy as np
    >>> from sepc.points.in_memory import ArrayPoints
    >>> from sepc.points.reductions import MOMENTS
    >>> points = CountedPoints(ArrayPoints(np.ones((3, 1))))
    >>> reduce_once(points, MOMENTS) is reduce_once(points, MOMENTS), points.log.n_passes
    (True, 1)
    """
    known = _KNOWN.setdefault(points.points if isinstance(points, CountedPoints) else points, {})
    if reduction not in known:
        known[reduction] = points.reduce(reduction)
    answer: Answer = known[reduction]
    return answer
