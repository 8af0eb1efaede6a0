"""The point of a convex hull nearest to a target, by Wolfe's minimum-norm-point algorithm.

Wolfe (1976) keeps a corral, a few points of the hull and their weights. The algorithm uses only the hull's support
point, the point farthest in the direction opposite to a given one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dposv, dpotrs

from sepc._typing import FloatArray

# Added to the diagonal of a Gram matrix of unit vectors, so that it can be factorised even if points are nearly
# dependent; iterative refinement removes the bias.
RIDGE = 1e-14
# A gap cannot be known better than the rounding of one support point: a few units in the last place of its length.
EPS = float(np.finfo(np.float64).eps)
ROUNDING = 16 * EPS
# The gap, relative to the squared size of the problem, at which the nearest point counts as found.
TOLERANCE = 1e-14
# Hulls closer than a millionth of the size of the problem count as meeting: a direction between them would be noise.
MEETING = 1e-12
# Below this gap, relative to the offset's length, a new support point may already be in the corral.
SUSPICIOUS = 1e-8
NO_WEIGHT = np.zeros(1)
TINY = float(np.finfo(np.float64).tiny)
# Iterations allowed without progress, once rounding hides it.
MAX_STALLED = 10


class Support(NamedTuple):
    """A support point, and the projection of the last row that it includes."""

    point: FloatArray
    threshold: float


class Corral(NamedTuple):
    """Points of a hull, and positive weights that add up to one."""

    points: FloatArray
    weights: FloatArray

    @property
    def point(self) -> FloatArray:
        """The weighted mean."""
        return self.weights @ self.points

    def holds(self, point: FloatArray, tol: float) -> bool:
        """Whether `point` is one of the points, up to `tol` in every feature."""
        return bool(np.abs(self.points - point).max(axis=1).min() <= tol)

    def add(self, point: FloatArray) -> Corral:
        """Add a support point, with zero weight."""
        return Corral(np.concatenate((self.points, point[None])), np.concatenate((self.weights, NO_WEIGHT)))

    def move_towards(self, weights: FloatArray) -> Corral:
        """Move from the current weights towards `weights` until the first one vanishes; drop those that vanished."""
        change = weights - self.weights
        # Wolfe's ratio test; a weight that is zero already gives a step of zero.
        steps = np.where(weights > 0, np.inf, self.weights / np.maximum(-change, TINY))
        first = steps.argmin()
        reached = self.weights + steps[first] * change
        reached[first] = 0.0
        kept = reached > 0
        left = reached[kept]
        return Corral(self.points[kept], left / left.sum())


@dataclass(frozen=True)
class MinNorm:
    """The nearest point found, and a bound on its distance from the true one."""

    offset: FloatArray
    gap: float
    size: float
    n_iterations: int

    @property
    def holds_target(self) -> bool:
        """Whether the point found is the target itself, as far as this precision can tell."""
        return float(self.offset @ self.offset) <= MEETING * self.size**2

    @property
    def converged(self) -> bool:
        """Whether the gap is closed, or the target reached."""
        return self.holds_target or self.gap <= TOLERANCE * self.size**2


def min_norm_point(
    support: Callable[[FloatArray], Support], target: FloatArray, max_iterations: int, tol: float = 0.0
) -> MinNorm:
    """Find the point of a hull nearest to `target`; stop if the gap is at most `tol` times the squared distance."""
    size = length(target)
    # Any first direction will do where the target is the origin.
    first = -target / size if size > 0 else np.eye(1, len(target))[0]
    corral = Corral(support(first).point[None], np.ones(1))
    radius = _longest(corral.points)
    size = max(radius, size, _longest(corral.points - target))
    best = MinNorm(corral.point - target, np.inf, size, 0)
    last_norm, n_stalled = np.inf, 0
    for n_iterations in range(1, max_iterations + 1):
        point = corral.point
        offset = point - target
        norm = length(offset)
        if norm**2 <= max(MEETING, tol**2) * size**2:
            # The true offset is no longer, and at an angle that is not obtuse, so the two differ by at most `norm`.
            return MinNorm(offset, norm**2, size, n_iterations - 1)
        direction = offset / norm
        new_point = support(direction).point
        radius = max(radius, length(new_point))
        size = max(size, radius, length(new_point - target))
        gap = max(float(offset @ (point - new_point)), 0.0)
        n_stalled = n_stalled + 1 if norm >= last_norm and gap >= best.gap else 0
        if gap < best.gap:
            best = MinNorm(offset, gap, size, n_iterations)
        if gap <= max(ROUNDING * norm * radius, tol * norm**2) or n_stalled > MAX_STALLED:
            break
        # The points of a corral are equally far along the offset, so adding one again leaves a gap of mere rounding.
        if gap <= SUSPICIOUS * norm * radius and corral.holds(new_point, EPS * radius):
            break
        corral, last_norm = _nearest_of(corral.add(new_point), target), norm
    return replace(best, size=size, n_iterations=n_iterations)


def _nearest_of(corral: Corral, target: FloatArray) -> Corral:
    """Wolfe's minor cycle: the point of the simplex nearest to `target`, without the vertices it does not need."""
    while True:
        weights = _affine_weights(corral.points, target)
        if weights.min() > 0:
            return Corral(corral.points, weights)
        corral = corral.move_towards(weights)


def _affine_weights(points: FloatArray, target: FloatArray) -> FloatArray:
    """Weights, of any sign, of the point nearest to `target` in the affine hull of `points`.

    Works with unit vectors from one point to the others: support points averaged over many rows differ in only a few,
    and a Gram matrix of the points themselves would lose these differences.
    """
    if len(points) == 1:
        return np.ones(1)
    edges, offset = points[1:] - points[0], target - points[0]
    gram = edges @ edges.T
    scale = 1 / np.sqrt(gram.diagonal())
    gram *= scale
    gram *= scale[:, None]
    gram.flat[:: len(gram) + 1] += RIDGE
    factor, steps, failed = dposv(gram, (edges @ offset) * scale, lower=1)
    if failed:
        steps = np.linalg.lstsq((edges * scale[:, None]).T, offset, rcond=None)[0]
    else:
        steps += dpotrs(factor, (edges @ (offset - (steps * scale) @ edges)) * scale, lower=1)[0]
    weights = np.empty(len(points))
    np.multiply(steps, scale, out=weights[1:])
    weights[0] = 1 - weights[1:].sum()
    return weights


def length(vector: FloatArray) -> float:
    """Euclidean length; entries must be far from overflow."""
    return math.sqrt(vector @ vector)


def _longest(vectors: FloatArray) -> float:
    return math.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
