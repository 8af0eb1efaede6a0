"""The point of a convex hull nearest to a target, by Wolfe's minimum-norm-point algorithm; arrays only.

Wolfe (1976) keeps a corral, a few points of the hull and their weights, and asks the hull for one thing: its support
point, the point lying farthest against a direction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from sepc._typing import FloatArray

# Added to the diagonal of a Gram matrix of unit vectors, so that it can be factorised even if points are nearly
# dependent; iterative refinement removes the bias.
RIDGE = 1e-14
# A gap is known no better than the rounding of one support point: a few units in the last place of its length.
EPS = float(np.finfo(np.float64).eps)
ROUNDING = 16 * EPS
# The gap, relative to the squared size of the problem, at which the nearest point counts as found.
TOLERANCE = 1e-14
# Hulls nearer than a millionth of the size of the problem meet: a direction between them would be noise.
MEETING = 1e-12
# Iterations that may pass without any gain once rounding hides the progress.
MAX_STALLED = 10


class Support(NamedTuple):
    """A support point, and the projection of the last row that it includes."""

    point: FloatArray
    threshold: float


@dataclass(frozen=True)
class Corral:
    """Points of a hull, the directions they support, and positive weights that add up to one.

    Attributes
    ----------
    points, directions : array of shape (n_points, n_features)
    weights : array of shape (n_points,)
    """

    points: FloatArray
    directions: FloatArray
    weights: FloatArray

    @property
    def point(self) -> FloatArray:
        """The weighted mean."""
        return self.weights @ self.points

    def joined_by(self, point: FloatArray, direction: FloatArray) -> Corral:
        """Add a support point, with zero weight."""
        return Corral(
            np.concatenate((self.points, point[None])),
            np.concatenate((self.directions, direction[None])),
            np.concatenate((self.weights, [0.0])),
        )

    def moved_towards(self, weights: FloatArray) -> Corral:
        """Go from the present weights towards `weights` until the first one vanishes, and drop what vanished."""
        negative = weights <= 0
        # Wolfe's ratio test; a weight that is zero already gives a step of zero.
        ratios = self.weights[negative] / np.maximum(self.weights[negative] - weights[negative], np.finfo(float).tiny)
        reached = self.weights + ratios.min() * (weights - self.weights)
        kept = reached > 0
        kept[np.flatnonzero(negative)[ratios.argmin()]] = False
        return Corral(self.points[kept], self.directions[kept], reached[kept] / reached[kept].sum())


@dataclass(frozen=True)
class MinNorm:
    """The nearest point found, and how near to the true one it is known to be.

    Attributes
    ----------
    corral : Corral
        The nearest point as a combination of support points.
    offset : array of shape (n_features,)
        Nearest point minus target.
    gap : float
        Duality gap: `offset` is within ``sqrt(gap)`` of the true one.
    size : float
        The largest distance between origin, target and support points; tolerances are relative to it.
    n_iterations : int
        Number of support points computed.
    """

    corral: Corral
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


def corral_at(support: Callable[[FloatArray], Support], direction: FloatArray) -> Corral:
    """A corral of one point: the support point for `direction`."""
    direction = unit(direction)
    return Corral(support(direction).point[None], direction[None], np.ones(1))


def min_norm_point(
    support: Callable[[FloatArray], Support], start: Corral, target: FloatArray, max_iterations: int
) -> MinNorm:
    """Find the point of a hull nearest to `target`.

    Parameters
    ----------
    support : callable
        The hull's support point for a unit direction.
    start : Corral
        Points of the hull to start from.
    target : array of shape (n_features,)
    max_iterations : int
        The most support points to compute.
    """
    corral = start
    radius = _longest(corral.points)
    size = max(radius, length(target), _longest(corral.points - target))
    best = MinNorm(corral, corral.point - target, np.inf, size, 0)
    last_norm, n_stalled = np.inf, 0
    for n_iterations in range(1, max_iterations + 1):
        point = corral.point
        offset = point - target
        norm = length(offset)
        if norm**2 <= MEETING * size**2:
            # The true offset is no longer than this one and makes no obtuse angle with it, so they differ by less.
            return MinNorm(corral, offset, norm**2, size, n_iterations - 1)
        direction = offset / norm
        new_point = support(direction).point
        radius = max(radius, length(new_point))
        size = max(size, radius, length(new_point - target))
        gap = max(float(offset @ (point - new_point)), 0.0)
        n_stalled = n_stalled + 1 if norm >= last_norm and gap >= best.gap else 0
        if gap < best.gap:
            best = MinNorm(corral, offset, gap, size, n_iterations)
        is_known = np.abs(corral.points - new_point).max(axis=1).min() <= EPS * radius
        if gap <= ROUNDING * norm * radius or is_known or n_stalled > MAX_STALLED:
            break
        corral, last_norm = _nearest_of(corral.joined_by(new_point, direction), target), norm
    return replace(best, size=size, n_iterations=n_iterations)


def _nearest_of(corral: Corral, target: FloatArray) -> Corral:
    """Wolfe's minor cycle: the point of the simplex nearest to `target`, without the corners it does not need."""
    while True:
        weights = _affine_weights(corral.points, target)
        if (weights > 0).all():
            return replace(corral, weights=weights)
        corral = corral.moved_towards(weights)


def _affine_weights(points: FloatArray, target: FloatArray) -> FloatArray:
    """Weights, of any sign, of the point nearest to `target` in the plane through `points`.

    Works with unit vectors from one point to the others: support points of many rows differ in few of them, and a Gram
    matrix of the points themselves would lose what tells them apart.
    """
    if len(points) == 1:
        return np.ones(1)
    edges = points[1:] - points[0]
    lengths = np.sqrt(np.einsum("ij,ij->i", edges, edges))
    edges /= lengths[:, None]
    gram = edges @ edges.T
    gram.flat[:: len(gram) + 1] += RIDGE
    factor, failed = dpotrf(gram, lower=1)
    offset = points[0] - target
    if failed:
        return _weights_from(np.linalg.lstsq(edges.T, -offset, rcond=None)[0] / lengths)
    steps, _ = dpotrs(factor, -(edges @ offset), lower=1)
    correction, _ = dpotrs(factor, -(edges @ (offset + steps @ edges)), lower=1)
    return _weights_from((steps + correction) / lengths)


def _weights_from(others: FloatArray) -> FloatArray:
    """All weights, given those of the points after the first."""
    return np.concatenate(([1 - others.sum()], others))


def unit(vector: FloatArray) -> FloatArray:
    """Scale `vector` to length one; a vector of zeros becomes the first axis, since any direction serves it."""
    norm = length(vector)
    return vector / norm if norm > 0 else np.eye(1, len(vector))[0]


def length(vector: FloatArray) -> float:
    """Euclidean length; entries must be far from overflow."""
    return math.sqrt(vector @ vector)


def _longest(vectors: FloatArray) -> float:
    return math.sqrt(np.einsum("ij,ij->i", vectors, vectors).max())
