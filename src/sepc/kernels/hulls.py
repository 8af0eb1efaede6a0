"""Nearest points of two reduced convex hulls with ``D = 1 / min(N, M)``, and a certificate of their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sepc._typing import FloatArray
from sepc.cards import ShownOnOneLine
from sepc.kernels._min_norm import MinNorm, Support, length, min_norm_point
from sepc.kernels.numeric import single_threaded
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points
from sepc.points.reductions import ColumnRange
from sepc.points.tiles import row_tiles

# Their support point is the mean of the `cap` rows with the smallest projections on a direction.


# Below this many rows, evaluating all of them costs no more than finding out which matter.
WHOLE_ROWS = 1_500
# A band keeps one row in eight: measured at 1e4 to 1e5 rows, a quarter and a sixteenth are both a little slower.
BAND_SHARE = 8


class _Band(NamedTuple):
    """The rows of a hull that can cross the threshold while the direction stays within `radius` of `direction`."""

    hull: CappedHull
    direction: FloatArray
    radius: float
    low: float
    high: float


class CappedHull:
    """Combinations of rows with weights of at most ``1 / cap``, with a fast, exact support point.

    Successive directions differ little, so most rows stay on their side of the threshold. The hull remembers a *band*
    of rows that could cross it and sums the others once; where the band is no longer valid it evaluates all rows again.
    """

    def __init__(self, columns: FloatArray, n_pick: int, cap: int, certain_sum: FloatArray | None = None) -> None:
        self.columns = columns
        self.n_pick = n_pick
        self.cap = cap
        self.certain_sum = np.zeros(len(columns)) if certain_sum is None else certain_sum
        self._band: _Band | None = None
        self._last_direction: FloatArray | None = None
        self._slack = 0.0
        self._per_reach: FloatArray | None = None

    def support(self, direction: FloatArray) -> Support:
        """The point of the hull farthest in the direction opposite to `direction`, a unit vector."""
        band = self._band
        if band is not None and length(direction - band.direction) <= band.radius:
            support = band.hull.support(direction)
            if band.low <= support.threshold <= band.high:
                return support
        return self._support_from_all_rows(direction)

    def _support_from_all_rows(self, direction: FloatArray) -> Support:
        scores = direction @ self.columns
        ordered = scores.copy()
        ordered.partition(self.n_pick - 1)
        threshold = float(ordered[self.n_pick - 1])
        picked = scores <= threshold
        shares = picked.astype(np.float64)
        if np.count_nonzero(picked) > self.n_pick:
            tied = np.flatnonzero(scores == threshold)
            shares[tied] = (self.n_pick - np.count_nonzero(scores < threshold)) / len(tied)
        if len(scores) > WHOLE_ROWS:
            self._remember_band(direction, scores, threshold)
        return Support((self.certain_sum + self.columns @ shares) / self.cap, threshold)

    def _remember_band(self, direction: FloatArray, scores: FloatArray, threshold: float) -> None:
        if self._per_reach is None:
            lengths = np.sqrt(np.einsum("ij,ij->j", self.columns, self.columns))
            # How far a threshold may move per unit of a band's radius: like the mean of the rows next to it, and so by
            # less than any one of them.
            self._slack = float(np.median(lengths)) / 2 or 1.0
            self._per_reach = 1 / (lengths + self._slack)
        steadiness = np.abs(scores - threshold) * self._per_reach
        n_kept = len(scores) // BAND_SHARE
        radius = float(np.partition(steadiness, n_kept)[n_kept])
        last, self._last_direction, self._band = self._last_direction, direction, None
        # A band pays off only once directions have settled enough for the next one to stay within it.
        if last is None or length(direction - last) > radius:
            return
        uncertain = steadiness <= radius
        if np.count_nonzero(uncertain) > len(scores) // 2:
            return
        certain = (scores < threshold) & ~uncertain
        self._band = _Band(
            CappedHull(
                self.columns[:, uncertain],
                self.n_pick - int(np.count_nonzero(certain)),
                self.cap,
                self.certain_sum + self.columns @ certain.astype(np.float64),
            ),
            direction,
            radius,
            threshold - radius * self._slack,
            threshold + radius * self._slack,
        )


# In a reduced hull no row has a weight above `D`. For the smaller class this leaves a single point, its mean; what
# remains is to project this mean onto the larger class's hull.


# Means closer than this share of the spread coincide: a cut between them would be meaningless.
COINCIDENCE = 1e-9
# Squared deviations below this have lost some or all digits to underflow.
SMALLEST_SQUARE = 1e-280
# The largest binary exponent of the scale; subnormal rows would need a larger one than a double can have.
LARGEST_EXPONENT = 1000


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

    def columns(self, rows: FloatArray) -> FloatArray:
        """Rows moved into the frame, one feature a row."""
        columns = np.empty(rows.shape[::-1])
        start = 0
        for tile in row_tiles(rows):
            columns[:, start : start + len(tile)] = self.inside(tile).T
            start += len(tile)
        return columns


@dataclass(frozen=True, eq=False, repr=False)
class NearestPoints(ShownOnOneLine):
    """The nearest points of two reduced convex hulls, with a certificate.

    Attributes
    ----------
    near_pos, near_neg : (d,) array
        The nearest points.
    mean_pos, mean_neg : (d,) array
        The class means, to which fully reduced hulls shrink, and through which to cut if the hulls meet.
    distance : float
        Between the nearest points.
    gap : float
        Duality gap: ``near_pos - near_neg`` is within ``sqrt(gap)`` of the true difference.
    hulls_meet : bool
        Whether the hulls have a point in common, as far as this precision can tell.
    means_coincide : bool
        Whether the means are closer than `COINCIDENCE` times the spread of the rows.
    converged : bool
        Whether the gap was closed. If not, the points are the best found, and `gap` is still valid.
    n_iterations : int
        Support points that were computed.
    """

    near_pos: FloatArray
    near_neg: FloatArray
    mean_pos: FloatArray
    mean_neg: FloatArray
    distance: float
    gap: float
    hulls_meet: bool
    means_coincide: bool
    converged: bool
    n_iterations: int


def nearest_points(pos: ArrayLike, neg: ArrayLike, *, max_iterations: int = 2_000) -> NearestPoints:
    """Find the nearest points of two hulls in which no row has a weight above ``1 / min(N, M)``.

    Parameters
    ----------
    pos, neg : array or DataFrame of shape (n, d)
        At least one row each; finite numbers.
    max_iterations : int
        The most support points to compute.

    Returns
    -------
    NearestPoints

    Examples
    --------
    >>> from sepc.geometry import nearest_points
    >>> nearest = nearest_points([[0.0, 0.0], [2.0, 1.0], [2.0, -1.0], [0.0, 1.0]], [[5.0, 0.0], [5.0, 2.0]])
    >>> nearest.near_pos, nearest.near_neg, nearest.distance
    (array([2., 0.]), array([5., 1.]), 3.16...)
    """
    return nearest_of(as_points(pos), as_points(neg), max_iterations)


@single_threaded
def nearest_of(pos: ArrayPoints, neg: ArrayPoints, max_iterations: int = 2_000, tol: float = 0.0) -> NearestPoints:
    """Like `nearest_points`, for rows that have been checked; with `tol`, up to this share of the squared distance."""
    if pos.n_points < neg.n_points:
        return _exchange(nearest_of(neg, pos, max_iterations, tol))
    spread = max(_deviation(pos), _deviation(neg))
    mean_pos, mean_neg = pos.spread.mean, neg.spread.mean
    frame = ScaledFrame(mean_pos, _scale_for(max(spread, float(np.abs(mean_neg - mean_pos).max()))))
    target = frame.inside(mean_neg)
    if pos.n_points == neg.n_points:
        nearest = MinNorm(-target, 0.0, length(target), 0)
    else:
        hull = CappedHull(frame.columns(pos.rows), neg.n_points, neg.n_points)
        nearest = min_norm_point(hull.support, target, max_iterations, tol)
    distance = length(nearest.offset)
    means_coincide = length(target) <= COINCIDENCE * spread * frame.scale
    return NearestPoints(
        near_pos=frame.outside(target + nearest.offset),
        near_neg=mean_neg,
        mean_pos=mean_pos,
        mean_neg=mean_neg,
        distance=distance / frame.scale,
        # Divide twice by the scale, since its square may overflow.
        gap=nearest.gap / frame.scale / frame.scale,
        hulls_meet=nearest.holds_target
        or distance <= tol * nearest.size
        or means_coincide
        or nearest.gap >= distance**2,
        means_coincide=means_coincide,
        converged=nearest.converged,
        n_iterations=nearest.n_iterations,
    )


def _exchange(nearest: NearestPoints) -> NearestPoints:
    return replace(
        nearest,
        near_pos=nearest.near_neg,
        near_neg=nearest.near_pos,
        mean_pos=nearest.mean_neg,
        mean_neg=nearest.mean_pos,
    )


def _deviation(points: ArrayPoints) -> float:
    """Root mean squared deviation; the widest range of a column instead if squares overflow or underflow."""
    variance = float(np.trace(points.spread.scatter)) / points.n_points
    if SMALLEST_SQUARE < variance < np.inf:
        return math.sqrt(variance)
    low, high = points.reduce(ColumnRange())
    return float((high - low).max())


def _scale_for(size: float) -> float:
    """The power of two that scales `size` to about one."""
    return math.ldexp(1.0, min(-math.frexp(size)[1], LARGEST_EXPONENT)) if size > 0 else 1.0
