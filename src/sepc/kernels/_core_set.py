"""Smallest ellipsoid of whitened rows in memory: solve for a few rows, look for rows outside, repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqrf, dpotrf, dpotrs, dtrtri, dtrtrs

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.kernels.numeric import power_of_two
from sepc.points.reductions import Moments, PointSet, Spread
from sepc.shapes.ellipsoid import Ellipsoid, squared_norms

# Mehrotra's method needs 5 to 15 steps; a run that takes more than this is limited by rounding.
MAX_STEPS = 60
# Added to the diagonal, relative to it, if rounding makes the Newton matrix indefinite; only the last steps need it.
JITTER = 1e-14
# The share of the way to the boundary that a step takes; a full step would leave a weight of zero, by which later steps
# divide.
LARGEST_FRACTION = 1.0 - 1e-7


@dataclass(frozen=True)
class DualPoint:
    """Weights `u` and slacks `t` on the rows `active` of the problem, and the certified excess `delta`."""

    active: IntArray
    u: FloatArray
    t: FloatArray
    delta: float


def maximize_logdet(Q: FloatArray, start: DualPoint | None, target: float) -> DualPoint:
    """Minimise ``-logdet(sum u q q') + sum u`` over ``u >= 0`` for the rows `q` of `Q`.

    At the optimum ``g_i = q_i' M^-1 q_i <= 1`` with equality where ``u_i > 0``, and ``sum u = n``. The step is
    Mehrotra's predictor and corrector on the complementarity ``u t = 0``, ``t = 1 - g``. Rows that provably have no
    weight at the optimum (Harman & Pronzato 2007) are removed as soon as they are found.
    """
    m, n = Q.shape
    active = np.arange(m)
    u, t = _uniform(Q) if start is None else (start.u, start.t)
    best = None
    for _ in range(MAX_STEPS):
        Y, g = _leverages(Q, u)
        total = float(u.sum()) / n
        delta = float(g.max()) * total - 1.0
        if best is None or delta < best.delta:
            best = DualPoint(active, u, t, delta)
        if delta <= target:
            break
        bound = _support_bound(delta, n) / total
        if g.min() < bound:
            keep = g >= bound
            active, Q, u, t, g, Y = active[keep], Q[keep], u[keep], t[keep], g[keep], Y[:, keep]
        step = _newton_step(Y, g, u, t)
        if step is None:
            break
        u, t = step
    assert best is not None
    return best


def lift(rows: FloatArray) -> FloatArray:
    """Append the column of ones that turns an ellipsoid anywhere into one around the origin."""
    return np.column_stack([rows, np.ones(len(rows))])


def spans(rows: FloatArray) -> bool:
    """Whether `rows` have a full-dimensional affine hull, as `maximize_logdet` requires."""
    Q = lift(rows)
    L, info = dpotrf(Q.T @ Q, lower=1)
    return info == 0 and bool(np.diag(L).min() > 1e-6 * np.diag(L).max())


def warm_start(Q: FloatArray, u: FloatArray, violation: float) -> DualPoint:
    """Move the weights `u` of an earlier solution (zero for new rows) into the interior of the new problem."""
    kappa = min(0.1, max(violation, 1e-12))
    _, g = _leverages(Q, u)
    top = g.max()
    t = 1.0 - g / (top * (1.0 + kappa))
    u = u * (top * (1.0 + kappa))
    floor = 0.3 * float(np.mean(u * t)) / t
    return DualPoint(np.arange(len(u)), np.maximum(u, floor), t, np.inf)


def _uniform(Q: FloatArray) -> tuple[FloatArray, FloatArray]:
    m, n = Q.shape
    u = np.full(m, n / m)
    _, g = _leverages(Q, u)
    scale = 1.1 * g.max()
    return u * scale, 1.0 - g / scale


def _leverages(Q: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``Y = L^-1 Q'`` and ``g_i = |Y_i|^2``, where ``LL' = sum u q q'``."""
    L, _ = dpotrf((Q * u[:, None]).T @ Q, lower=1, clean=0)
    Y, _ = dtrtrs(L, Q.T, lower=1)
    return Y, np.einsum("ij,ij->j", Y, Y)


def _support_bound(delta: float, n: int) -> float:
    """Rows whose scaled leverage is below this cannot support the optimum (Harman & Pronzato 2007)."""
    return 1.0 + n * delta / 2.0 - math.sqrt(delta * (n - 1.0) + (n * delta) ** 2 / 4.0)


def _newton_step(Y: FloatArray, g: FloatArray, u: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    H = Y.T @ Y
    H *= H
    ratio = t / u
    diagonal = H.ravel()[:: len(u) + 1]
    diagonal += ratio
    L, info = dpotrf(H, lower=1, clean=0)
    if info:
        diagonal *= 1.0 + JITTER * len(u)
        L, info = dpotrf(H, lower=1, clean=0)
        if info:
            return None
    du, dt = _direction(L, g, u, t, ratio, 0.0)
    mu = float(u @ t) / len(u)
    ahead = float((u + _step_length(u, du) * du) @ (t + _step_length(t, dt) * dt)) / len(u)
    theta = mu * min(1.0, ahead / mu) ** 3 - du * dt
    du, dt = _direction(L, g, u, t, ratio, theta)
    fraction = min(max(0.9, 1.0 - mu), LARGEST_FRACTION)
    return u + (fraction * _step_length(u, du)) * du, t + (fraction * _step_length(t, dt)) * dt


def _direction(
    L: FloatArray, g: FloatArray, u: FloatArray, t: FloatArray, ratio: FloatArray, theta: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """The Newton direction of weights and slacks towards ``u t = theta``."""
    inverse = theta / u
    du, _ = dpotrs(L, g - 1.0 + inverse, lower=1)
    return du, inverse - t - ratio * du


def _step_length(x: FloatArray, dx: FloatArray) -> float:
    """The longest step in (0, 1] that keeps ``x + step * dx`` non-negative."""
    shrink = float((dx / x).min())
    return 1.0 if shrink >= -1.0 else -1.0 / shrink


# The first working set is a guess, so it need not be solved exactly; nor do later ones, until few rows are missing.
FIRST_TARGET = 1e-3
# The final ellipsoid is the smallest one up to a gap of 1e-10, which moves its boundary by less than this.
SAFETY = 1e-3
# Up to this many rows, evaluating all of them is faster than certifying any.
FEW_ROWS = 4000
# Evaluating this share of the rows costs nearly as much as evaluating all, which also refreshes the reference.
STALE_SHARE = 0.3
# Unless the violation falls to this share within three rounds, rows are no longer dropped from the working set: in
# degenerate sets they would cycle in and out forever.
PROGRESS = 0.7


class FlatRowsError(Exception):
    """The rows do not span their coordinates to working precision."""


@dataclass(frozen=True, eq=False)
class CoreSolution:
    """Weights, summing to one, on the rows `support`, and the ellipsoid of their moments.

    That is the set of all ``center + factor @ y`` with ``|y| <= 1``. The farthest row has squared radius
    ``1 + excess`` in it, and its volume is at most that of the smallest ellipsoid.
    """

    support: IntArray
    weights: FloatArray
    center: FloatArray
    factor: FloatArray
    excess: float
    n_rounds: int


class RefusedError(Exception):
    """`is_refused` returned True, so the ellipsoid was not computed."""


def enclose_whitened(
    Z: FloatArray,
    tol: float,
    max_rounds: int,
    is_refused: Callable[[FloatArray, FloatArray], bool] | None = None,
) -> CoreSolution:
    """Smallest ellipsoid of the rows of `Z`, which have covariance near the identity.

    Every round solves the dual on a working set and then finds the rows that lie outside. Most rows are certified to
    lie inside by their distance from an earlier ellipsoid, without being evaluated again. Raises `FlatRowsError` if the
    rows do not span all `r` dimensions.

    In all rounds but the last, `is_refused` is called with the center and factor of an ellipsoid certified to lie
    inside the smallest one; if it returns True, the search ends with `RefusedError`.
    """
    N, r = Z.shape
    if r == 0:
        return CoreSolution(np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(0), np.zeros((0, 0)), 0.0, 0)
    screen = Screen.around_origin(Z)
    work = _first_working_set(Z, screen.gauges)
    lifted = lift(Z[work])
    start: DualPoint | None = None
    best: CoreSolution | None = None
    history: list[float] = []
    may_drop = True
    far = work
    for n_rounds in range(1, max_rounds + 1):
        target = FIRST_TARGET if n_rounds == 1 else min(FIRST_TARGET, 0.01 * history[-1])
        if len(far) <= r // 2 or len(work) == N:
            target = 0.0
        target = max(target, 0.3 * tol)
        dual = maximize_logdet(lifted, start, target)
        active = work[dual.active]
        weights = dual.u / dual.u.sum()
        center, factor = _moments(Z[active], weights)
        screen, excess, far = screen.find_outside(center, factor, work, n_most=3 * (r + 1))
        excess = max(excess, dual.delta * (r + 1) / r)
        if best is None or excess < best.excess:
            best = CoreSolution(active, weights, center, factor, excess, n_rounds)
        if excess <= tol or (len(far) == 0 and target <= 0.3 * tol):
            break
        if is_refused is not None:
            share = certified_size(excess, r)
            if share > 0.0 and is_refused(center, factor * math.sqrt(share)):
                raise RefusedError
        history.append(excess)
        may_drop = may_drop and not _is_stalling(history)
        stays = (dual.u > dual.t) | (not may_drop)
        work = np.concatenate([active[stays], far])
        lifted = lift(Z[work])
        start = warm_start(lifted, np.concatenate([dual.u[stays], np.zeros(len(far))]), excess)
    assert best is not None
    return best


def certified_size(excess: float, r: int) -> float:
    """Squared size at which an ellipsoid of moments is certified to lie in the smallest one; may be negative.

    In the ellipsoid of moments, of `r` dimensions, rows have at most squared radius ``1 + excess``. Lift both to
    ``n = r + 1`` dimensions, in coordinates in which that ellipsoid is the unit ball, and let `B` be the matrix of the
    smallest one. Its trace is at most `n`, since rows with weight lie inside, and the logarithm of its determinant, by
    duality, at least ``-k = -n log(1 + r / n * excess)``. So ``x - 1 - log x <= k`` for each eigenvalue `x`, hence
    ``x <= 1 + 2/3 k + sqrt(4/9 k^2 + 2 k)``, by ``log(1 + t) <= t (6 + t) / (6 + 4 t)``. Where the lifted squared
    radius is at most ``n / x``, a row lies inside.
    """
    n = r + 1
    k = n * math.log1p(max(excess, 0.0) * r / n)
    largest = 1.0 + 2.0 / 3.0 * k + math.sqrt(4.0 / 9.0 * k * k + 2.0 * k)
    return (n / (largest * (1.0 + SAFETY)) - 1.0) / r


def _moments(rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean, and the lower factor of `r` times the weighted covariance."""
    center = weights @ rows
    triangle, _, _, _ = dgeqrf((rows - center) * np.sqrt(weights * rows.shape[1])[:, None])
    return center, np.triu(triangle[: len(center)]).T


def _is_stalling(history: list[float]) -> bool:
    return len(history) > 3 and min(history[-3:]) > PROGRESS * min(history[:-3])


def distinct(rows: FloatArray) -> IntArray:
    """Indices of the first occurrence of each distinct row, for rows whose columns have a common scale."""
    # Equal rows have equal projections; on an irrational direction, unequal ones coincide only within rounding.
    keys = rows @ np.sqrt(np.arange(2.0, rows.shape[1] + 2.0))
    return np.unique(keys, return_index=True)[1]


def _first_working_set(Z: FloatArray, gauges: FloatArray) -> IntArray:
    """All rows if there are few; otherwise the farthest ones and the extremes of every coordinate."""
    N, r = Z.shape
    n = r + 1
    if max(5 * n, 60) >= N:
        work = distinct(Z)
    else:
        n_top = min(N, max(48, 8 * n))
        farthest = np.argpartition(gauges, N - n_top)[N - n_top :]
        work = np.concatenate([Z.argmax(axis=0), Z.argmin(axis=0), farthest])
        work = work[distinct(Z[work])]
    while not spans(Z[work]):
        wider = np.union1d(work, _extremes_off_the_span(Z, work))
        if len(wider) == len(work):
            raise FlatRowsError
        work = wider
    return work


def _extremes_off_the_span(Z: FloatArray, work: IntArray) -> IntArray:
    """The rows farthest from the affine hull of the rows `work`, one for each missing dimension."""
    centred = Z[work] - Z[work[0]]
    _, sizes, directions = np.linalg.svd(centred, full_matrices=True)
    missing = directions[np.count_nonzero(sizes > 1e-6 * sizes[0]) :]
    return np.unique(np.abs((Z - Z[work[0]]) @ missing.T).argmax(axis=0))


@dataclass(frozen=True, eq=False)
class Screen:
    """Gauges of all rows in an earlier ellipsoid, which certify that most rows lie in a new one."""

    rows: FloatArray
    center: FloatArray
    factor: FloatArray
    gauges: FloatArray

    @classmethod
    def around_origin(cls, rows: FloatArray) -> Screen:
        """Gauges in the unit ball."""
        r = rows.shape[1]
        return cls(rows, np.zeros(r), np.eye(r), np.sqrt(np.einsum("ij,ij->i", rows, rows)))

    def find_outside(
        self, center: FloatArray, factor: FloatArray, work: IntArray, n_most: int
    ) -> tuple[Screen, float, IntArray]:
        """The screen to use next, the largest excess over the new ellipsoid, and the worst rows not yet in `work`."""
        if len(work) == len(self.rows):
            return self, -np.inf, work[:0]
        root, _ = dtrtri(factor, lower=1)
        screen, squared = self._evaluate(center, factor, root)
        squared[work] = 0.0
        far = (squared > 1.0).nonzero()[0]
        if len(far) > n_most:
            far = far[np.argpartition(squared[far], -n_most)[-n_most:]]
        return screen, float(squared.max()) - 1.0, far[distinct(self.rows[far])]

    def _evaluate(self, center: FloatArray, factor: FloatArray, root: FloatArray) -> tuple[Screen, FloatArray]:
        """Squared radii of the rows, or zero where they are certified to be at most one."""
        if len(self.rows) > FEW_ROWS:
            candidates = self._not_certified_inside(center, root).nonzero()[0]
            if len(candidates) <= STALE_SHARE * len(self.rows):
                squared = np.zeros(len(self.rows))
                squared[candidates] = squared_norms(self.rows[candidates], center, root)
                return self, squared
        squared = squared_norms(self.rows, center, root)
        return Screen(self.rows, center, factor, np.sqrt(squared)), squared

    def _not_certified_inside(self, center: FloatArray, root: FloatArray) -> BoolArray:
        """Rows that the bound ``new gauge <= stretch * old gauge + shift`` does not prove to lie inside."""
        stretch = np.linalg.norm(root @ self.factor, 2)
        shift = np.linalg.norm(root @ (self.center - center))
        return self.gauges > (1.0 - shift) / stretch


EPS = float(np.finfo(np.float64).eps)
# A column varies if its standard deviation exceeds the rounding of its own values.
CONSTANT = 8.0 * EPS
# Below this ratio of eigenvalues, a covariance is too inexact to distinguish a thin direction from a flat one; the rows
# are then transformed and measured again.
TRUSTED_RATIO = 1e-10
# Eigenvalues are clamped here before the second measurement, so that rounding noise is not amplified to size one.
CLAMPED_RATIO = 1e-13
MAX_MEASUREMENTS = 3
# A direction is flat if its deviation is below this share of the largest: the rounding noise of a collinear column is
# near 1e-10, and a threshold of 1e-11 was seen to enclose the noise.
FLAT = 1e-8
# No semi-axis is shorter than this share of the longest, in units of each column's deviation.
THICKNESS = 1e-6
# If no feature varies, each feature's unit is its value, but at least this: the inverse of a smaller thickness would
# overflow.
SHORTEST_UNIT = 1e-290
# A flat direction is this many times thicker than the rounding of the rows and of the centre, so that rounding adds
# less than 1e-11 to a squared radius.
NOISE_MARGIN = 3e5


@dataclass(frozen=True, eq=False)
class WhiteningFrame:
    """Whitened coordinates ``z = (x - origin) @ to_white`` of the directions in which the rows vary.

    `unit` scales the features (a power of two each, near their deviation), `directions` are orthonormal in these
    units: first `rank` thick ones with their `deviations`, then the flat ones.
    """

    origin: FloatArray
    unit: FloatArray
    directions: FloatArray
    deviations: FloatArray

    @property
    def rank(self) -> int:
        """Number of directions in which the rows vary."""
        return len(self.deviations)

    @property
    def to_white(self) -> FloatArray:
        """The map of shape (d, rank) from centred rows to whitened ones."""
        return self.directions[:, : self.rank] / self.deviations / self.unit[:, None]

    @property
    def flat_directions(self) -> FloatArray:
        """The normals of the affine hull, of shape (d - rank, d), in the frame's units."""
        return self.directions[:, self.rank :].T

    @property
    def to_flat(self) -> FloatArray:
        """The map of shape (d, d - rank) from centred rows to their coordinates along the flat directions."""
        return self.directions[:, self.rank :] / self.unit[:, None]

    def whiten(self, rows: FloatArray) -> FloatArray:
        """Whitened coordinates of `rows`."""
        return (rows - self.origin) @ self.to_white

    def without_thinnest(self) -> WhiteningFrame:
        """The frame in which the thinnest direction counts as flat."""
        return WhiteningFrame(self.origin, self.unit, self.directions, self.deviations[:-1])

    def ellipsoid(self, center: FloatArray, factor: FloatArray) -> Ellipsoid:
        """The ellipsoid with this center and lower factor in whitened coordinates; there must be no flat direction."""
        own_center = self.origin + self.unit * (self.directions * self.deviations @ center)
        return Ellipsoid(own_center, dtrtri(factor, lower=1)[0] @ self.to_white.T)

    def restore(
        self, white: CoreSolution, flat_range: tuple[FloatArray, FloatArray], unit: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Centre and root, in the original features, of the whitened ellipsoid `white`, made thin in flat directions.

        No semi-axis is shorter than `THICKNESS` in units of `unit`; if that is None, `THICKNESS` is relative to the
        longest semi-axis, in units of the rows' own standard deviations.
        """
        thick, thin = self.directions[:, : self.rank] * self.deviations, self.directions[:, self.rank :]
        half = 0.5 * (flat_range[1] - flat_range[0])
        center = self.origin + self.unit * (thick @ white.center + thin @ (flat_range[0] + half))
        if unit is None and thin.shape[1] == 0 and self._is_thick(white):
            return center, dtrtri(white.factor, lower=1)[0] @ self.to_white.T
        longest = float(np.linalg.norm(thick @ white.factor, 2)) if self.rank else 1.0
        rounding = np.abs(thin).T @ (np.spacing(np.abs(self.origin)) / self.unit)
        spans = np.hstack([thick @ white.factor, thin * np.minimum(NOISE_MARGIN * (half + rounding), longest)])
        relative = np.ones_like(self.unit) if unit is None else self.unit / unit
        axes, lengths, _ = np.linalg.svd(spans * relative[:, None])
        lengths = np.maximum(lengths, THICKNESS * (longest if unit is None else 1.0))
        triangle: FloatArray = np.linalg.qr((axes / lengths).T)[1]
        return center, triangle * (relative / self.unit)

    def _is_thick(self, white: CoreSolution) -> bool:
        """Whether every semi-axis is certain to be long enough to need no added thickness."""
        inverse, _ = dtrtri(white.factor, lower=1)
        condition = np.linalg.norm(white.factor) * np.linalg.norm(inverse)
        return bool(condition * self.deviations.max() * THICKNESS < self.deviations.min())


def frame_of(points: PointSet, spread: Spread) -> WhiteningFrame:
    """Frame of a non-empty set of rows with these moments; takes a few more passes if columns are nearly collinear."""
    deviation = np.sqrt(np.diag(spread.scatter) / spread.n)
    varies = deviation > CONSTANT * (np.abs(spread.mean) + deviation)
    unit = _units(deviation, spread.mean, varies)
    inner, deviations = _principal_directions(points, spread, unit, varies)
    directions = inner
    if not varies.all():
        directions = np.zeros((len(unit), len(unit)))
        directions[np.ix_(varies, np.arange(len(inner)))] = inner
        directions[~varies, np.arange(len(inner), len(directions))] = 1.0
    return WhiteningFrame(spread.mean, unit, directions, deviations)


def _units(deviation: FloatArray, mean: FloatArray, varies: BoolArray) -> FloatArray:
    """The unit of each feature: its deviation, or for a constant one the largest deviation of the others."""
    if not varies.any():
        return power_of_two(np.where(mean == 0.0, 1.0, np.maximum(np.abs(mean), SHORTEST_UNIT)))
    return power_of_two(np.where(varies, deviation, deviation[varies].max()))


def _principal_directions(
    points: PointSet, spread: Spread, unit: FloatArray, varies: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Orthonormal directions of the varying columns, thick ones first, and the deviations along the thick ones.

    Where the covariance is too ill-conditioned to be trusted, the rows are measured again, which resolves deviations
    down to 1e-13 of the largest.
    """
    if not varies.any():
        return np.zeros((0, 0)), np.zeros(0)
    covariance = (spread.scatter / spread.n / unit / unit[:, None])[varies][:, varies]
    values, vectors = np.linalg.eigh(covariance)
    if values[0] > TRUSTED_RATIO * values[-1]:
        deviations, directions = np.sqrt(values[::-1]), vectors.T[::-1]
    else:
        _, deviations, directions = np.linalg.svd(_accurate_factor(points, spread.mean, unit, varies, values, vectors))
    rank = min(int(np.count_nonzero(deviations > FLAT * deviations[0])), spread.n - 1)
    return directions.T, deviations[:rank]


def _accurate_factor(
    points: PointSet, origin: FloatArray, unit: FloatArray, varies: BoolArray, values: FloatArray, vectors: FloatArray
) -> FloatArray:
    """A matrix `B` with ``B'B`` the covariance in these units, accurate also in thin directions.

    The rows are transformed by their approximate covariance and measured again (the idea of shifted Cholesky-QR).
    """
    to_unit = np.eye(len(unit))[:, varies] / unit[:, None]
    factor = np.eye(len(values))
    for _ in range(MAX_MEASUREMENTS):
        factor = np.sqrt(np.maximum(values, CLAMPED_RATIO * values[-1]))[:, None] * (vectors.T @ factor)
        if values[0] > TRUSTED_RATIO * values[-1]:
            break
        try:
            inverse = np.linalg.inv(factor)
        except np.linalg.LinAlgError:
            break  # Thinner than doubles can resolve: measuring again would not help.
        spread = points.reduce(Moments(origin, to_unit @ inverse))
        values, vectors = np.linalg.eigh(spread.scatter / spread.n)
    return factor
