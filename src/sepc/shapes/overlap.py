"""Whether two ellipsoids are disjoint, and how large their overlap is."""

from __future__ import annotations

import math

import numpy as np
from scipy.linalg import solve_triangular

from sepc._typing import FloatArray
from sepc.shapes.ellipsoid import BOUNDARY_SLACK, Ellipsoid

# Both ellipsoids contain rows up to this squared radius, so they are disjoint only beyond it.
TOUCHING = 1.0 + BOUNDARY_SLACK

# Shares are squares of numbers whose rounding error is 2**-53.
SMALLEST_SHARE = 2.0**-106

# Newton takes 3 to 12 steps. The bracket has length 74 at most, and every step halves it or the step before, so the
# limit is reached only by pairs that touch up to rounding.
MAX_STEPS = 100


def are_disjoint(first: Ellipsoid, second: Ellipsoid) -> bool:
    """Whether no row can lie in both ellipsoids; touching ellipsoids are not disjoint.

    With `Q1`, `Q2` the squares of the inverse roots, the ellipsoids are disjoint if and only if the concave function
    ``f(s) = s * (1 - s) * gap.T @ inv(s * Q1 + (1 - s) * Q2) @ gap``, `gap` the difference of the centers, exceeds 1
    somewhere between 0 and 1 (Perram & Wertheim 1985). A value above 1 at any `s` proves that they are disjoint, a
    tangent that stays below 1 proves that they are not; the maximum itself is seldom needed.
    """
    if first.n_features != second.n_features:
        raise ValueError(f"Ellipsoids with {first.n_features} and {second.n_features} features cannot be compared.")
    first_share, second_share, gap = _common_axes(first, second)
    # Along one axis alone the maximum of f is the square of this: gap over the sum of the semi-axes.
    separations = np.abs(gap) / (np.sqrt(first_share) + np.sqrt(second_share))
    if separations.max() > math.sqrt(TOUCHING):
        return True
    if separations @ separations <= TOUCHING:
        return False
    return _maximum_exceeds(TOUCHING, first_share, second_share, gap**2)


def overlap_ratio(overlap: Ellipsoid, own: Ellipsoid) -> float:
    """Ratio of the volume of `overlap`, the ellipsoid around the rows in both classes' ellipsoids, to that of `own`."""
    if overlap.n_features != own.n_features:
        raise ValueError(f"Ellipsoids with {overlap.n_features} and {own.n_features} features cannot be compared.")
    return math.exp(overlap.log_volume - own.log_volume)


def _common_axes(first: Ellipsoid, second: Ellipsoid) -> tuple[FloatArray, FloatArray, FloatArray]:
    """In coordinates in which both are axis-parallel: squared semi-axes, which sum to 1, and the gap of the centers."""
    d = first.n_features
    # The columns are features; a QR factorisation leaves their scales, however different, to `upper` alone.
    orthonormal, upper = np.linalg.qr(np.vstack([first.inverse_root.T, second.inverse_root.T]))
    _, first_lengths, axes = np.linalg.svd(orthonormal[:d])
    # Not 1 minus the first: a flat ellipsoid's share may be far below the rounding of 1.
    second_lengths = np.linalg.norm(orthonormal[d:] @ axes.T, axis=0)
    gap = axes @ solve_triangular(upper, second.center - first.center, trans="T")
    return np.maximum(first_lengths**2, SMALLEST_SHARE), np.maximum(second_lengths**2, SMALLEST_SHARE), gap


def _maximum_exceeds(level: float, m: FloatArray, n: FloatArray, squared_gap: FloatArray) -> bool:
    """Whether ``f(s) = sum(squared_gap * s * (1 - s) / (s * m + (1 - s) * n))`` exceeds `level` anywhere.

    Newton's method on ``log(a / b) - 2 * x``, where `x` is the log-odds of `s` and the derivative of `f` is
    ``(1 - s)**2 * a - s**2 * b``: flat ellipsoids push the maximum close to 0 or 1, so `s` itself is a poor variable.
    """
    lower, upper = 0.5 * math.log((n / m).min()), 0.5 * math.log((n / m).max())
    x = 0.5 * math.log((squared_gap @ n) / (squared_gap @ m))
    last_step = upper - lower
    for _ in range(MAX_STEPS):
        s, rest = _sigmoid(x), _sigmoid(-x)
        inverse = 1.0 / (s * m + rest * n)
        terms = squared_gap * inverse
        value = s * rest * float(terms.sum())
        if value > level:
            return True
        terms *= inverse
        a, b = float(terms @ n), float(terms @ m)
        slope = rest**2 * a - s**2 * b
        if slope > 0.0:
            lower, room = x, rest - _sigmoid(-upper)
        else:
            upper, room = x, s - _sigmoid(lower)
        if value + abs(slope) * room <= level:
            return False
        curvature = float((terms * inverse) @ (m * n))
        step = (0.5 * math.log(a / b) - x) / (curvature * (rest / b + s / a))
        if not lower < x + step < upper or abs(step) > 0.5 * last_step:
            step = 0.5 * (lower + upper) - x
        x += step
        last_step = abs(step)
    return False


def _sigmoid(x: float) -> float:
    return 1.0 / (1.0 + math.exp(-x))
