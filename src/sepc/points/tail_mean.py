"""The mean of the rows farthest along a direction, found by counting, without gathering rows."""

from __future__ import annotations

from itertools import chain

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.protocol import PointSet
from sepc.points.reductions import ProjectionCounts, Tail

LARGEST = float(np.finfo(np.float64).max)

# One bin for each power of two in the first pass, and a state of 100 kB; each pass fixes 12 of the 64 bits of a number.
N_BINS = 4096


def tail_mean(points: PointSet, direction: FloatArray, k: int, origin: FloatArray | None = None) -> FloatArray:
    """Mean of the `k` rows of `points` that lie farthest along `direction`.

    This is the support point of the hull in which no row has a weight above ``1 / k`` (problem 3 of the paper).
    Rows tied at the boundary share the remaining weight, so every engine gives the same point.

    Takes two to seven passes, four for a million rows without ties.

    Parameters
    ----------
    points : PointSet
    direction : (d,) array
        Its length does not matter. Along a zero vector all rows tie.
    k : int
        From 1 to the number of rows.
    origin : (d,) array, optional
        Projections are measured from here. An origin near the rows preserves precision if they lie far from zero.

    Returns
    -------
    (d,) array

    Examples
    --------
    >>> from sepc.geometry import ArrayPoints
    >>> rows = np.array([[3.0, 0.0], [1.0, 5.0], [1.0, 7.0], [0.0, 0.0]])
    >>> tail_mean(ArrayPoints(rows), np.array([1.0, 0.0]), k=2)
    array([2., 3.])
    """
    if not 1 <= k <= points.n_points:
        raise ValueError(f"tail_mean averages k={k:,} rows, but the set has {points.n_points:,}.")
    direction = _shrink(direction)
    lower, upper = _boundary(points, direction, k, origin)
    beyond, tied = points.reduce(Tail(direction, lower, upper, origin))
    return np.asarray(tied.mean + (beyond.mean - tied.mean) * (beyond.n / k))


def _shrink(direction: FloatArray) -> FloatArray:
    """Divide by a power of two, so that projections are weighted means of at most the size of the rows."""
    _, exponent = np.frexp(np.abs(direction).max())
    return np.ldexp(direction, -int(exponent) - len(direction).bit_length())


def _boundary(points: PointSet, direction: FloatArray, k: int, origin: FloatArray | None) -> tuple[float, float]:
    """The lowest and highest value of the k-th row's bin, refined until they agree or all its rows are in the tail."""
    lower, upper = -LARGEST, LARGEST
    while lower < upper:
        histogram = points.reduce(ProjectionCounts(direction, _edges(lower, upper), origin))
        n_from_here_on = np.cumsum(histogram.counts[::-1])[::-1]
        last = np.flatnonzero(n_from_here_on >= k)[-1]
        lower, upper = float(histogram.lowest[last]), float(histogram.highest[last])
        if n_from_here_on[last] == k:
            break
    return lower, upper


def _edges(lower: float, upper: float) -> FloatArray:
    """Edges that divide the floating-point numbers from `lower` to `upper` evenly by rank, not by value.

    However far apart the ends are, each bin holds a single number after at most six refinements.
    """
    first, last = _rank(lower), _rank(upper)
    step = -(-(last - first + 1) // N_BINS)
    ranks = np.fromiter(chain(range(first, last + 1, step), [last + 1]), dtype=np.int64)
    return _at_rank(ranks)


def _rank(value: float) -> int:
    """Position of `value` among all floating-point numbers, counted from zero."""
    bits = int(np.float64(abs(value)).view(np.int64))
    return -bits if value < 0 else bits


def _at_rank(ranks: IntArray) -> FloatArray:
    return np.copysign(np.abs(ranks).view(np.float64), ranks)
