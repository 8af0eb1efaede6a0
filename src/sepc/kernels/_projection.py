"""Project a point onto the capped hull of a point set, in memory or in few passes.

A set too large to gather is read in passes. A sample gives a first direction; one pass then collects the *band* of rows
that could cross the threshold near that direction, and sums the rest. On the band the solver is exact as long as its
direction stays where the band is valid, which is checked at the end; if it has not, the next band is read around it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels._capped_hull import CappedHull, slack_for
from sepc.kernels._min_norm import Corral, MinNorm, Support, corral_at, length, min_norm_point, unit
from sepc.points.band import Band, BandRows, ScaledFrame, SideSums
from sepc.points.protocol import PointSet
from sepc.points.reduction_cache import reduce_once
from sepc.points.row_hash import HashSample
from sepc.points.tail_mean import tail_mean
from sepc.points.tiles import row_tiles

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
    """The search for the point nearest to `target` among combinations of rows with weights of at most ``1 / cap``.

    Parameters
    ----------
    points : PointSet
    cap : int
        From 1 to the number of rows.
    frame : ScaledFrame
        Its origin is the mean of the rows.
    target : (d,) array
        In the coordinates of `frame`.
    max_iterations : int
    """

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
