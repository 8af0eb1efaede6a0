"""Newton's method for a convex loss of scores that are linear in the coefficients, with one L2 penalty."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels._directions import Curvature, Directions, Linear, between

# Steps that move no score by more than this are taken without a line search: the curvature along them changes by less
# than a factor of exp(0.2).
SURE_STEP = 0.1
# What a step leaves to do is estimated by its square and by its residual; both may be off by this factor.
CAUTION = 10.0
# Steps smaller than this must shrink by at least half each round; otherwise they are only rounding.
LOCAL_STEP, SHRINKS = 1e-2, 0.5


class Loss(Protocol):
    """A convex loss of the scores, of shape (k, n)."""

    def value(self, scores: FloatArray) -> float:
        """The loss, summed over rows."""

    def slopes(self, scores: FloatArray) -> FloatArray:
        """Its derivative by each score."""

    def curvature(self, scores: FloatArray, dtype: type) -> Curvature:
        """Its second derivative."""


@dataclass(frozen=True, eq=False)
class Minimum:
    """Coefficients of shape (k, columns), the number of rounds, and about how far another would move a score."""

    coefficients: FloatArray
    scores: FloatArray
    n_rounds: int
    next_step: float


def minimise(loss: Loss, linear: Linear, start: FloatArray, *, tol: float, max_rounds: int) -> Minimum:
    """Descend until no Newton step would move a score by more than `tol`, or rounding keeps the steps from shrinking.

    A step that is taken whole leaves an error of the size of its square, and of what its solution left open.

    Directions come from conjugate gradients on the exact second derivative, preconditioned by a Cholesky factor of
    the columns' (or rows') products weighted by `Curvature.rows`, which is exact for one score a row. They are sought
    in single precision while that helps: each round then corrects the last, from a gradient in double.

    Every step lowers the objective: it passes Armijo's test, or moves scores by at most `SURE_STEP`, where curvature
    changes so little that a step of conjugate gradients cannot overshoot.
    """
    coefficients = start
    scores = linear.columns.scores(coefficients)
    inner = Directions(linear, np.float64 if linear.is_wide else np.float32)
    last_step = next_step = math.inf
    n_rounds = 0
    while n_rounds < max_rounds and next_step > tol:
        gradient = between(linear.columns.sums(loss.slopes(scores)) + linear.penalty * coefficients)
        direction = inner.direction(loss.curvature(scores, inner.dtype), gradient, tol)
        slope = math.inf if direction is None else float(np.vdot(gradient, direction))
        if direction is not None and slope < 0:
            n_rounds += 1
            change = linear.columns.scores(direction)
            share = _share(loss, linear, coefficients, scores, direction, change, slope)
            coefficients, scores = coefficients + share * direction, scores + share * change
            step = float(np.abs(change).max())
            inner.moved += share * step
            stuck = last_step <= LOCAL_STEP and step > SHRINKS * last_step
            last_step = step if share == 1 else math.inf
            next_step = last_step * min(CAUTION * max(inner.unsolved, last_step), 1.0)
        else:
            stuck = True
        if stuck and next_step > tol:
            if inner.dtype is np.float64:
                break
            inner, last_step, next_step = Directions(linear, np.float64), math.inf, math.inf
    return Minimum(coefficients, scores, n_rounds, next_step)


def _share(
    loss: Loss,
    linear: Linear,
    coefficients: FloatArray,
    scores: FloatArray,
    direction: FloatArray,
    change: FloatArray,
    slope: float,
) -> float:
    """How much of a step to take."""

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
