"""Newton's method for a convex loss of scores that are linear in the coefficients, with one L2 penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels._bounded import Signed, bounded_target
from sepc.kernels._directions import Curvature, Directions, Linear
from sepc.kernels._factors import remove_common

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
