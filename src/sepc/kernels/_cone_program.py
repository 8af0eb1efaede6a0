"""Minimise a convex quadratic function under linear inequalities and at most one ball constraint.

This is the primal-dual interior-point method of Nesterov and Todd with Mehrotra's correction, for small dense programs.
It starts anywhere, and returns the multipliers of all constraints along with the point: they prove a lower bound, which
is computed from them elsewhere and holds however accurate they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg.lapack import dpotrf, dpotrs

from sepc._typing import FloatArray

MOST_STEPS = 50
# Steps end once residuals and gap are below the first, relative to the size of the data; below the second, the solution
# still counts as accurate if rounding ends them early.
FINISHED, ACCURATE = 1e-9, 1e-6
TINY = float(np.finfo(float).tiny)
# How far a step goes towards the boundary of the cone.
NEAR_BOUNDARY = 0.99
# Shorter steps get nowhere.
SHORTEST = 1e-8
# Multipliers that have grown beyond this show that no point satisfies the constraints.
DIVERGED = 1e10


class Solution(NamedTuple):
    """A point, the multipliers of its constraints, and whether they are accurate."""

    point: FloatArray
    linear: FloatArray
    ball: FloatArray
    is_accurate: bool


@dataclass(frozen=True, eq=False)
class ConeProgram:
    """Minimise ``x @ quadratic @ x / 2 + linear @ x`` where ``rows @ x <= ends`` and ``|matrix @ x + offset| <= 1``."""

    quadratic: FloatArray
    linear: FloatArray
    rows: FloatArray
    ends: FloatArray
    matrix: FloatArray
    offset: FloatArray

    def solve(self) -> Solution:
        """Solve the program; the solution says if it is not accurate, as it cannot be if no point is feasible."""
        if len(self.linear) == 0:
            is_inside = bool((self.ends >= -ACCURATE).all() and self.offset @ self.offset <= 1.0 + ACCURATE)
            return Solution(np.empty(0), np.zeros(len(self.ends)), np.zeros(len(self.offset)), is_inside)
        with np.errstate(all="ignore"):  # Steps end before numbers that are not finite are used.
            return _Solver(self).run()


class _Scaling(NamedTuple):
    """The scaling of Nesterov and Todd at a pair of slacks and multipliers: both become `middle`."""

    linear: FloatArray
    size: float
    axis: FloatArray
    middle: FloatArray


class _Solver:
    """Slacks and multipliers are vectors of the linear part, followed by 1 + p numbers of the ball's cone."""

    def __init__(self, program: ConeProgram) -> None:
        self.program = program
        self.n_linear = len(program.ends)
        self.has_ball = len(program.offset) > 0
        self.degree = self.n_linear + self.has_ball
        ball_rows = np.vstack([np.zeros((1, len(program.linear))), -program.matrix])[: None if self.has_ball else 0]
        self.rows = np.vstack([program.rows, ball_rows])
        ball_ends = np.concatenate([[1.0], program.offset])[: None if self.has_ball else 0]
        self.ends = np.concatenate([program.ends, ball_ends])
        self.gram = program.matrix.T @ program.matrix
        self.unit = np.ones(len(self.ends))
        self.unit[self.n_linear + 1 :] = 0.0

    def run(self) -> Solution:
        program, n = self.program, self.n_linear
        size = 1.0 + float(np.abs(program.linear).max(initial=0.0))
        largest_end = 1.0 + float(np.abs(self.ends).max(initial=0.0))
        x, slack, multiplier = self._start()
        error = np.inf
        for _ in range(MOST_STEPS):
            pull = program.quadratic @ x
            dual = pull + program.linear + self.rows.T @ multiplier
            primal = self.rows @ x + slack - self.ends
            gap = float(slack @ multiplier)
            error = max(
                gap / (1.0 + abs(float(x @ (0.5 * pull + program.linear)))),
                float(np.abs(dual).max(initial=0.0)) / size,
                float(np.abs(primal).max(initial=0.0)) / largest_end,
            )
            if error <= FINISHED or gap <= 0.0 or np.abs(multiplier).max(initial=0.0) > DIVERGED * size:
                break
            try:
                step = self._step(slack, multiplier, dual, primal, gap)
            except LinAlgError:
                break
            length = min(1.0, NEAR_BOUNDARY * self._longest(slack, step[1], multiplier, step[2]))
            if not length > SHORTEST or not all(np.isfinite(way).all() for way in step):
                break
            x, slack, multiplier = (own + length * way for own, way in zip((x, slack, multiplier), step, strict=True))
        return Solution(x, multiplier[:n], -multiplier[n + 1 :], error <= ACCURATE)

    def _start(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        program = self.program
        normal = program.quadratic + self.rows.T @ self.rows
        normal[np.diag_indices_from(normal)] += 1e-12 * (1.0 + np.trace(normal))
        x = np.linalg.solve(normal, self.rows.T @ self.ends - program.linear)
        slack = self.ends - self.rows @ x
        return x, self._moved_inside(slack), self._moved_inside(-slack)

    def _moved_inside(self, vector: FloatArray) -> FloatArray:
        least = vector[: self.n_linear].min(initial=np.inf)
        if self.has_ball:
            least = min(least, vector[self.n_linear] - float(np.linalg.norm(vector[self.n_linear + 1 :])))
        return vector if least > 1e-3 else vector + (1.0 - least) * self.unit

    def _step(
        self, slack: FloatArray, multiplier: FloatArray, dual: FloatArray, primal: FloatArray, gap: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        scaling = self._scaling(slack, multiplier)
        factor, failed = dpotrf(self._normal_matrix(scaling), clean=0)
        if failed:
            raise LinAlgError
        middle = scaling.middle
        _, d_slack, d_multiplier = self._solve(factor, scaling, -dual, -primal, -self._product(middle, middle))
        length = min(1.0, self._longest(slack, d_slack, multiplier, d_multiplier))
        left = float((slack + length * d_slack) @ (multiplier + length * d_multiplier)) / gap
        share = min(1.0, max(0.0, left)) ** 3
        bent = self._product(self._unscale(scaling, d_slack), self._scale(scaling, d_multiplier))
        target = -self._product(middle, middle) - bent + share * gap / self.degree * self.unit
        return self._solve(factor, scaling, -(1.0 - share) * dual, -(1.0 - share) * primal, target)

    def _scaling(self, slack: FloatArray, multiplier: FloatArray) -> _Scaling:
        n = self.n_linear
        linear = np.sqrt(slack[:n] / multiplier[:n])
        middle = np.sqrt(slack[:n] * multiplier[:n])
        if not self.has_ball:
            return _Scaling(linear, 1.0, np.empty(0), middle)
        s, z = slack[n:], multiplier[n:]
        s_size, z_size = _depth(s), _depth(z)
        s, z = s / s_size, z / z_size
        half = np.sqrt(0.5 * (1.0 + float(s @ z)))
        axis = (s + _mirror(z)) / (2.0 * half)
        size = float(np.sqrt(s_size / z_size))
        return _Scaling(linear, size, axis, np.concatenate([middle, size * _turn(axis, multiplier[n:])]))

    def _scale(self, scaling: _Scaling, vector: FloatArray) -> FloatArray:
        """The scaling, which is symmetric: of a multiplier, it is `middle`."""
        n = self.n_linear
        return np.concatenate([scaling.linear * vector[:n], scaling.size * _turn(scaling.axis, vector[n:])])

    def _unscale(self, scaling: _Scaling, vector: FloatArray) -> FloatArray:
        """The inverse of the scaling."""
        n = self.n_linear
        turned = _mirror(_turn(scaling.axis, _mirror(vector[n:])))
        return np.concatenate([vector[:n] / scaling.linear, turned / scaling.size])

    def _normal_matrix(self, scaling: _Scaling) -> FloatArray:
        program, n = self.program, self.n_linear
        weighted = program.rows / scaling.linear[:, np.newaxis]
        matrix = program.quadratic + weighted.T @ weighted
        if self.has_ball:
            along = self.rows[n:].T @ _mirror(scaling.axis)
            matrix = matrix + (self.gram + 2.0 * np.outer(along, along)) / scaling.size**2
        matrix[np.diag_indices_from(matrix)] *= 1.0 + 1e-14
        return np.asarray(matrix)

    def _solve(
        self, factor: FloatArray, scaling: _Scaling, dual: FloatArray, primal: FloatArray, inner: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        quotient = self._quotient(scaling.middle, inner)
        # The scaled change of the multiplier is that of `rows @ dx - primal`, unscaled, plus the quotient.
        rest = self._unscale(scaling, -primal) + quotient
        dx = dpotrs(factor, dual - self.rows.T @ self._unscale(scaling, rest))[0]
        d_multiplier = self._unscale(scaling, self._unscale(scaling, self.rows @ dx) + rest)
        return dx, primal - self.rows @ dx, d_multiplier

    def _product(self, one: FloatArray, other: FloatArray) -> FloatArray:
        n = self.n_linear
        linear = one[:n] * other[:n]
        if not self.has_ball:
            return linear
        u, v = one[n:], other[n:]
        return np.concatenate([linear, [u @ v], u[0] * v[1:] + v[0] * u[1:]])

    def _quotient(self, divisor: FloatArray, vector: FloatArray) -> FloatArray:
        n = self.n_linear
        linear = vector[:n] / divisor[:n]
        if not self.has_ball:
            return linear
        d, v = divisor[n:], vector[n:]
        first = (d[0] * v[0] - float(d[1:] @ v[1:])) / _depth(d) ** 2
        return np.concatenate([linear, [first], (v[1:] - first * d[1:]) / d[0]])

    def _longest(self, slack: FloatArray, d_slack: FloatArray, multiplier: FloatArray, d_mult: FloatArray) -> float:
        return min(self._within_cone(slack, d_slack), self._within_cone(multiplier, d_mult))

    def _within_cone(self, vector: FloatArray, way: FloatArray) -> float:
        """How far a vector can go along a way without leaving the cone."""
        n = self.n_linear
        shrinking = way[:n] < 0.0
        longest = float((-vector[:n][shrinking] / way[:n][shrinking]).min(initial=np.inf))
        return min(longest, _within_ball_cone(vector[n:], way[n:])) if self.has_ball else longest


def _mirror(vector: FloatArray) -> FloatArray:
    return np.concatenate([vector[:1], -vector[1:]])


def _turn(axis: FloatArray, vector: FloatArray) -> FloatArray:
    """The hyperbolic rotation of the ball's cone that belongs to an axis of depth 1."""
    if len(axis) == 0:
        return vector
    inner = float(axis[1:] @ vector[1:])
    first = axis[0] * vector[0] + inner
    return np.concatenate([[first], vector[1:] + (vector[0] + inner / (1.0 + axis[0])) * axis[1:]])


def _depth(vector: FloatArray) -> float:
    size = float(np.linalg.norm(vector[1:]))
    return float(np.sqrt(max((vector[0] - size) * (vector[0] + size), TINY)))


def _within_ball_cone(vector: FloatArray, way: FloatArray) -> float:
    a = float(way[0] ** 2 - way[1:] @ way[1:])
    b = float(vector[0] * way[0] - vector[1:] @ way[1:])
    c = _depth(vector) ** 2
    inside = b * b - a * c
    if inside < 0.0 or (a >= 0.0 and b >= 0.0):
        return np.inf if a >= 0.0 else 0.0
    root = float(np.sqrt(inside))
    # The smallest positive root of a t^2 + 2 b t + c, without cancellation.
    return c / (root - b) if root > b else np.inf
