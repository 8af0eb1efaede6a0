"""Nearest points of two reduced convex hulls with ``D = 1 / min(N, M)``, and a certificate of their distance.

In a reduced hull no row has a weight above `D`. For the smaller class this leaves a single point, its mean; what
remains is to project this mean onto the larger class's hull.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from sepc._typing import FloatArray
from sepc.cards import ShownOnOneLine
from sepc.kernels._min_norm import length
from sepc.kernels._projection import HullProjection
from sepc.kernels.threads import single_threaded
from sepc.points.band import ScaledFrame
from sepc.points.pass_log import CountedPoints
from sepc.points.protocol import PointSet
from sepc.points.reduction_cache import reduce_once
from sepc.points.reductions import MOMENTS, ColumnRange

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
