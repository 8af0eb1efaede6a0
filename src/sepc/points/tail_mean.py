"""The mean of the rows farthest along a direction, found by counting, without gathering rows."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.protocol import PointSet
from sepc.points.reductions import ProjectionCounts, Tail
from sepc.points.tiles import row_tiles


@dataclass(frozen=True, eq=False)
class ScaledFrame:
    """Coordinates in which rows are near zero and of moderate size: ``(rows - origin) * scale``."""

    origin: FloatArray
    scale: float

    def inside(self, rows: FloatArray) -> FloatArray:
        """Move rows into the frame."""
        return np.asarray((rows - self.origin) * self.scale)

    def outside(self, point: FloatArray) -> FloatArray:
        """Move a point of the frame back."""
        return np.asarray(self.origin + point / self.scale)


@dataclass(frozen=True, eq=False)
class BandRows:
    """The result of `Band`, in the coordinates of its frame."""

    n_certain: int
    certain_sum: FloatArray
    n_uncertain: int
    rows: FloatArray | None


@dataclass(frozen=True, eq=False)
class _State:
    n_certain: int
    certain_sum: FloatArray
    n_uncertain: int
    pieces: tuple[FloatArray, ...] = ()


@dataclass(frozen=True, eq=False)
class Band:
    """Divide rows by their side of a moving threshold: certainly below, certainly above, or uncertain.

    The threshold applies to projections on unit vectors. It starts at `threshold` along `direction`; while the unit
    vector stays within `radius` of `direction` and the threshold within ``radius * slack`` of where it was, a row `x`
    can change sides only if ``|x @ direction - threshold| <= radius * (|x| + slack)``. These rows are returned.

    Examples
    --------
    >>> rows = np.array([[-3.0], [-1.0], [0.1], [2.0]])
    >>> band = Band(ScaledFrame(np.zeros(1), 1.0), np.ones(1), threshold=0.0, slack=1.0, radius=0.2, max_rows=10)
    >>> divided = band.finish(band.map(rows))
    >>> divided.n_certain, divided.certain_sum.tolist(), divided.rows.tolist()
    (2, [-4.0], [[0.1]])
    """

    frame: ScaledFrame
    direction: FloatArray
    threshold: float
    slack: float
    radius: float
    max_rows: int

    def covers(self, direction: FloatArray, threshold: float) -> bool:
        """Whether the division holds for this unit vector and threshold."""
        moved = float(np.linalg.norm(direction - self.direction))
        return moved <= self.radius and abs(threshold - self.threshold) <= self.radius * self.slack

    def map(self, block: FloatArray) -> _State:
        """Divide the rows of one block."""
        state = _State(0, np.zeros(block.shape[1]), 0)
        for tile in row_tiles(block):
            state = self.combine(state, self._of_tile(tile))
        return state

    def combine(self, left: _State, right: _State) -> _State:
        """Add up certain rows and concatenate uncertain ones, unless there are too many."""
        n_uncertain = left.n_uncertain + right.n_uncertain
        pieces = left.pieces + right.pieces if n_uncertain <= self.max_rows else ()
        return _State(left.n_certain + right.n_certain, left.certain_sum + right.certain_sum, n_uncertain, pieces)

    def finish(self, state: _State) -> BandRows:
        """Concatenate the uncertain rows in the order they were read."""
        rows = None
        if state.n_uncertain <= self.max_rows:
            rows = np.concatenate((np.empty((0, len(self.direction))), *state.pieces))
        return BandRows(state.n_certain, state.certain_sum, state.n_uncertain, rows)

    def _of_tile(self, tile: FloatArray) -> _State:
        rows = self.frame.inside(tile)
        heights = rows @ self.direction - self.threshold
        reach = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        reach += self.slack
        reach *= self.radius
        certain = heights < -reach
        uncertain = rows[np.abs(heights) <= reach]
        n_certain = int(np.count_nonzero(certain))
        pieces = (uncertain,) if 0 < len(uncertain) <= self.max_rows else ()
        return _State(n_certain, certain.astype(np.float64) @ rows, len(uncertain), pieces)


@dataclass(frozen=True, eq=False)
class SideSums:
    """Count and sum of the rows at or below each of several thresholds, each along its own direction."""

    frame: ScaledFrame
    directions: FloatArray
    thresholds: FloatArray

    def map(self, block: FloatArray) -> tuple[IntArray, FloatArray]:
        """Count and sum in one block."""
        counts = np.zeros(len(self.directions), dtype=np.int64)
        sums = np.zeros(self.directions.shape)
        for tile in row_tiles(block):
            rows = self.frame.inside(tile)
            below = (rows @ self.directions.T <= self.thresholds).astype(np.float64)
            counts += below.sum(axis=0).astype(np.int64)
            sums += below.T @ rows
        return counts, sums

    def combine(
        self, left: tuple[IntArray, FloatArray], right: tuple[IntArray, FloatArray]
    ) -> tuple[IntArray, FloatArray]:
        """Add counts and sums."""
        return left[0] + right[0], left[1] + right[1]

    def finish(self, state: tuple[IntArray, FloatArray]) -> tuple[IntArray, FloatArray]:
        """Return counts, shape (m,), and sums, shape (m, d), unchanged."""
        return state


LARGEST = float(np.finfo(np.float64).max)

# One bin for each power of two in the first pass, and a state of 100 kB; each pass fixes 12 of the 64 bits of a number.
N_BINS = 4096


def tail_mean(points: PointSet, direction: FloatArray, k: int, origin: FloatArray | None = None) -> FloatArray:
    """Mean of the `k` rows of `points` that lie farthest along `direction`.

    This is the support point of the hull in which no row has a weight above ``1 / k`` (problem 3 of the paper).
    Rows tied at the boundary share the remaining weight, so every engine gives the same point.

    Takes two to seven passes, four for a million rows without ties.

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
