"""Directions of Newton's method, by conjugate gradients with a Cholesky factor as preconditioner."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.linalg.blas import dtrsv, strsv

from sepc._typing import BoolArray, FloatArray
from sepc.kernels.stepped_columns import Columns, Floats, Indices


class Products(Protocol):
    """Scores linear in the coefficients, and whether there are more columns than rows."""

    @property
    def is_wide(self) -> bool:
        """Whether products of rows are factored, not of columns."""

    @property
    def gram(self) -> FloatArray:
        """The Gram matrix of the rows."""

    @property
    def columns(self) -> Columns:
        """The columns in double precision."""


class Factor:
    """Cholesky factors of the second derivative's blocks, one for each score, or one for all of them at first.

    With more columns than rows, these are factors of products of rows, by Woodbury's identity, with penalties of one.
    `parts` and `weights` are the rows that each factor uses, and how much they count.
    """

    def __init__(
        self, linear: Products, columns: Columns, penalty: Floats, parts: list[Indices], weights: list[Floats]
    ) -> None:
        self.is_wide, self.columns, self.penalty = linear.is_wide, columns, penalty
        self.parts, self.roots = parts, [np.sqrt(each) for each in weights]
        pairs = zip(parts, weights, strict=True)
        if self.is_wide:
            self.factors = [_of_rows(linear.gram, *pair) for pair in pairs]
        else:
            self.factors = [_cholesky(columns.gram(*pair), penalty) for pair in pairs]

    def solve(self, residual: Floats) -> Floats:
        """The solution of the blocks for the residual of each score."""
        return self._by_rows(residual) if self.is_wide else self._each(list(residual))

    def _each(self, sides: list[Floats]) -> Floats:
        factors = self.factors * len(sides) if len(self.factors) == 1 else self.factors
        return np.stack([_solve(factor, side) for factor, side in zip(factors, sides, strict=True)])

    def _by_rows(self, residual: Floats) -> Floats:
        moves = self.columns.scores(residual)
        back = np.zeros_like(moves)
        for k, move in enumerate(moves):
            which = min(k, len(self.factors) - 1)
            part, roots = self.parts[which], self.roots[which]
            back[k, part] = roots * _solve(self.factors[which], roots * move[part])
        solution: Floats = residual - self.columns.sums(back)
        return solution


class BorderedFactor:
    """Factors like those of `Factor`, for columns of which some have one coefficient, or none at all.

    Such columns are a border around the others. Their part of the second derivative, after the others are eliminated,
    is a small matrix (a Schur complement), from which columns without coefficients are left out at little cost. The
    coefficients of a border column are one number times `along`, a number for each score.
    """

    def __init__(
        self,
        linear: Products,
        columns: Columns,
        penalty: Floats,
        parts: list[Indices],
        weights: list[Floats],
        is_border: BoolArray,
        along: FloatArray,
    ) -> None:
        self.columns, self.is_wide, self.parts = columns, linear.is_wide, parts
        self.inside, self.border = np.flatnonzero(~is_border), np.flatnonzero(is_border)
        self.along: Floats = along.astype(weights[0].dtype)
        self.roots = [np.sqrt(each) for each in weights]
        pairs = zip(parts, weights, strict=True)
        if self.is_wide:
            outer = linear.columns.to_array()[:, self.border]
            gram = linear.gram - outer @ outer.T
            self.blocks = [self._block_of_rows(gram, outer, *pair) for pair in pairs]
        else:
            self.blocks = [self._block_of_columns(columns.gram(*pair), penalty) for pair in pairs]
        # Block of each score: the first factor is the same for all.
        self.of_score = [min(k, len(self.blocks) - 1) for k in range(len(along))]
        self.schur = sum(a**2 * self.blocks[k].schur for a, k in zip(self.along, self.of_score, strict=True))
        self.is_kept: BoolArray | None = None

    def fix(self, is_fixed: BoolArray) -> None:
        """Leave out these columns of the border, and no others."""
        is_kept = ~is_fixed[self.border]
        if self.is_kept is None or (is_kept != self.is_kept).any():
            self.is_kept, kept = is_kept, np.flatnonzero(is_kept)
            self.small = _cholesky(self.schur[np.ix_(kept, kept)], 0.0) if len(kept) else None
            self.borders = [block.border[:, kept] for block in self.blocks]

    def pulls(self, residual: Floats) -> Floats:
        """What is left of the residual in the border, along its direction, after the others are eliminated."""
        return self._pulls(residual, self._forward(residual), self.border, [block.border for block in self.blocks])

    def solve(self, residual: Floats) -> Floats:
        """The solution for the residual of each score; zero in columns that are left out."""
        forward = self._forward(residual)
        found: Floats = np.zeros_like(residual)
        if self.small is not None:
            kept = self.border[self.is_kept]
            sizes = _solve(self.small, self._pulls(residual, forward, kept, self.borders))
            found[:, kept] = np.outer(self.along, sizes)
            signed = self.along if self.is_wide else -self.along
            forward = [
                side + a * (self.borders[k] @ sizes) for a, k, side in zip(signed, self.of_score, forward, strict=True)
            ]
        back = [
            _triangular(self.blocks[k].factor, side, trans=1) for k, side in zip(self.of_score, forward, strict=True)
        ]
        if not self.is_wide:
            found[:, self.inside] = back
            return found
        moves: Floats = np.zeros((len(residual), self.columns.shape[0]), residual.dtype)
        for k, solved in enumerate(back):
            which = self.of_score[k]
            moves[k, self.parts[which]] = self.roots[which] * solved
        found[:, self.inside] = (residual - self.columns.sums(moves))[:, self.inside]
        return found

    def _forward(self, residual: Floats) -> list[Floats]:
        sides = self._scaled_moves(residual) if self.is_wide else list(residual[:, self.inside])
        return [_triangular(self.blocks[k].factor, side) for k, side in zip(self.of_score, sides, strict=True)]

    def _pulls(self, residual: Floats, forward: list[Floats], border: Indices, borders: list[Floats]) -> Floats:
        eliminated = np.stack([side @ borders[k] for k, side in zip(self.of_score, forward, strict=True)])
        pulls: Floats = self.along @ (residual[:, border] - eliminated)
        return pulls

    def _scaled_moves(self, residual: Floats) -> list[Floats]:
        """What the residual of columns inside does to the scores of the rows, times the roots of their weights."""
        inner: Floats = np.zeros_like(residual)
        inner[:, self.inside] = residual[:, self.inside]
        moves = self.columns.scores(inner)
        return [self.roots[k] * move[self.parts[k]] for k, move in zip(self.of_score, moves, strict=True)]

    def _block_of_columns(self, products: Floats, penalty: Floats) -> _Block:
        order, n = np.concatenate([self.inside, self.border]), len(self.inside)
        whole = _cholesky(products[np.ix_(order, order)], penalty[order])
        corner = whole[n:, n:]
        return _Block(np.asfortranarray(whole[:n, :n]), whole[n:, :n].T, corner @ corner.T)

    def _block_of_rows(self, gram: FloatArray, outer: FloatArray, part: Indices, weights: Floats) -> _Block:
        factor = _of_rows(gram, part, weights)
        sides = outer[part] * np.sqrt(weights)[:, np.newaxis]
        border = solve_triangular(factor, sides, lower=True, check_finite=False)
        return _Block(factor, border, border.T @ border + np.eye(len(self.border)))


class _Block(NamedTuple):
    """A factor, the border after a forward solve with it, and the Schur complement of the border."""

    factor: Floats
    border: Floats
    schur: Floats


def remove_common(directions: Floats) -> Floats:
    """Subtract the part common to all scores: it changes no probability, and its rounding must not grow."""
    return directions - directions.mean(axis=0) if len(directions) > 1 else directions


def _of_rows(gram: FloatArray, part: Indices, weights: Floats) -> Floats:
    roots = np.sqrt(weights)
    return _cholesky(gram[np.ix_(part, part)] * roots * roots[:, None], 1.0)


def _cholesky(products: Floats, diagonal: Floats | float) -> Floats:
    """The lower Cholesky factor, in the memory order that makes solving seven times as fast as `cho_solve`."""
    products.flat[:: len(products) + 1] += diagonal
    factor: Floats = cholesky(products.T, lower=True, overwrite_a=True, check_finite=False)
    return factor


def _solve(factor: Floats, side: Floats) -> Floats:
    return _triangular(factor, _triangular(factor, side), trans=1)


def _triangular(factor: Floats, side: Floats, trans: int = 0) -> Floats:
    solve = strsv if factor.dtype == np.float32 else dtrsv
    solution: Floats = solve(factor, side, lower=1, trans=trans)
    return solution


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
