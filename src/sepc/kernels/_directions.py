"""Directions of Newton's method, by conjugate gradients with a Cholesky factor as preconditioner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError

from sepc._typing import BoolArray, FloatArray
from sepc.kernels._columns import Columns, Floats, Indices
from sepc.kernels._factors import BorderedFactor, Factor, remove_common

# A factor is recomputed if the last direction took more iterations than this, about what a factor costs (5 to 20
# iterations, for 250 to 1,300 columns and 1 to 26 classes), and scores have moved so far that the curvature changed.
PATIENCE, MOVED = 8, 0.3
# Rows that a factor for one of several scores may leave out: those of least curvature, up to this share of the total,
# and as long as the trace of what they would add is at most this many times the penalty. Half to three quarters of the
# rows can go, at the cost of one more iteration in 14.
SPARED, SPARED_PENALTIES = 0.05, 50.0
# Of the rest, ordered by curvature, a factor uses every m-th row, with m chosen to keep this many rows per column.
ROWS_A_COLUMN = 4
# No direction should need this many iterations; one that does is still a descent direction.
MAX_ITERATIONS = 300
# How accurately a direction is solved for: roughly at first, then up to the error of Newton's method. Single precision
# can give four digits.
LOOSEST, TIGHTEST_SINGLE, TIGHTEST_DOUBLE = 0.3, 1e-4, 1e-8


class Curvature(Protocol):
    """Second derivative of a loss at some scores."""

    @property
    def rows(self) -> Floats:
        """Its diagonal, of shape (k, n)."""

    def times(self, direction: Floats) -> Floats:
        """Its product with a change of the scores."""


@dataclass(frozen=True, eq=False)
class Linear:
    """Scores linear in the coefficients: ``columns.scores(V)``, of shape (k, n).

    `penalty` is the penalty of each column. With more columns than rows it is one, or zero for the offset, which counts
    as one in factors.
    """

    columns: Columns
    penalty: FloatArray

    @property
    def is_wide(self) -> bool:
        """Whether there are more columns than rows, in which case the Gram matrix of the rows is factored."""
        n, m = self.columns.shape
        return bool(m > n)

    @cached_property
    def gram(self) -> FloatArray:
        """The Gram matrix of the rows."""
        array = self.columns.to_array()
        return array @ array.T


class Subspace(Protocol):
    """A linear space of coefficients."""

    @property
    def is_signed(self) -> BoolArray:
        """Which columns may have no coefficients."""

    @property
    def is_fixed(self) -> BoolArray:
        """Which of them have none."""

    @property
    def along(self) -> FloatArray:
        """A number for each score: the coefficients of such a column are a multiple of it."""

    def project(self, coefficients: Floats) -> Floats:
        """The nearest coefficients in it."""


class Border(NamedTuple):
    """A quadratic problem in the sizes of some columns, all others eliminated: its matrix, and the pull on each."""

    columns: Indices
    matrix: FloatArray
    pulls: FloatArray


class Directions:
    """Descent directions, by conjugate gradients with a preconditioner that is reused while it is good enough."""

    def __init__(self, linear: Linear, dtype: type) -> None:
        self.linear, self.dtype = linear, dtype
        self.columns = linear.columns.astype(dtype)
        self.penalty: Floats = linear.penalty.astype(dtype, copy=False)
        self.factor: Factor | BorderedFactor | None = None
        self.moved, self.n_last, self.unsolved = 0.0, 0, 1.0
        self.tightest = TIGHTEST_SINGLE if dtype is np.float32 else TIGHTEST_DOUBLE

    @cached_property
    def reach(self) -> float:
        """The largest squared length of a row, each squared entry divided by its column's penalty; at least 1.

        Columns without a penalty do not count.
        """
        penalty = self.linear.penalty
        held = np.divide(1.0, penalty, out=np.zeros_like(penalty), where=penalty > 0)
        return float(self.linear.columns.row_squares(held).max(initial=1.0))

    def heaviest(self, weights: Floats) -> tuple[Indices, int]:
        """The rows that a factor with these weights needs, in order, and how many rows each of them represents."""
        upwards = np.sort(weights).astype(np.float64)
        spared = min(SPARED * upwards.sum(), SPARED_PENALTIES / self.reach)
        lighter = int(np.searchsorted(np.cumsum(upwards), spared))
        needed = np.flatnonzero(weights >= upwards[min(lighter, len(weights) - 1)])
        every = max(len(needed) // (ROWS_A_COLUMN * self.columns.shape[1]), 1)
        return np.sort(needed[np.argsort(weights[needed], kind="stable")[every // 2 :: every]]), every

    def direction(self, curvature: Curvature, gradient: FloatArray, tol: float) -> FloatArray | None:
        """The Newton direction, or None if this precision is not enough to compute it."""
        unit = float(np.abs(gradient).max())
        if not self._has_factor(curvature) or unit == 0.0:
            return None
        solution = self._solve(curvature, (-gradient / unit).astype(self.dtype), unit, tol)
        return None if solution is None else remove_common(solution.astype(np.float64) * unit)

    def direction_within(
        self, curvature: Curvature, gradient: FloatArray, tol: float, within: Subspace, loosest: float
    ) -> FloatArray | None:
        """The Newton direction in a subspace that holds the gradient, solved for at least to the share `loosest`."""
        unit = float(np.abs(gradient).max())
        if not self._has_factor(curvature, within) or unit == 0.0:
            return None
        residual: Floats = (-gradient / unit).astype(self.dtype)
        solution = self._solve(curvature, residual, unit, tol, within, loosest)
        return None if solution is None else np.asarray(solution.astype(np.float64) * unit)

    def border(self, curvature: Curvature, gradient: FloatArray, within: Subspace) -> Border | None:
        """The problem of the columns that may be fixed, as the factor sees it; None if there is no factor."""
        unit = float(np.abs(gradient).max())
        if not self._has_factor(curvature, within) or not isinstance(self.factor, BorderedFactor) or unit == 0.0:
            return None
        pulls = unit * self.factor.pulls((-gradient / unit).astype(self.dtype)).astype(np.float64)
        return Border(self.factor.border, self.factor.schur.astype(np.float64), pulls)

    def _has_factor(self, curvature: Curvature, within: Subspace | None = None) -> bool:
        """Make a factor, or a better one, if it is time to; whether there is one."""
        try:
            if self.factor is None:
                self.factor = self._factor(curvature.rows.mean(axis=0, keepdims=True), within)
            elif self.n_last > PATIENCE and self.moved > MOVED:
                self.factor, self.moved = self._factor(curvature.rows, within), 0.0
            if isinstance(self.factor, BorderedFactor) and within is not None:
                self.factor.fix(within.is_fixed)
        except LinAlgError:
            return False
        return True

    def _factor(self, rows: Floats, within: Subspace | None) -> Factor | BorderedFactor:
        chosen = [self.heaviest(weights) if len(rows) > 1 else (np.arange(len(weights)), 1) for weights in rows]
        parts = [part for part, _ in chosen]
        weights = [every * weights[part] for (part, every), weights in zip(chosen, rows, strict=True)]
        if within is None:
            return Factor(self.linear, self.columns, self.penalty, parts, weights)
        return BorderedFactor(self.linear, self.columns, self.penalty, parts, weights, within.is_signed, within.along)

    def _solve(
        self,
        curvature: Curvature,
        residual: Floats,
        unit: float,
        tol: float,
        within: Subspace | None = None,
        loosest: float = LOOSEST,
    ) -> Floats | None:
        """Preconditioned conjugate gradients; the residual is in units of `unit`."""
        solution = np.zeros_like(residual)
        moves: Floats = np.zeros((len(residual), self.columns.shape[0]), self.dtype)
        towards = guess = self._guess(residual, within)
        left = first = float(np.vdot(residual, guess))
        for self.n_last in range(1, MAX_ITERATIONS + 1):
            move = self.columns.scores(towards)
            product = self.columns.sums(curvature.times(move)) + self.penalty * towards
            if within is not None:
                product = within.project(product)
            bend = float(np.vdot(towards, product))
            if not (bend > 0 and left > 0 and np.isfinite(bend)):
                return solution if self.n_last > 1 else None
            length = self.dtype(left / bend)
            solution += length * towards
            moves += length * move
            residual = residual - length * product
            guess = self._guess(residual, within)
            left, before = float(np.vdot(residual, guess)), left
            size = unit * float(np.abs(moves).max())
            share = loosest if size <= tol else min(loosest, max(self.tightest, size))
            self.unsolved = (max(left, 0.0) / first) ** 0.5
            if self.unsolved <= share:
                break
            towards = guess + self.dtype(left / before) * towards
        return solution

    def _guess(self, residual: Floats, within: Subspace | None) -> Floats:
        """The solution for a residual by the factor."""
        assert self.factor is not None
        solution = remove_common(self.factor.solve(residual))
        return solution if within is None else within.project(solution)
