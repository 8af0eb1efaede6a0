"""The nearest point of an ellipsoid within a box, under linear relations between coordinates.

As in `sepc.kernels.project`, the answer comes with a proof that does not depend on the solver: a half-space that
contains the ellipsoid, and a multiplier for each relation. The sum of all of them, weighted by their multipliers, is a
single linear function; its least value within the box, with or without the squared distance, has a closed form. If that
value is positive without the distance, nothing lies in the ellipsoid, the box and the relations at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.kernels._cone_program import ConeProgram, Solution
from sepc.kernels.project import HalfSpace, Projection, Projector, ellipsoid_multiplier

# A combination of constraints that is positive by less than this share of its terms may be positive by rounding.
ROUNDING = 1e-9
# Singular values below this share of the largest are zero.
RANK = 1e-10
# Changes of the active set before the interior-point method takes over; after the second number, one at a time.
MOST_CHANGES, ALL_AT_ONCE = 12, 4
# A multiplier or an excess below this, relative to its size, is rounding.
NOISE = 1e-9
# A point within this of the ellipsoid and the relations, relative to their size, satisfies them.
INSIDE = 1e-7


@dataclass(frozen=True, eq=False)
class LinearRelations:
    """Linear relations between coordinates: ``rows @ v <= ends``, or ``==`` for the first `n_equal` of them."""

    rows: FloatArray
    ends: FloatArray
    n_equal: int

    def __len__(self) -> int:
        return len(self.ends)

    @cached_property
    def is_equal(self) -> BoolArray:
        """Which relations are equations."""
        return np.arange(len(self)) < self.n_equal

    def excess(self, point: FloatArray) -> FloatArray:
        """By how much a point violates each relation; 0 where it does not."""
        left = self.rows @ point - self.ends
        return np.where(self.is_equal, np.abs(left), np.maximum(left, 0.0))


@dataclass(frozen=True, eq=False)
class RelatedHalfSpace(HalfSpace):
    """A half-space that contains the ellipsoid, and multipliers of relations: a certificate of the distance."""

    relations: LinearRelations
    multipliers: FloatArray

    @property
    def combined(self) -> tuple[FloatArray, float, float]:
        """The weighted sum of all constraints: ``slopes @ v + constant <= 0``, and the size of its constant terms."""
        slopes = self.multiplier * self.normal + self.multipliers @ self.relations.rows
        terms = np.array([self.multiplier * float(self.normal @ self.center), self.multiplier])
        ends = self.multipliers * self.relations.ends
        return slopes, -float(terms.sum() + ends.sum()), float(np.abs(terms).sum() + np.abs(ends).sum())

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
class RelatedProjector(Projector):
    """Projects points onto one ellipsoid within one box, where relations hold."""

    relations: LinearRelations

    def project(self, point: FloatArray) -> Projection:
        """The nearest point of the ellipsoid within the box where all relations hold."""
        nearest = np.clip(point, self.low, self.high)
        if self._is_inside(nearest):
            return self._projection(point, nearest, np.zeros(len(self.center)), np.zeros(len(self.relations)))
        if self._unmet_equations.any():
            return self._without_meeting(point)
        quick = self._by_active_set(point)
        if quick is not None:
            return quick
        squares = self.free_weights**2
        solved = self._solve(np.diag(2.0 * squares), -2.0 * squares * point[self.free], with_ball=True)
        if not solved.is_accurate:
            return self._without_meeting(point)
        self._remember_active(solved)
        return self._projection(point, *self._proved(point, solved))

    def _by_active_set(self, point: FloatArray) -> Projection | None:
        """The nearest point, by guessing which inequalities are active and correcting the guess; None if that fails.

        On a face, where these are equations, a decomposition leaves one equation for the multiplier of the ellipsoid.
        """
        rows, ends = self._constraints
        n_equal, active = self.relations.n_equal, self._likely_active.copy()
        squares, start = self.free_weights**2, point[self.free]
        for i in range(MOST_CHANGES):
            found = self._nearest_on_face(start, active)
            if found is None:
                return None
            place, force = found
            pull = squares * (place - start) + self.columns.T @ force
            forces = np.zeros(len(ends))
            forces[active] = np.linalg.lstsq(rows[active].T, -pull)[0] if active.any() else 0.0
            excess = (rows @ place - ends) / (1.0 + np.abs(ends))
            if np.abs(excess[active]).max(initial=0.0) > NOISE:
                return None  # There is no such face.
            wrong = np.where(active, -forces / (1.0 + np.abs(pull).max(initial=0.0)), excess)
            wrong[:n_equal] = 0.0
            if (wrong <= NOISE).all():
                self._likely_active[:] = active
                return self._projection(point, self._place(place), force, self._of_relations(forces))
            changes = wrong > NOISE if i < ALL_AT_ONCE else np.arange(len(ends)) == int(wrong.argmax())
            active ^= changes
        return None

    def _nearest_on_face(self, start: FloatArray, active: BoolArray) -> tuple[FloatArray, FloatArray] | None:
        """The nearest point on a face and the force of the ellipsoid there; None if the ellipsoid does not reach it."""
        rows, ends = self._constraints
        pseudo, basis, left, sizes, right = self._face(active)
        place = start + (pseudo @ (ends[active] - rows[active] @ start)) / self.free_weights
        missed = -(self.columns @ place + self._rest)
        if missed @ missed <= 1.0:
            return place, np.zeros(len(missed))
        parts = left.T @ missed
        beyond = missed - left @ parts
        multiplier = ellipsoid_multiplier(parts, sizes, float(beyond @ beyond))
        if multiplier is None:
            return None
        left_over = parts / (1.0 + multiplier * sizes**2)
        place = place + (basis @ (right.T @ (multiplier * sizes * left_over))) / self.free_weights
        return place, -multiplier * (left @ left_over + beyond)

    def _face(self, active: BoolArray) -> tuple[FloatArray, ...]:
        """How to get to a face, a basis of it, and the decomposition of the ellipsoid on it, all in units of cost."""
        key = active.tobytes()
        if key not in self._faces:
            scaled = self._constraints[0][active] / self.free_weights
            if len(scaled):
                outer, sizes, inner = np.linalg.svd(scaled)
                n = int((sizes > RANK * sizes.max(initial=0.0)).sum())
                pseudo, basis = inner[:n].T @ (outer[:, :n] / sizes[:n]).T, inner[n:].T
            else:
                pseudo, basis = np.empty((scaled.shape[1], 0)), np.eye(scaled.shape[1])
            ellipsoid = np.linalg.svd((self.columns / self.free_weights) @ basis, full_matrices=False)
            self._faces[key] = (pseudo, basis, *ellipsoid)
        return self._faces[key]

    @cached_property
    def _faces(self) -> dict[bytes, tuple[FloatArray, ...]]:
        return {}

    @cached_property
    def _constraints(self) -> tuple[FloatArray, FloatArray]:
        """The equations, the upper and lower ends of the box, and the inequalities, of the free coordinates."""
        n_equal, n = self.relations.n_equal, int(self.free.sum())
        rows = self.relations.rows[:, self.free]
        ends = self.relations.ends - self.relations.rows[:, ~self.free] @ self.low[~self.free]
        return (
            np.vstack([rows[:n_equal], np.eye(n), -np.eye(n), rows[n_equal:]]),
            np.concatenate([ends[:n_equal], self.high[self.free], -self.low[self.free], ends[n_equal:]]),
        )

    @cached_property
    def _likely_active(self) -> BoolArray:
        """Which constraints were active for the last point: a good guess for a nearby one."""
        active = np.zeros(len(self._constraints[1]), dtype=bool)
        active[: self.relations.n_equal] = True
        return active

    def _remember_active(self, solved: Solution) -> None:
        """Guess next time what is active now: where the multiplier is larger than the distance."""
        rows, ends = self._constraints
        n = self.relations.n_equal
        self._likely_active[n:] = solved.linear > (ends - rows @ solved.point)[n:]

    def _of_relations(self, forces: FloatArray) -> FloatArray:
        n_equal, n = self.relations.n_equal, int(self.free.sum())
        return np.concatenate([forces[:n_equal], np.maximum(forces[n_equal + 2 * n :], 0.0)])

    def deepest(self) -> FloatArray:
        """The point of the box deepest in the ellipsoid, where all relations hold."""
        return self._deepest.place

    def inner(self) -> FloatArray:
        """A point of the box that lies deep in the ellipsoid, where all relations hold."""
        return self._deepest.place

    @cached_property
    def _deepest(self) -> _Deepest:
        solved = self._solve(2.0 * self.columns.T @ self.columns, 2.0 * self.columns.T @ self._rest, with_ball=False)
        place = self._place(solved.point)
        outward = self.root @ (place - self.center)
        gauge = float(np.linalg.norm(outward))
        pull = 2.0 * self.columns.T @ outward
        multipliers = self._multipliers(solved.linear, pull)
        return _Deepest(place, gauge, outward, multipliers / (2.0 * gauge) if gauge > 0.0 else multipliers)

    def _without_meeting(self, point: FloatArray) -> Projection:
        """A proof that nothing satisfies all constraints; a projection that proves nothing if there is none."""
        deepest = self._deepest
        normal = self.root.T @ (deepest.outward / deepest.gauge) if deepest.gauge > 0.0 else np.zeros_like(self.center)
        proofs = [
            RelatedHalfSpace(normal, self.center, 1.0, self.relations, deepest.multipliers),
            self._proof_by_relations(self._unmet_equations),
            self._contradiction,
        ]
        for proof in proofs:
            if np.isinf(proof.bound(point, self.low, self.high, self.weights)):
                return Projection(deepest.place, np.inf, proof, np.inf)
        nothing = replace(proofs[0], multiplier=0.0, multipliers=np.zeros(len(self.relations)))
        squared = float(((self.weights * (deepest.place - point)) ** 2).sum())
        is_inside = self._is_inside(deepest.place)
        return Projection(deepest.place, squared if is_inside else np.inf, nothing, 0.0)

    @cached_property
    def _contradiction(self) -> RelatedHalfSpace:
        """Multipliers that show, if that is so, that the relations cannot hold within the box."""
        rows, ends = self._inequalities
        n, k = rows.shape
        # The least t with rows @ x <= ends + t; positive if they contradict one another.
        solved = ConeProgram(
            np.zeros((k + 1, k + 1)),
            np.append(np.zeros(k), 1.0),
            np.vstack([np.column_stack([rows, -np.ones(n)]), np.append(np.zeros(k), -1.0)]),
            np.append(ends, 1.0),
            np.empty((0, k + 1)),
            np.empty(0),
        ).solve()
        multipliers = self._multipliers(solved.linear[:n], np.zeros(int(self.free.sum())))
        return self._proof_by_relations(multipliers)

    def _proof_by_relations(self, multipliers: FloatArray) -> RelatedHalfSpace:
        return RelatedHalfSpace(np.zeros_like(self.center), self.center, 0.0, self.relations, multipliers)

    @cached_property
    def _unmet_equations(self) -> FloatArray:
        """Multipliers of equations that contradict one another or fixed coordinates; zeros if none do."""
        n, multipliers = self.relations.n_equal, np.zeros(len(self.relations))
        rows, place = self.relations.rows[:n], np.where(self.free, 0.0, self.low)
        place[self.free] = self._equations[0]
        missed = self.relations.ends[:n] - rows @ place
        size = np.abs(self.relations.ends[:n]) + np.abs(rows) @ np.abs(place)
        if (np.abs(missed) > INSIDE * (1.0 + size)).any():
            multipliers[:n] = -missed
        return multipliers

    @cached_property
    def _rest(self) -> FloatArray:
        """``root @ (v - center)`` where all free coordinates are 0."""
        place = np.where(self.free, 0.0, self.low)
        return np.asarray(self.root @ (place - self.center))

    @cached_property
    def _equations(self) -> tuple[FloatArray, FloatArray]:
        """A point of the free coordinates that satisfies the equations, and a basis of the ways that keep them."""
        rows = self.relations.rows[: self.relations.n_equal]
        ends = self.relations.ends[: self.relations.n_equal] - rows[:, ~self.free] @ self.low[~self.free]
        rows = rows[:, self.free]
        if len(rows) == 0:
            return np.zeros(rows.shape[1]), np.eye(rows.shape[1])
        middle = 0.5 * (self.low + self.high)[self.free]
        left, sizes, right = np.linalg.svd(rows)
        n = int((sizes > RANK * sizes.max(initial=0.0)).sum())
        missed = left[:, :n].T @ (ends - rows @ middle)
        return middle + right[:n].T @ (missed / sizes[:n]), right[n:].T

    @cached_property
    def _inequalities(self) -> tuple[FloatArray, FloatArray]:
        """The box and the inequalities, for the coordinates that `_equations` leaves."""
        start, basis = self._equations
        rows = self.relations.rows[self.relations.n_equal :]
        ends = self.relations.ends[self.relations.n_equal :] - rows[:, ~self.free] @ self.low[~self.free]
        rows = rows[:, self.free]
        return (
            np.vstack([basis, -basis, rows @ basis]),
            np.concatenate([self.high[self.free] - start, start - self.low[self.free], ends - rows @ start]),
        )

    def _solve(self, quadratic: FloatArray, linear: FloatArray, with_ball: bool) -> Solution:
        """Minimise a function of the free coordinates; the point is one of the free coordinates too."""
        start, basis = self._equations
        rows, ends = self._inequalities
        matrix, offset = self.columns @ basis, self._rest + self.columns @ start
        n = None if with_ball else 0
        solved = ConeProgram(
            basis.T @ quadratic @ basis,
            basis.T @ (linear + quadratic @ start),
            rows,
            ends,
            matrix[:n],
            offset[:n],
        ).solve()
        return Solution(start + basis @ solved.point, *solved[1:])

    def _multipliers(self, linear: FloatArray, pull: FloatArray) -> FloatArray:
        """The multipliers of all relations, from those of `_inequalities` and the gradient of everything else."""
        k, n_equal, rows = int(self.free.sum()), self.relations.n_equal, self.relations.rows[:, self.free]
        below = linear[2 * k :]
        pull = pull + linear[:k] - linear[k : 2 * k] + below @ rows[n_equal:]
        equal = np.linalg.lstsq(rows[:n_equal].T, -pull)[0] if n_equal else np.empty(0)
        return np.concatenate([equal, below])

    def _proved(self, point: FloatArray, solved: Solution) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The nearest point, the force of the ellipsoid and the multipliers, for half the squared distance."""
        pull = 2.0 * self.free_weights**2 * (solved.point - point[self.free]) + self.columns.T @ solved.ball
        return self._place(solved.point), 0.5 * solved.ball, 0.5 * self._multipliers(solved.linear, pull)

    def _projection(self, point: FloatArray, place: FloatArray, force: FloatArray, relating: FloatArray) -> Projection:
        size = float(np.linalg.norm(force))
        normal = self.root.T @ (force / size) if size > 0.0 else np.zeros_like(self.center)
        proof = RelatedHalfSpace(normal, self.center, size, self.relations, relating)
        squared = float(((self.weights * (place - point)) ** 2).sum())
        return Projection(place, squared, proof, proof.bound(point, self.low, self.high, self.weights))

    def _place(self, free: FloatArray) -> FloatArray:
        place = self.low.copy()
        place[self.free] = np.clip(free, self.low[self.free], self.high[self.free])
        return place

    def _is_inside(self, place: FloatArray) -> bool:
        gauge = float(np.linalg.norm(self.root @ (place - self.center)))
        size = np.abs(self.relations.ends) + np.abs(self.relations.rows) @ np.abs(place)
        return gauge <= 1.0 + INSIDE and bool((self.relations.excess(place) <= INSIDE * (1.0 + size)).all())


@dataclass(frozen=True, eq=False)
class _Deepest:
    """The point deepest in the ellipsoid, and the multipliers of relations for its gauge."""

    place: FloatArray
    gauge: float
    outward: FloatArray
    multipliers: FloatArray
