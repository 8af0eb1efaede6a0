"""The nearest point of an ellipsoid within a box, under linear relations, with a certificate of its distance.

The distance is weighted Euclidean. Clarabel solves the cone program; what it finds is not taken on trust. Its
multipliers give a half-space that contains the ellipsoid, and a weight for each relation. The weighted sum of all of
them is a single linear function, whose least value within the box, with or without the squared distance, has a closed
form: that is the bound, and it holds however accurate the multipliers are.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from sepc._typing import BoolArray, FloatArray
from sepc.errors import NotConvergedWarning

# A combination of constraints that is positive by less than this share of its terms may be positive by rounding.
ROUNDING = 1e-9
# Clarabel's tolerances: with larger ones it may stop early, far off.
TOLERANCE = 1e-12
# A point within this of the ellipsoid and of the relations, relative to their size, satisfies them.
INSIDE = 1e-7
# A proof is tight if its bound is this near to the distance, relative to its size.
TIGHT = 1e-6


@dataclass(frozen=True, eq=False)
class LinearRelations:
    """Linear relations between coordinates: ``rows @ v <= ends``, or ``==`` for the first `n_equal` of them."""

    rows: FloatArray
    ends: FloatArray
    n_equal: int

    def hold(self, point: FloatArray) -> bool:
        """Whether a point satisfies all of them, up to rounding."""
        left = self.rows @ point - self.ends
        left[: self.n_equal] = np.abs(left[: self.n_equal])
        size = np.abs(self.ends) + np.abs(self.rows) @ np.abs(point)
        return bool((left <= INSIDE * (1.0 + size)).all())


@dataclass(frozen=True, eq=False)
class HalfSpace:
    """``normal @ (v - center) <= 1`` for all ``v`` in the ellipsoid, and weights of relations: a proof of a distance.

    The weights of inequalities must not be negative.
    """

    normal: FloatArray
    center: FloatArray
    multiplier: float
    relations: LinearRelations | None = None
    multipliers: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def combined(self) -> tuple[FloatArray, float, float]:
        """The weighted sum of all constraints: ``slopes @ v + constant <= 0``, and the size of its constant terms."""
        slopes, along = self.multiplier * self.normal, self.multiplier * float(self.normal @ self.center)
        constant, size = -along - self.multiplier, abs(along) + self.multiplier
        if self.relations is not None:
            ends = self.multipliers * self.relations.ends
            slopes = slopes + self.multipliers @ self.relations.rows
            constant, size = constant - float(ends.sum()), size + float(np.abs(ends).sum())
        return slopes, constant, size

    def bound(self, point: FloatArray, low: FloatArray, high: FloatArray, weights: FloatArray) -> float:
        """Lower bound on the squared distance within the box; infinite if nothing satisfies all constraints."""
        slopes, constant, size = self.combined
        least = slopes * np.where(slopes > 0.0, low, high)
        if float(least.sum()) + constant > ROUNDING * (size + float(np.abs(least).sum())):
            return np.inf
        with np.errstate(divide="ignore", invalid="ignore"):
            free = point - slopes / weights**2
        free[weights == 0.0] = np.where(slopes > 0.0, low, high)[weights == 0.0]
        best = np.clip(free, low, high)
        squared = float(((weights * (best - point)) ** 2).sum())
        return max(squared + 2.0 * (float(slopes @ best) + constant), 0.0)


@dataclass(frozen=True, eq=False)
class Projection:
    """The nearest point of an ellipsoid within a box; its squared distance is infinite if there is none."""

    point: FloatArray
    squared: float
    proof: HalfSpace
    bound: float

    @property
    def is_feasible(self) -> bool:
        """Whether the point is in the ellipsoid, and all relations hold."""
        return bool(np.isfinite(self.squared))


class _Solved(NamedTuple):
    """What Clarabel found: free coordinates, the multipliers of relations and of the ellipsoid, and its status."""

    place: FloatArray
    at_ends: FloatArray
    relating: FloatArray
    force: FloatArray
    status: str


@dataclass(frozen=True, eq=False)
class Projector:
    """Projects points onto one ellipsoid within one box, where relations hold; what points share is computed once."""

    center: FloatArray
    root: FloatArray
    low: FloatArray
    high: FloatArray
    weights: FloatArray
    relations: LinearRelations | None = None

    def project(self, point: FloatArray) -> Projection:
        """The nearest point of the ellipsoid within the box where all relations hold."""
        nearest = np.clip(point, self.low, self.high)
        if self._is_inside(nearest, 0.0):
            return self._projection(point, nearest, np.zeros(len(self.root)), np.zeros(self._n_relations))
        linear = (-2.0 * self.weights**2 * point)[self.free]
        solved = self._solution(self._nearest_by, linear)
        for free in (solved.at_ends, solved.place):
            nearest[self.free] = free
            if self._is_inside(nearest, INSIDE):
                break
        found = self._projection(point, nearest, 0.5 * solved.force, 0.5 * solved.relating)
        if solved.status != "Solved" and found.squared - found.bound > TIGHT * (1.0 + found.bound):
            warnings.warn(
                f"Clarabel stopped at a projection without a solution ({solved.status}). The bound on the cost holds, "
                "but may be lower than it could be.",
                NotConvergedWarning,
                stacklevel=2,
            )
        return found

    def inner(self) -> FloatArray:
        """A point of the box that lies deep in the ellipsoid, where all relations hold; not always the deepest."""
        inner = np.clip(self.center, self.low, self.high)
        if self.relations is None:
            inner[self.free] = np.linalg.lstsq(self.columns, -self._rest)[0]
        else:
            inner[self.free] = self._solution(self._deepest_by, np.zeros(int(self.free.sum()))).place
        return np.clip(inner, self.low, self.high)

    @cached_property
    def free(self) -> BoolArray:
        """Which coordinates are not fixed, and touched by the ellipsoid or a relation."""
        is_used = self.root.any(axis=0)
        if self.relations is not None:
            is_used |= self.relations.rows.any(axis=0)
        return np.asarray(is_used & (self.low < self.high))

    @cached_property
    def columns(self) -> FloatArray:
        """The columns of the root that belong to free coordinates."""
        return np.asarray(self.root[:, self.free])

    @cached_property
    def _rest(self) -> FloatArray:
        """``root @ (v - center)`` where all free coordinates are 0."""
        return np.asarray(self.root @ (np.where(self.free, 0.0, self.low) - self.center))

    @cached_property
    def _sizes(self) -> FloatArray:
        """The lengths of the rows of `columns`; 1 if that is 0."""
        sizes = np.sqrt((self.columns**2).sum(axis=1))
        return np.where(sizes > 0.0, sizes, 1.0)

    @property
    def _n_relations(self) -> int:
        return 0 if self.relations is None else len(self.relations.ends)

    @cached_property
    def _nearest_by(self) -> Any:
        squares = self.weights[self.free] ** 2
        return self._solver(np.concatenate([2.0 * squares, np.zeros(len(self._sizes))]), with_ball=True)

    @cached_property
    def _deepest_by(self) -> Any:
        return self._solver(np.repeat([0.0, 2.0], [int(self.free.sum()), len(self._sizes)]), with_ball=False)

    def _solver(self, squares: FloatArray, with_ball: bool) -> Any:
        """A solver for half of a sum of squares within the box, the relations and, if asked for, the ellipsoid.

        After the free coordinates come those of the ball that the ellipsoid is: ``root @ (v - center)``. Each of these
        equations is scaled by itself, so that steep directions of flat ellipsoids cost no digits.
        """
        clarabel, r, m = _clarabel(), len(self._sizes), self._n_relations
        k, n_equal = len(squares) - r, 0 if self.relations is None else self.relations.n_equal
        n = r + m + 2 * k + (1 + r) * with_ball
        rows, ends, place, along = np.zeros((n, k + r)), np.zeros(n), np.arange(k), np.arange(r)
        rows[:r, :k], ends[:r] = self.columns / self._sizes[:, np.newaxis], -self._rest / self._sizes
        rows[along, k + along] = -1.0 / self._sizes
        if self.relations is not None:
            rows[r : r + m, :k] = self.relations.rows[:, self.free]
            ends[r : r + m] = self.relations.ends - self.relations.rows @ np.where(self.free, 0.0, self.low)
        rows[r + m + place, place], rows[r + m + k + place, place] = 1.0, -1.0
        ends[r + m : r + m + 2 * k] = np.concatenate([self.high[self.free], -self.low[self.free]])
        cones = [clarabel.ZeroConeT(r + n_equal), clarabel.NonnegativeConeT(m - n_equal + 2 * k)]
        if with_ball:
            ends[-1 - r], rows[n - r + along, k + along] = 1.0, -1.0
            cones.append(clarabel.SecondOrderConeT(1 + r))
        settings = clarabel.DefaultSettings()
        settings.verbose = settings.presolve_enable = False  # With presolve, no second point could be given.
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
        diagonal = csc_array((squares, np.arange(k + r), np.arange(k + r + 1)), shape=(k + r, k + r))
        return clarabel.DefaultSolver(diagonal, np.zeros(k + r), _sparse(rows), ends, cones, settings)

    def _solution(self, solver: Any, linear: FloatArray) -> _Solved:
        r, k, low, high = len(self._sizes), len(linear), self.low[self.free], self.high[self.free]
        solver.update(q=np.append(linear, np.zeros(r)))
        found = solver.solve()
        # Where it fails, Clarabel may return what is not a number; zeros prove nothing.
        x, z, slack = (np.nan_to_num(values, posinf=0.0, neginf=0.0) for values in (found.x, found.z, found.s))
        above, below = (slice(n, n + k) for n in (r + self._n_relations, r + self._n_relations + k))
        place = np.clip(x[:k], low, high)
        # At the end of a range, the multiplier is larger than the distance.
        at_ends = np.where(z[above] > slack[above], high, np.where(z[below] > slack[below], low, place))
        return _Solved(place, at_ends, z[r : above.start], z[:r] / self._sizes, str(found.status))

    def _projection(self, point: FloatArray, place: FloatArray, force: FloatArray, relating: FloatArray) -> Projection:
        if self.relations is not None:
            relating[self.relations.n_equal :] = np.maximum(relating[self.relations.n_equal :], 0.0)
        size = float(np.linalg.norm(force))
        normal = self.root.T @ (force / size) if size > 0.0 else np.zeros_like(self.center)
        proof = HalfSpace(normal, self.center, size, self.relations, relating)
        bound = proof.bound(point, self.low, self.high, self.weights)
        is_met = np.isfinite(bound) and self._is_inside(place, INSIDE)
        squared = float(((self.weights * (place - point)) ** 2).sum()) if is_met else np.inf
        return Projection(place, squared, proof, bound)

    def _is_inside(self, place: FloatArray, slack: float) -> bool:
        gauge = float(np.linalg.norm(self.root @ (place - self.center)))
        return gauge <= 1.0 + slack and (self.relations is None or self.relations.hold(place))


def _sparse(matrix: FloatArray) -> Any:
    """A matrix without its zeros; SciPy's own conversion takes as long as a quarter of a solution."""
    columns, rows = (places.astype(np.int32) for places in matrix.T.nonzero())
    starts = np.searchsorted(columns, np.arange(matrix.shape[1] + 1))
    return csc_array((matrix[rows, columns], rows, starts), shape=matrix.shape)


def _clarabel() -> Any:
    try:
        import clarabel
    except ImportError as error:
        raise ImportError("Recourse needs Clarabel: pip install 'sepc[recourse]'", name=error.name) from error
    return clarabel
