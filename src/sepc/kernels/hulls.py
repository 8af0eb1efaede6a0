"""Nearest points of two reduced convex hulls with ``D = 1 / min(N, M)``, and a certificate of their distance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import ShownOnOneLine
from sepc.kernels._min_norm import Corral, MinNorm, Support, corral_at, length, min_norm_point, unit
from sepc.kernels.numeric import single_threaded
from sepc.points.protocol import CountedPoints, PointSet, reduce_once
from sepc.points.reductions import MOMENTS, ColumnRange
from sepc.points.row_digest import HashSample
from sepc.points.tail_mean import Band, BandRows, ScaledFrame, SideSums, tail_mean
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

    def shift(self, by: FloatArray) -> CappedHull:
        """Move the whole hull; thresholds are not changed."""
        return CappedHull(self.columns, self.n_pick, self.cap, self.certain_sum + self.cap * by)

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
            self._slack = slack_for(lengths)
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


def slack_for(lengths: FloatArray) -> float:
    """How far a threshold may move per unit of a band's radius, given the lengths of the rows.

    A threshold moves like the mean of the rows next to it, so by less than any one of them.
    """
    return float(np.median(lengths)) / 2 or 1.0


# A set too large to gather is read in passes. A sample gives a first direction; one pass then collects the *band* of
# rows that could cross the threshold near that direction, and sums the rest. On the band the solver is exact as long as
# its direction stays where the band is valid, which is checked at the end; if it has not, the next band is read around
# it.


# Rows sampled for the first direction, at least and as a share of all. Its error falls with their square root and must
# fit into a band, while solving for them should cost less than reading all rows once.
SAMPLE_ROWS = 20_000
SAMPLE_SHARE = 0.02
# The share of the allowed rows that a sample or a band aims for, since neither size is known beforehand.
FULL = 0.75
# The share that the first band aims for: a smaller band is faster to solve, and is widened if the direction leaves it.
FIRST_FILL = 0.25
# If a solution leaves its band by more radii than this, it says little about where to go: too many rows were fixed.
FAR = 10
# Two bands are usually enough; with 100 times the allowed rows and hulls that nearly touch, it takes a dozen.
MAX_BANDS = 20
# A band that is too full twice, although it was narrowed, is full of ties.
MAX_OVERFLOWS = 2
# Passes spent on proving that hulls meet, by finding points of the larger one on all sides of the smaller's mean.
MAX_SIDE_READS = 4
# Without bands an iteration costs up to seven passes, so their number is limited.
MAX_EXACT_ITERATIONS = 100


@dataclass(frozen=True, eq=False)
class HullProjection:
    """The search for the point nearest to `target` among combinations of rows with weights of at most ``1 / cap``."""

    points: PointSet
    cap: int
    frame: ScaledFrame
    target: FloatArray
    max_iterations: int

    def solve(self, local_rows: int, seed: int) -> MinNorm:
        """Find the nearest point, with at most `local_rows` rows in memory at a time."""
        if self.cap == self.points.n_points:
            mean = np.zeros((1, len(self.target)))
            return MinNorm(Corral(mean, mean, np.ones(1)), -self.target, 0.0, length(self.target), 0)
        if self.points.n_points <= local_rows:
            return self._nearest_in(CappedHull(self._columns(self.points.gather(local_rows)), self.cap, self.cap))
        sample = self._sample(local_rows, seed)
        return self._nearest_by_passes(None) if sample is None else self._nearest_by_bands(sample, local_rows)

    def _columns(self, rows: FloatArray) -> FloatArray:
        columns = np.empty(rows.shape[::-1])
        start = 0
        for tile in row_tiles(rows):
            columns[:, start : start + len(tile)] = self.frame.inside(tile).T
            start += len(tile)
        return columns

    def _nearest_in(self, hull: CappedHull, start: Corral | None = None) -> MinNorm:
        start = corral_at(hull.support, -self.target) if start is None else start
        return min_norm_point(hull.support, start, self.target, self.max_iterations)

    def _sample(self, local_rows: int, seed: int) -> CappedHull | None:
        """Capped hull of a sample, or None if rows repeat so often that no sample has a useful size."""
        n_points = self.points.n_points
        n_wanted = min(max(SAMPLE_ROWS, SAMPLE_SHARE * n_points), FULL * local_rows)
        sample = reduce_once(self.points, HashSample(n_wanted / n_points, seed, local_rows))
        if sample is None or len(sample) == 0:
            return None
        n_pick = max(1, round(self.cap * len(sample) / n_points))
        return CappedHull(self._columns(sample), n_pick, n_pick)

    def _nearest_by_passes(self, start: Corral | None) -> MinNorm:
        """Solve with a few passes per support point: for sets with too many ties for any band to hold."""

        def support(direction: FloatArray) -> Support:
            mean = tail_mean(self.points, -direction, self.cap, self.frame.origin)
            return Support(self.frame.inside(mean), np.nan)

        start = corral_at(support, -self.target) if start is None else start
        return min_norm_point(support, start, self.target, min(self.max_iterations, MAX_EXACT_ITERATIONS))

    def _nearest_by_bands(self, sample: CappedHull, local_rows: int) -> MinNorm:
        aim = _Aim(sample, self.frame, self.points.n_points, local_rows, FIRST_FILL, sample.n_pick)
        nearest = self._guess(sample)
        corral: Corral | None = None
        for _ in range(MAX_BANDS):
            if nearest.holds_target or aim.n_overflows > MAX_OVERFLOWS:
                break
            band = aim.band(unit(nearest.offset))
            rows = self.points.reduce(band)
            hull = self._hull_of(rows)
            if hull is None:
                aim = aim.after_miss(rows, self.cap)
                continue
            nearest = self._nearest_in(hull, corral_at(hull.support, band.direction) if corral is None else corral)
            corral = nearest.corral
            direction = unit(nearest.offset)
            threshold = hull.support(direction).threshold
            if band.covers(direction, threshold):
                return nearest
            aim = aim.widen(threshold)
            if length(direction - band.direction) > FAR * band.radius and not nearest.holds_target:
                shift = hull.support(band.direction).point - sample.support(band.direction).point
                nearest, aim = self._guess(sample.shift(shift)), replace(aim, threshold=None)
        return nearest if nearest.holds_target else self._nearest_by_passes(corral)

    def _hull_of(self, rows: BandRows) -> CappedHull | None:
        """Hull of a band's rows, or None if there are too many of them or the threshold lies outside the band."""
        n_pick = self.cap - rows.n_certain
        if rows.rows is None or not 0 < n_pick <= rows.n_uncertain:
            return None
        return CappedHull(np.ascontiguousarray(rows.rows.T), n_pick, self.cap, rows.certain_sum)

    def _guess(self, sample: CappedHull) -> MinNorm:
        """Solve for the sample; if its hull holds the target, try to prove that the hull of all rows does too."""
        nearest = self._nearest_in(sample)
        if not nearest.holds_target:
            return nearest
        points = np.empty((0, len(self.target)))
        directions = nearest.corral.directions
        for _ in range(MAX_SIDE_READS):
            points = np.concatenate((points, self._points_on_sides(sample, directions)))
            nearest = self._nearest_of(points)
            if nearest.holds_target:
                break
            directions = unit(nearest.offset)[None]
        return nearest

    def _points_on_sides(self, sample: CappedHull, directions: FloatArray) -> FloatArray:
        """Points of the hull of all rows that nearly support it, from one pass, with thresholds from the sample."""
        thresholds = np.array([sample.support(direction).threshold for direction in directions])
        counts, sums = self.points.reduce(SideSums(self.frame, directions, thresholds))
        n_beyond = np.maximum(self.points.n_points - counts, 1)
        # A side with too few rows is topped up with equal shares of all other rows, which sum to minus this side's sum.
        filled = sums / self.cap - sums * ((1 - counts / self.cap) / n_beyond)[:, None]
        return np.where((counts < self.cap)[:, None], filled, sums / np.maximum(counts, 1)[:, None])

    def _nearest_of(self, points: FloatArray) -> MinNorm:
        """Nearest point of the plain hull of a few points."""

        def support(direction: FloatArray) -> Support:
            heights = points @ direction
            return Support(points[heights.argmin()], float(heights.min()))

        return min_norm_point(support, corral_at(support, -self.target), self.target, self.max_iterations)


@dataclass(frozen=True, eq=False)
class _Aim:
    """Where the next band should lie and how wide it may be, judged by a sample.

    `rank` is the threshold's rank among the sample's projections, used until a band has given `threshold` itself.
    """

    sample: CappedHull
    frame: ScaledFrame
    n_points: int
    max_rows: int
    fill: float
    rank: float
    threshold: float | None = None
    n_overflows: int = 0

    def band(self, direction: FloatArray) -> Band:
        """The band around `direction` that should hold a share `fill` of the allowed rows."""
        scores = direction @ self.sample.columns
        lengths = np.sqrt(np.einsum("ij,ij->j", self.sample.columns, self.sample.columns))
        slack = slack_for(lengths)
        threshold = self.threshold
        if threshold is None:
            threshold = _at_rank(scores, round(self.rank) - 1)
        steadiness = np.abs(scores - threshold) / (lengths + slack)
        n_wanted = self.fill * self.max_rows * len(scores) / self.n_points
        # The width for fewer than 20 sample rows would be unreliable: take a share of the width for 20.
        n_kept = max(n_wanted, 20.0)
        radius = _at_rank(steadiness, int(n_kept)) * (n_wanted / n_kept)
        return Band(self.frame, direction, threshold, slack, radius, self.max_rows)

    def after_miss(self, rows: BandRows, cap: int) -> _Aim:
        """The next aim after a band that was too full, or that did not contain the threshold."""
        if rows.rows is None:
            fill = self.fill * FIRST_FILL * self.max_rows / rows.n_uncertain
            return replace(self, fill=fill, n_overflows=self.n_overflows + 1)
        n_below = rows.n_certain + rows.n_uncertain / 2
        return replace(self, rank=self.rank * cap / n_below, threshold=None)

    def widen(self, threshold: float) -> _Aim:
        """The next aim after a band that the solution has left."""
        return replace(self, fill=min(2 * self.fill, FULL), threshold=threshold)


def _at_rank(values: FloatArray, rank: int) -> float:
    rank = min(max(rank, 0), len(values) - 1)
    return float(np.partition(values, rank)[rank])


# In a reduced hull no row has a weight above `D`. For the smaller class this leaves a single point, its mean; what
# remains is to project this mean onto the larger class's hull.


# Means closer than this share of the spread coincide: a cut between them would be meaningless.
COINCIDENCE = 1e-9
# Squared deviations below this have lost some or all digits to underflow.
SMALLEST_SQUARE = 1e-280
# The largest binary exponent of the scale; subnormal rows would need a larger one than a double can have.
LARGEST_EXPONENT = 1000


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
        Support points that the last solve computed.
    n_passes : int
        Passes over the larger class.
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
    n_passes: int


@single_threaded
def nearest_points(
    pos: PointSet, neg: PointSet, *, local_rows: int = 200_000, max_iterations: int = 2_000, seed: int = 0
) -> NearestPoints:
    """Find the nearest points of two hulls in which no row has a weight above ``1 / min(N, M)``.

    Parameters
    ----------
    pos, neg : PointSet
        At least one row each.
    local_rows : int
        The most rows to load into this process: all of the larger class, or a sample and a band of it.
    max_iterations : int
        The most support points to compute in one solve.
    seed : int
        Seed of the sample, which affects the number of passes but not the result.

    Returns
    -------
    NearestPoints

    Examples
    --------
    >>> from sepc.geometry import ArrayPoints
    >>> pos = ArrayPoints(np.array([[0.0, 0.0], [2.0, 1.0], [2.0, -1.0], [0.0, 1.0]]))
    >>> neg = ArrayPoints(np.array([[5.0, 0.0], [5.0, 2.0]]))
    >>> nearest = nearest_points(pos, neg)
    >>> nearest.near_pos, nearest.near_neg, nearest.distance
    (array([2., 0.]), array([5., 1.]), 3.16...)
    """
    if pos.n_points < neg.n_points:
        return _exchange(nearest_points(neg, pos, local_rows=local_rows, max_iterations=max_iterations, seed=seed))
    large = CountedPoints(pos)
    (mean_pos, spread_pos), (mean_neg, spread_neg) = _mean_and_spread(large), _mean_and_spread(neg)
    spread = max(spread_pos, spread_neg)
    frame = ScaledFrame(mean_pos, _scale_for(max(spread, float(np.abs(mean_neg - mean_pos).max()))))
    target = frame.inside(mean_neg)
    nearest = HullProjection(large, neg.n_points, frame, target, max_iterations).solve(local_rows, seed)
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
        hulls_meet=nearest.holds_target or means_coincide or nearest.gap >= distance**2,
        means_coincide=means_coincide,
        converged=nearest.converged,
        n_iterations=nearest.n_iterations,
        n_passes=large.log.n_passes,
    )


def _exchange(nearest: NearestPoints) -> NearestPoints:
    return replace(
        nearest,
        near_pos=nearest.near_neg,
        near_neg=nearest.near_pos,
        mean_pos=nearest.mean_neg,
        mean_neg=nearest.mean_pos,
    )


def _mean_and_spread(points: PointSet) -> tuple[FloatArray, float]:
    """Mean and root mean squared deviation; the widest range of a column instead if squares overflow or underflow."""
    moments = reduce_once(points, MOMENTS)
    variance = float(np.trace(moments.scatter)) / moments.n
    if SMALLEST_SQUARE < variance < np.inf:
        return moments.mean, math.sqrt(variance)
    low, high = points.reduce(ColumnRange())
    return moments.mean, float((high - low).max())


def _scale_for(size: float) -> float:
    """The power of two that scales `size` to about one."""
    return math.ldexp(1.0, min(-math.frexp(size)[1], LARGEST_EXPONENT)) if size > 0 else 1.0
