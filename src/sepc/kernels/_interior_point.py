"""The small dense problem inside `enclose`: optimal weights for a few lifted rows, by an interior-point method."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs

from sepc._typing import FloatArray, IntArray

# Mehrotra's method needs 5 to 15 steps; a run that takes more than this is limited by rounding.
MAX_STEPS = 60
# Added to the diagonal, relative to it, if rounding makes the Newton matrix indefinite; only the last steps need it.
JITTER = 1e-14
# The share of the way to the boundary that a step takes; a full step would leave a weight of zero, by which later steps
# divide.
LARGEST_FRACTION = 1.0 - 1e-7


@dataclass(frozen=True)
class DualPoint:
    """Weights `u` and slacks `t` on the rows `active` of the problem, and the certified excess `delta`."""

    active: IntArray
    u: FloatArray
    t: FloatArray
    delta: float


def maximize_logdet(Q: FloatArray, start: DualPoint | None, target: float) -> DualPoint:
    """Minimise ``-logdet(sum u q q') + sum u`` over ``u >= 0`` for the rows `q` of `Q`.

    At the optimum ``g_i = q_i' M^-1 q_i <= 1`` with equality where ``u_i > 0``, and ``sum u = n``. The step is
    Mehrotra's predictor and corrector on the complementarity ``u t = 0``, ``t = 1 - g``. Rows that provably have no
    weight at the optimum (Harman & Pronzato 2007) are removed as soon as they are found.

    Parameters
    ----------
    Q : (m, n) array
        Rows lifted by a column of ones, of rank `n`.
    start : DualPoint or None
        A warm start for the rows of `Q` (its `active` is ignored), or None for the uniform weights.
    target : float
        Stop once ``max g * sum u / n - 1`` is at most this, or when rounding prevents further progress.
    """
    m, n = Q.shape
    active = np.arange(m)
    u, t = _uniform(Q) if start is None else (start.u, start.t)
    best = None
    for _ in range(MAX_STEPS):
        Y, g = _leverages(Q, u)
        total = float(u.sum()) / n
        delta = float(g.max()) * total - 1.0
        if best is None or delta < best.delta:
            best = DualPoint(active, u, t, delta)
        if delta <= target:
            break
        bound = _support_bound(delta, n) / total
        if g.min() < bound:
            keep = g >= bound
            active, Q, u, t, g, Y = active[keep], Q[keep], u[keep], t[keep], g[keep], Y[:, keep]
        step = _newton_step(Y, g, u, t)
        if step is None:
            break
        u, t = step
    assert best is not None
    return best


def lift(rows: FloatArray) -> FloatArray:
    """Append the column of ones that turns an ellipsoid anywhere into one around the origin."""
    return np.column_stack([rows, np.ones(len(rows))])


def spans(rows: FloatArray) -> bool:
    """Whether `rows` have a full-dimensional affine hull, as `maximize_logdet` requires."""
    Q = lift(rows)
    L, info = dpotrf(Q.T @ Q, lower=1)
    return info == 0 and bool(np.diag(L).min() > 1e-6 * np.diag(L).max())


def warm_start(Q: FloatArray, u: FloatArray, violation: float) -> DualPoint:
    """Move the weights `u` of an earlier solution (zero for new rows) into the interior of the new problem."""
    kappa = min(0.1, max(violation, 1e-12))
    _, g = _leverages(Q, u)
    top = g.max()
    t = 1.0 - g / (top * (1.0 + kappa))
    u = u * (top * (1.0 + kappa))
    floor = 0.3 * float(np.mean(u * t)) / t
    return DualPoint(np.arange(len(u)), np.maximum(u, floor), t, np.inf)


def _uniform(Q: FloatArray) -> tuple[FloatArray, FloatArray]:
    m, n = Q.shape
    u = np.full(m, n / m)
    _, g = _leverages(Q, u)
    scale = 1.1 * g.max()
    return u * scale, 1.0 - g / scale


def _leverages(Q: FloatArray, u: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``Y = L^-1 Q'`` and ``g_i = |Y_i|^2``, where ``LL' = sum u q q'``."""
    L, _ = dpotrf((Q * u[:, None]).T @ Q, lower=1, clean=0)
    Y, _ = dtrtrs(L, Q.T, lower=1)
    return Y, np.einsum("ij,ij->j", Y, Y)


def _support_bound(delta: float, n: int) -> float:
    """Rows whose scaled leverage is below this cannot support the optimum (Harman & Pronzato 2007)."""
    return 1.0 + n * delta / 2.0 - math.sqrt(delta * (n - 1.0) + (n * delta) ** 2 / 4.0)


def _newton_step(Y: FloatArray, g: FloatArray, u: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    H = Y.T @ Y
    H *= H
    ratio = t / u
    diagonal = H.ravel()[:: len(u) + 1]
    diagonal += ratio
    L, info = dpotrf(H, lower=1, clean=0)
    if info:
        diagonal *= 1.0 + JITTER * len(u)
        L, info = dpotrf(H, lower=1, clean=0)
        if info:
            return None
    du, dt = _direction(L, g, u, t, ratio, 0.0)
    mu = float(u @ t) / len(u)
    ahead = float((u + _step_length(u, du) * du) @ (t + _step_length(t, dt) * dt)) / len(u)
    theta = mu * min(1.0, ahead / mu) ** 3 - du * dt
    du, dt = _direction(L, g, u, t, ratio, theta)
    fraction = min(max(0.9, 1.0 - mu), LARGEST_FRACTION)
    return u + (fraction * _step_length(u, du)) * du, t + (fraction * _step_length(t, dt)) * dt


def _direction(
    L: FloatArray, g: FloatArray, u: FloatArray, t: FloatArray, ratio: FloatArray, theta: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """The Newton direction of weights and slacks towards ``u t = theta``."""
    inverse = theta / u
    du, _ = dpotrs(L, g - 1.0 + inverse, lower=1)
    return du, inverse - t - ratio * du


def _step_length(x: FloatArray, dx: FloatArray) -> float:
    """The longest step in (0, 1] that keeps ``x + step * dx`` non-negative."""
    shrink = float((dx / x).min())
    return 1.0 if shrink >= -1.0 else -1.0 / shrink
