"""The nearest point of an ellipsoid within a box, with a certificate of its distance.

The distance is weighted Euclidean. This is an active-set method: for a given set of coordinates at their bounds, a
singular value decomposition leaves one equation in one unknown, the multiplier of the ellipsoid; the set is changed
until it is optimal. The answer comes with a proof that does not depend on the solver: a half-space that contains the
ellipsoid. No point of the half-space within the box is nearer than the bound; if it misses the box, so does the
ellipsoid.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.optimize import lsq_linear

from sepc._typing import BoolArray, FloatArray, IntArray

# Changes of the active set (coordinates at their bounds) before falling back to bisection.
MOST_CHANGES = 50
# After this many changes, coordinates change one at a time.
ALL_AT_ONCE = 6
# The most Newton steps for the multiplier, which needs about six, and the most bisection steps.
MOST_STEPS = 60
# Bisection starts between these multipliers.
MULTIPLIERS = (1e-12, 1e24)
# Tolerance within which a point counts as inside, and a coordinate as at its bound.
ROUNDING = 1e-11
# If the forces at the nearest point are out of balance by more than this share, the certificate is recomputed.
BALANCED = 1e-9


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """``normal @ (v - center) <= 1`` for all ``v`` in the ellipsoid: a certificate of its distance."""

    normal: FloatArray
    center: FloatArray
    multiplier: float

    def least(self, low: FloatArray, high: FloatArray) -> float:
        """The least value of ``normal @ (v - center)`` in a box; above 1, the ellipsoid does not meet the box."""
        return float(self.normal @ (np.where(self.normal > 0.0, low, high) - self.center))

    def bound(self, point: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray) -> float:
        """Lower bound on the squared distance to the half-space within the box; infinite if they do not meet."""
        if self.least(low, high) > 1.0 + ROUNDING:
            return np.inf
        pull = self.multiplier * self.normal
        with np.errstate(divide="ignore", invalid="ignore"):
            free = point - pull / weights**2
        free[weights == 0.0] = np.where(pull > 0.0, low, high)[weights == 0.0]
        free[(weights == 0.0) & (pull == 0.0)] = self.center[(weights == 0.0) & (pull == 0.0)]
        best = np.clip(free, low, high)
        squared = float(((weights * (best - point)) ** 2).sum())
        return max(squared + 2.0 * self.multiplier * (float(self.normal @ (best - self.center)) - 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest point of an ellipsoid within a box."""

    point: FloatArray
    squared: float
    proof: HalfSpace
    bound: float

    @property
    def is_feasible(self) -> bool:
        """Whether the ellipsoid meets the box."""
        return bool(np.isfinite(self.squared))


@dataclass(frozen=True, eq=False)
class Projector:
    """Projects points onto one ellipsoid within one box; what all points share is computed once."""

    center: FloatArray
    root: FloatArray
    low: FloatArray
    high: FloatArray
    weights: FloatArray

    def project(self, point: FloatArray) -> Projection:
        """The nearest point of the ellipsoid within the box."""
        return _Problem(self, point).solve()

    def deepest(self) -> FloatArray:
        """The point of the box with the smallest gauge: deepest in the ellipsoid, or nearest to it."""
        return self.least_squares(self.columns, -self.rest) if self.free.any() else self.low

    def inner(self) -> FloatArray:
        """A point of the box that lies deep in the ellipsoid; not always the deepest, but faster to find."""
        return self.whole(_lstsq(self.columns, -self.rest)) if self.free.any() else self.low

    @cached_property
    def free(self) -> BoolArray:
        """Which coordinates are not fixed."""
        return self.low < self.high

    @cached_property
    def columns(self) -> FloatArray:
        """The columns of the root that belong to free coordinates."""
        return self.root[:, self.free]

    @cached_property
    def sizes(self) -> FloatArray:
        """The absolute values of `columns`, transposed."""
        return np.abs(self.columns.T)

    @cached_property
    def free_weights(self) -> FloatArray:
        """The weights of free coordinates."""
        return self.weights[self.free]

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The box of the free coordinates, relative to the center."""
        return (self.low - self.center)[self.free], (self.high - self.center)[self.free]

    @cached_property
    def rest(self) -> FloatArray:
        """What the fixed coordinates add to ``root @ (v - center)``."""
        fixed = ~self.free
        return np.asarray(self.root[:, fixed] @ (self.low - self.center)[fixed])

    @cached_property
    def _decompositions(self) -> dict[bytes, tuple[FloatArray, FloatArray, FloatArray]]:
        return {}

    @cached_property
    def likely_sides(self) -> IntArray:
        """Which free coordinates were at their bounds for the last point: a good start for a nearby one."""
        return np.zeros(int(self.free.sum()), dtype=np.int64)

    def decomposition(self, open_: BoolArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The singular value decomposition of some free columns, divided by their weights."""
        key = open_.tobytes()
        if key not in self._decompositions:
            scaled = self.columns[:, open_] / self.free_weights[open_]
            left, sizes, right = np.linalg.svd(scaled, full_matrices=False)
            self._decompositions[key] = left, sizes, right
        return self._decompositions[key]

    def least_squares(self, matrix: FloatArray, target: FloatArray) -> FloatArray:
        """The point of the box whose free coordinates, relative to the center, are a bounded least-squares solution."""
        low, high = self.ends
        place = _lstsq(matrix, target)
        if not ((low <= place) & (place <= high)).all():
            most = MOST_STEPS * len(low)
            sides = lsq_linear(matrix, target, (low, high), method="bvls", tol=1e-14, max_iter=most).active_mask
            place, open_ = np.where(sides < 0, low, high), sides == 0
            rest = target - matrix[:, ~open_] @ place[~open_]
            # Solve again for the last digits.
            place[open_] = _lstsq(matrix[:, open_], rest)
        return self.whole(place)

    def whole(self, place: FloatArray) -> FloatArray:
        """The point of the box with these free coordinates, relative to the center; exact at the bounds."""
        (low, high), point = self.ends, self.low.copy()
        within = np.clip(self.center[self.free] + place, self.low[self.free], self.high[self.free])
        point[self.free] = np.where(
            place <= low, self.low[self.free], np.where(place >= high, self.high[self.free], within)
        )
        return point


class _Found(NamedTuple):
    """Where a solver stopped: the place, the multiplier of the ellipsoid, and ``root @ (place - center)``.

    `outward` is not computed from that difference, which would lose digits for a flat ellipsoid.
    """

    place: FloatArray
    multiplier: float
    outward: FloatArray


@dataclass(frozen=True, eq=False)
class _Problem:
    """One projection; an active set is -1, 0 or 1 for each free coordinate: at its lower bound, free, at its upper."""

    projector: Projector
    point: FloatArray

    @cached_property
    def start(self) -> FloatArray:
        """The free coordinates of the point, relative to the center."""
        return np.asarray((self.point - self.projector.center)[self.projector.free])

    def solve(self) -> Projection:
        projector = self.projector
        nearest_in_box = np.clip(self.point, projector.low, projector.high)
        if self._gauge(nearest_in_box) <= 1.0:
            return self._projection(self._found_at(nearest_in_box, 0.0))
        if not projector.free.any():
            return self._projection(self._found_at(nearest_in_box, np.inf))
        found = self._solve_active_set(projector.likely_sides.copy())
        if found is None:
            inside = projector.deepest()
            if self._gauge(inside) > 1.0 + ROUNDING:
                return self._projection(self._found_at(inside, np.inf))
            found = self._solve_active_set(self._sides(inside)) or self._bisect()
        return self._projection(found)

    def _solve_active_set(self, sides: IntArray) -> _Found | None:
        """The nearest point; None if the active set does not converge."""
        low, high = self.projector.ends
        squares = self.projector.free_weights**2
        for i in range(MOST_CHANGES):
            found = self._solve_on_face(sides)
            if found is None:
                return None
            place = found.place
            apart = squares * (place - self.start)
            pull = apart + found.multiplier * (self.projector.columns.T @ found.outward)
            changed = sides.copy()
            beside = ROUNDING * (1.0 + np.abs(place))
            changed[(sides == 0) & (place < low - beside)] = -1
            changed[(sides == 0) & (place > high + beside)] = 1
            # The size of the terms that cancel shows how much of the pull is rounding.
            noise = ROUNDING * (np.abs(apart) + found.multiplier * (self.projector.sizes @ np.abs(found.outward)))
            changed[(sides == -1) & (pull < -noise)] = 0
            changed[(sides == 1) & (pull > noise)] = 0
            if (changed == sides).all():
                self.projector.likely_sides[:] = sides
                return _Found(self.projector.whole(place), found.multiplier, found.outward)
            if i >= ALL_AT_ONCE:
                # One at a time, to prevent cycling.
                one = int(np.flatnonzero(changed != sides)[-1])
                sides[one] = changed[one]
            else:
                sides = changed
        return None

    def _solve_on_face(self, sides: IntArray) -> _Found | None:
        """The nearest free coordinates for an active set; None if the ellipsoid does not reach that face."""
        low, high = self.projector.ends
        place = np.where(sides < 0, low, np.where(sides > 0, high, self.start))
        open_ = sides == 0
        missed = -(self.projector.columns @ place + self.projector.rest)
        if missed @ missed <= 1.0:
            return _Found(place, 0.0, -missed)
        left, sizes, right = self.projector.decomposition(open_)
        parts = left.T @ missed
        beyond = missed - left @ parts
        multiplier = ellipsoid_multiplier(parts, sizes, float(beyond @ beyond))
        if multiplier is None:
            return None
        left_over = parts / (1.0 + multiplier * sizes**2)
        place[open_] += right.T @ (multiplier * sizes * left_over) / self.projector.free_weights[open_]
        return _Found(place, multiplier, -(left @ left_over + beyond))

    def _bisect(self) -> _Found:
        """The nearest point, by bisecting an interval of multipliers until `_solve_active_set` converges."""
        least, most = np.log(MULTIPLIERS)
        for _ in range(MOST_STEPS):
            middle = 0.5 * (least + most)
            point = self._penalised_point(np.exp(middle))
            found = self._solve_active_set(self._sides(point))
            if found is not None:
                return found
            least, most = (middle, most) if self._gauge(point) > 1.0 else (least, middle)
        return self._found_at(self._penalised_point(np.exp(most)), float(np.exp(most)))

    def _penalised_point(self, multiplier: float) -> FloatArray:
        """The point of the box that minimises the squared distance plus `multiplier` times the squared gauge."""
        weights, strength = self.projector.free_weights, np.sqrt(multiplier)
        return self.projector.least_squares(
            np.vstack([np.diag(weights), strength * self.projector.columns]),
            np.concatenate([weights * self.start, -strength * self.projector.rest]),
        )

    def _sides(self, point: FloatArray) -> IntArray:
        """Which free coordinates of a point are at their bounds."""
        (low, high), place = self.projector.ends, (point - self.projector.center)[self.projector.free]
        return np.where(place <= low, -1, np.where(place >= high, 1, 0))

    def _gauge(self, point: FloatArray) -> float:
        return float(np.linalg.norm(self.projector.root @ (point - self.projector.center)))

    def _found_at(self, point: FloatArray, multiplier: float) -> _Found:
        return _Found(point, multiplier, self.projector.root @ (point - self.projector.center))

    def _projection(self, found: _Found) -> Projection:
        """The point with its proof; an infinite multiplier means that the ellipsoid does not meet the box."""
        projector, is_met = self.projector, np.isfinite(found.multiplier)
        outward = self._balance(found) if is_met and found.multiplier > 0.0 else found.outward
        gauge = float(np.linalg.norm(outward))
        normal = projector.root.T @ (outward / gauge if gauge > 0.0 else outward)
        proof = HalfSpace(normal, projector.center, found.multiplier * gauge if is_met else 0.0)
        squared = float(((projector.weights * (found.place - self.point)) ** 2).sum()) if is_met else np.inf
        return Projection(
            found.place, squared, proof, proof.bound(self.point, projector.low, projector.high, projector.weights)
        )

    def _balance(self, found: _Found) -> FloatArray:
        """``root @ (place - center)``, corrected so that the forces on all free coordinates balance.

        Across a flat ellipsoid it is a tiny number times a large one, and `place` alone lacks the digits for it.
        """
        projector = self.projector
        open_ = (projector.low < found.place) & (found.place < projector.high)
        columns = projector.root[:, open_]
        needed = (projector.weights**2 * (self.point - found.place))[open_] / found.multiplier
        left_over = needed - columns.T @ found.outward
        if np.abs(left_over).max(initial=0.0) <= BALANCED * np.abs(needed).max(initial=0.0):
            return found.outward
        return found.outward + _lstsq(columns.T, left_over)


def _lstsq(matrix: FloatArray, target: FloatArray) -> FloatArray:
    """The least-squares solution of a system."""
    return np.asarray(np.linalg.lstsq(matrix, target)[0], dtype=np.float64)


def ellipsoid_multiplier(parts: FloatArray, sizes: FloatArray, beyond: float) -> float | None:
    """Solve ``sum((parts / (1 + m * sizes**2))**2) + beyond = 1`` for m; None if there is no solution.

    The inverse square root of the left side is concave in m, so Newton's steps from 0 never overshoot.
    """
    if beyond >= 1.0 - ROUNDING:
        return None
    squares, multiplier = sizes**2, 0.0
    for _ in range(MOST_STEPS):
        shrunk = 1.0 + multiplier * squares
        left = (parts / shrunk) ** 2
        total = float(left.sum()) + beyond
        slope = float((left * squares / shrunk).sum())
        if total <= 1.0 + ROUNDING or slope == 0.0:
            break
        step = total * (np.sqrt(total) - 1.0) / slope
        if not multiplier + step > multiplier:
            break
        multiplier += step
    return multiplier if total <= 1.0 + 1e-6 else None
