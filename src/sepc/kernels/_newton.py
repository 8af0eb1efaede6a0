"""Newton's method for a convex loss with one L2 penalty; some coefficients may have a given sign."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.linalg import LinAlgError, solve

from sepc._typing import BoolArray, FloatArray
from sepc.kernels._directions import MAX_ITERATIONS, Curvature, Directions, Linear, remove_common
from sepc.kernels.stepped_columns import Floats

# The second-order model of the loss is minimised within the bounds by block principal pivoting: coefficients that would
# leave their bound are set to zero, those at zero that the gradient pulls inwards are freed, and the others are solved
# for again. A step from one feasible point to another can be shortened freely, so that the line search stays the same.


# Exchanges of coefficients between zero and free in one direction, and how many of them in a row may leave as many on
# the wrong side as before; then only one is exchanged at a time.
MOST_EXCHANGES, CHANCES = 12, 3
# Residual, as a share of the first, to which systems are solved at most loosely: signs depend on it.
LOOSEST = 0.03
# Shares of the largest number below which a sign is not known, in single and in double precision.
UNSURE_SINGLE, UNSURE_DOUBLE = 1e-4, 1e-10


@dataclass(frozen=True, eq=False)
class Signed:
    """Which coefficients have a sign, and along which direction of the scores they count.

    The coefficients of such a column are ``size * sign * along``, with a size that is not negative.
    """

    signs: FloatArray
    along: FloatArray

    @property
    def is_signed(self) -> BoolArray:
        """Which columns have a sign."""
        return np.asarray(self.signs != 0.0)

    def sizes(self, coefficients: Floats) -> FloatArray:
        """The size of each column's coefficients, zero for free columns, of shape (m,)."""
        return np.asarray(self.signs * (self.along @ coefficients) / (self.along @ self.along))

    def slopes(self, gradient: Floats) -> FloatArray:
        """The derivative by each size, zero for free columns, of shape (m,)."""
        return np.asarray(self.signs * (self.along @ gradient))

    def project(self, coefficients: Floats) -> Floats:
        """The nearest coefficients of the allowed form, whatever their sign."""
        part = np.where(self.is_signed, np.outer(self.along, self.signs * self.sizes(coefficients)), coefficients)
        return np.asarray(part.astype(coefficients.dtype, copy=False))

    def with_sizes(self, coefficients: FloatArray, sizes: FloatArray) -> FloatArray:
        """Coefficients with these sizes in the signed columns."""
        return np.where(self.is_signed, np.outer(self.along, self.signs * sizes), coefficients)

    def within(self, coefficients: FloatArray) -> FloatArray:
        """Coefficients with the sizes that are negative set to zero."""
        return self.with_sizes(coefficients, np.maximum(self.sizes(coefficients), 0.0))


@dataclass(frozen=True, eq=False)
class _Free:
    """Coefficients of the allowed form, whatever their sign, with those of some columns fixed at zero."""

    signed: Signed
    is_fixed: BoolArray

    @property
    def is_signed(self) -> BoolArray:
        """Which columns may be fixed."""
        return self.signed.is_signed

    @property
    def along(self) -> FloatArray:
        """The direction of the coefficients of signed columns."""
        return self.signed.along

    def project(self, coefficients: Floats) -> Floats:
        """The nearest such coefficients."""
        part = self.signed.project(coefficients)
        part[:, self.is_fixed] = 0.0
        return part


class Target(NamedTuple):
    """Where a step within the bounds leads, and whether it minimises the second-order model."""

    coefficients: FloatArray
    is_minimum: bool


def bounded_target(
    inner: Directions, curvature: Curvature, gradient: FloatArray, coefficients: FloatArray, signed: Signed, tol: float
) -> Target | None:
    """A step within the bounds: Newton's or, if its exchanges do not settle, one up to the first bound it meets.

    None if this precision is not enough to compute it.
    """
    for loosest in (LOOSEST, inner.tightest) if inner.dtype is np.float64 else (LOOSEST,):
        model = _Model(inner, curvature, gradient, coefficients, signed, tol, loosest)
        target = _minimum_of_model(model)
        if target is not None and np.vdot(gradient, target - coefficients) < 0.0:
            return Target(target, True)
    target = _up_to_the_first_bound(model)
    return None if target is None else Target(target, False)


@dataclass(frozen=True, eq=False)
class _Model:
    """The second-order model of the loss, and how accurately to solve for its minimum."""

    inner: Directions
    curvature: Curvature
    gradient: FloatArray
    coefficients: FloatArray
    signed: Signed
    tol: float
    loosest: float

    def slopes(self, target: FloatArray) -> FloatArray:
        """The gradient of the model at some coefficients."""
        step: Floats = (target - self.coefficients).astype(self.inner.dtype, copy=False)
        change = self.curvature.times(self.inner.columns.scores(step))
        product = self.inner.columns.sums(change) + self.inner.penalty * step
        return remove_common(self.gradient + product.astype(np.float64))

    def minimum(self, is_fixed: BoolArray, near: FloatArray) -> FloatArray | None:
        """The coefficients of its minimum, with some fixed at zero and all others free, found from others near it."""
        free = _Free(self.signed, is_fixed)
        start = np.where(is_fixed, 0.0, near)
        slopes = free.project(self.slopes(start) if (start != self.coefficients).any() else self.gradient)
        if not slopes.any():
            return start
        step = self.inner.direction_within(self.curvature, slopes, self.tol, free, self.loosest)
        return None if step is None else np.asarray(start + step)


def _minimum_of_model(model: _Model) -> FloatArray | None:
    """The minimum of the second-order model within the bounds, or a point near it if exchanges do not settle."""
    signed, unsure = model.signed, UNSURE_SINGLE if model.inner.dtype is np.float32 else UNSURE_DOUBLE
    is_fixed = _likely_fixed(model)
    n_fewest, chances = len(is_fixed) + 1, CHANCES
    near = model.coefficients
    for _ in range(MOST_EXCHANGES):
        target = model.minimum(is_fixed, near)
        if target is None or model.inner.n_last == MAX_ITERATIONS:
            return None  # signs of what is not solved for mean little
        sizes, pull = signed.sizes(target), signed.slopes(model.slopes(target))
        is_below = ~is_fixed & (sizes < -unsure * np.abs(sizes).max(initial=0.0))
        is_pulled = is_fixed & (pull < -unsure * np.abs(pull).max(initial=0.0))
        is_wrong = is_below | is_pulled
        n_wrong = int(is_wrong.sum())
        if n_wrong == 0:
            break
        if n_wrong < n_fewest:
            n_fewest, chances = n_wrong, CHANCES
        elif chances:
            chances -= 1
        else:
            is_wrong = np.arange(len(is_wrong)) == np.flatnonzero(is_wrong)[-1]
        is_fixed, near = is_fixed ^ is_wrong, target
    else:
        return None
    return signed.within(target)


def _likely_fixed(model: _Model) -> BoolArray:
    """Which coefficients are zero at the minimum of the model, as far as its factor tells.

    With the factor, all columns without a sign are eliminated at once, and exchanges among the others cost little.
    """
    signed = model.signed
    is_fixed = signed.is_signed & (signed.sizes(model.coefficients) <= 0.0) & (signed.slopes(model.gradient) > 0.0)
    border = model.inner.border(model.curvature, model.gradient, _Free(signed, is_fixed))
    if border is None:
        return is_fixed
    signs = signed.signs[border.columns]
    matrix = border.matrix * np.outer(signs, signs)
    sides = matrix @ signed.sizes(model.coefficients)[border.columns] + signs * border.pulls
    is_zero = is_fixed[border.columns]
    for _ in range(MOST_EXCHANGES):
        free, sizes = np.flatnonzero(~is_zero), np.zeros(len(sides))
        try:
            sizes[free] = solve(matrix[np.ix_(free, free)], sides[free], assume_a="pos", check_finite=False)
        except LinAlgError:
            return is_fixed
        is_wrong = np.where(is_zero, matrix @ sizes < sides, sizes < 0.0)
        if not is_wrong.any():
            break
        is_zero = is_zero ^ is_wrong
    is_fixed[border.columns] = is_zero
    return is_fixed


def _up_to_the_first_bound(model: _Model) -> FloatArray | None:
    """A descent step: Newton's with those coefficients fixed that would leave their bound at once, cut at a bound."""
    signed, sizes = model.signed, model.signed.sizes(model.coefficients)
    is_fixed = signed.is_signed & (sizes <= 0.0) & (signed.slopes(model.gradient) > 0.0)
    while True:
        target = model.minimum(is_fixed, model.coefficients)
        if target is None:
            return None
        change = signed.sizes(target - model.coefficients)
        is_blocked = ~is_fixed & (sizes <= 0.0) & (change < 0.0)
        if not is_blocked.any():
            break
        is_fixed = is_fixed | is_blocked
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = np.where(~is_fixed & (change < 0.0), -sizes / change, np.inf)
    longest = min(float(lengths.min(initial=np.inf)), 1.0)
    reached = signed.within(model.coefficients + longest * (target - model.coefficients))
    reached[:, lengths <= longest] = 0.0
    return reached


# Steps that move no score by more than this are taken without a line search: the curvature along them changes by less
# than a factor of exp(0.2).
SURE_STEP = 0.1
# The error left after a step is estimated by its square and by its residual; both may be off by this factor.
CAUTION = 10.0
# Steps smaller than this must shrink by at least half each round; otherwise they are just rounding.
LOCAL_STEP, SHRINKS = 1e-2, 0.5


class ConvexLoss(Protocol):
    """A convex loss of the scores, of shape (k, n)."""

    def value(self, scores: FloatArray) -> float:
        """The loss, summed over rows."""

    def slopes(self, scores: FloatArray) -> FloatArray:
        """Its derivative by each score."""

    def curvature(self, scores: FloatArray, dtype: type) -> Curvature:
        """Its second derivative."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Coefficients, of shape (k, columns), their scores, the rounds taken, and how far another would move scores."""

    coefficients: FloatArray
    scores: FloatArray
    n_rounds: int
    next_step: float


def minimise(
    loss: ConvexLoss,
    linear: Linear,
    start: FloatArray,
    *,
    tol: float,
    max_rounds: int,
    signed: Signed | None = None,
) -> Minimum:
    """Descend until no Newton step would move a score by more than `tol`, or rounding keeps the steps from shrinking.

    A full step leaves an error of the order of its square and of the residual of its solution.

    Directions come from conjugate gradients on the exact second derivative, preconditioned by a Cholesky factor of
    the columns' (or rows') products weighted by `Curvature.rows`, which is exact for one score per row. They are
    computed in single precision while that helps: each round corrects the last, from a gradient in double precision.

    Every step lowers the objective: it passes Armijo's test, or moves scores by at most `SURE_STEP`, within which the
    curvature changes too little for a step of conjugate gradients to overshoot.

    Where coefficients are `signed`, they stay within their bounds, and those at zero are exactly zero.
    """
    coefficients = start
    scores = linear.columns.scores(coefficients)
    inner = Directions(linear, np.float64 if linear.is_wide else np.float32)
    last_step = next_step = math.inf
    n_rounds = 0
    while n_rounds < max_rounds and next_step > tol:
        gradient = remove_common(linear.columns.sums(loss.slopes(scores)) + linear.penalty * coefficients)
        curvature, target = loss.curvature(scores, inner.dtype), None
        if signed is None:
            direction = inner.direction(curvature, gradient, tol)
        else:
            target = bounded_target(inner, curvature, gradient, coefficients, signed, tol)
            direction = None if target is None else target.coefficients - coefficients
        slope = math.inf if direction is None else float(np.vdot(gradient, direction))
        if direction is not None and slope < 0:
            n_rounds += 1
            change = linear.columns.scores(direction)
            share = _share(loss, linear, coefficients, scores, direction, change, slope)
            coefficients, scores = coefficients + share * direction, scores + share * change
            if signed is not None and target is not None:
                coefficients = target.coefficients if share == 1 else signed.within(coefficients)
            step = float(np.abs(change).max())
            inner.moved += share * step
            stuck = last_step <= LOCAL_STEP and step > SHRINKS * last_step
            last_step = step if share == 1 and (target is None or target.is_minimum) else math.inf
            next_step = last_step * min(CAUTION * max(inner.unsolved, last_step), 1.0)
        else:
            stuck = True
        if stuck and next_step > tol:
            if inner.dtype is np.float64:
                break
            inner, last_step, next_step = Directions(linear, np.float64), math.inf, math.inf
    return Minimum(coefficients, scores, n_rounds, next_step)


def _share(
    loss: ConvexLoss,
    linear: Linear,
    coefficients: FloatArray,
    scores: FloatArray,
    direction: FloatArray,
    change: FloatArray,
    slope: float,
) -> float:
    """The share of a step to take."""

    def objective(share: float) -> float:
        penalised = linear.penalty * (coefficients + share * direction) ** 2
        return loss.value(scores + share * change) + 0.5 * float(penalised.sum())

    share, size = 1.0, np.abs(change).max()
    if size <= SURE_STEP:
        return share
    before = objective(0.0)
    while share * size > SURE_STEP and not objective(share) <= before + 1e-4 * share * slope:
        share /= 2
    return share
