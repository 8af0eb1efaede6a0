"""Smallest ellipsoid of whitened rows in memory: solve for a few rows, look for rows outside, repeat."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtrtri

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.kernels._interior_point import DualPoint, lift, maximize_logdet, spans, warm_start
from sepc.points.farthest import distinct
from sepc.shapes.norms import squared_norms

# The first working set is a guess, so it need not be solved exactly; nor do later ones, until few rows are missing.
FIRST_TARGET = 1e-3
# The final ellipsoid is the smallest one up to a gap of 1e-10, which moves its boundary by less than this.
SAFETY = 1e-3
# Up to this many rows, evaluating all of them is faster than certifying any.
FEW_ROWS = 4000
# Evaluating this share of the rows costs nearly as much as evaluating all, which also refreshes the reference.
STALE_SHARE = 0.3
# Unless the violation falls to this share within three rounds, rows are no longer dropped from the working set: in
# degenerate sets they would cycle in and out forever.
PROGRESS = 0.7


class FlatRowsError(Exception):
    """The rows do not span their coordinates to working precision."""


@dataclass(frozen=True, eq=False)
class CoreSolution:
    """Weights, summing to one, on the rows `support`, and the ellipsoid of their moments.

    That is the set of all ``center + factor @ y`` with ``|y| <= 1``. The farthest row has squared radius
    ``1 + excess`` in it, and its volume is at most that of the smallest ellipsoid.
    """

    support: IntArray
    weights: FloatArray
    center: FloatArray
    factor: FloatArray
    excess: float
    n_rounds: int


class RefusedError(Exception):
    """`is_refused` returned True, so the ellipsoid was not computed."""


def enclose_whitened(
    Z: FloatArray,
    tol: float,
    max_rounds: int,
    is_refused: Callable[[FloatArray, FloatArray], bool] | None = None,
) -> CoreSolution:
    """Smallest ellipsoid of the rows of `Z`, which have covariance near the identity.

    Every round solves the dual on a working set and then finds the rows that lie outside. Most rows are certified to
    lie inside by their distance from an earlier ellipsoid, without being evaluated again. Raises `FlatRowsError` if the
    rows do not span all `r` dimensions.

    In all rounds but the last, `is_refused` is called with the center and factor of an ellipsoid certified to lie
    inside the smallest one; if it returns True, the search ends with `RefusedError`.
    """
    N, r = Z.shape
    if r == 0:
        return CoreSolution(np.zeros(1, dtype=np.int64), np.ones(1), np.zeros(0), np.zeros((0, 0)), 0.0, 0)
    screen = Screen.around_origin(Z)
    work = _first_working_set(Z, screen.gauges)
    lifted = lift(Z[work])
    start: DualPoint | None = None
    best: CoreSolution | None = None
    history: list[float] = []
    may_drop = True
    far = work
    for n_rounds in range(1, max_rounds + 1):
        target = FIRST_TARGET if n_rounds == 1 else min(FIRST_TARGET, 0.01 * history[-1])
        if len(far) <= r // 2 or len(work) == N:
            target = 0.0
        target = max(target, 0.3 * tol)
        dual = maximize_logdet(lifted, start, target)
        active = work[dual.active]
        weights = dual.u / dual.u.sum()
        center, factor = _moments(Z[active], weights)
        screen, excess, far = screen.find_outside(center, factor, work, n_most=3 * (r + 1))
        excess = max(excess, dual.delta * (r + 1) / r)
        if best is None or excess < best.excess:
            best = CoreSolution(active, weights, center, factor, excess, n_rounds)
        if excess <= tol or (len(far) == 0 and target <= 0.3 * tol):
            break
        if is_refused is not None:
            share = certified_size(excess, r)
            if share > 0.0 and is_refused(center, factor * math.sqrt(share)):
                raise RefusedError
        history.append(excess)
        may_drop = may_drop and not _is_stalling(history)
        stays = (dual.u > dual.t) | (not may_drop)
        work = np.concatenate([active[stays], far])
        lifted = lift(Z[work])
        start = warm_start(lifted, np.concatenate([dual.u[stays], np.zeros(len(far))]), excess)
    assert best is not None
    return best


def certified_size(excess: float, r: int) -> float:
    """Squared size at which an ellipsoid of moments is certified to lie in the smallest one; may be negative.

    In the ellipsoid of moments, of `r` dimensions, rows have at most squared radius ``1 + excess``. Lift both to
    ``n = r + 1`` dimensions, in coordinates in which that ellipsoid is the unit ball, and let `B` be the matrix of the
    smallest one. Its trace is at most `n`, since rows with weight lie inside, and the logarithm of its determinant, by
    duality, at least ``-k = -n log(1 + r / n * excess)``. So ``x - 1 - log x <= k`` for each eigenvalue `x`, hence
    ``x <= 1 + 2/3 k + sqrt(4/9 k^2 + 2 k)``, by ``log(1 + t) <= t (6 + t) / (6 + 4 t)``. Where the lifted squared
    radius is at most ``n / x``, a row lies inside.
    """
    n = r + 1
    k = n * math.log1p(max(excess, 0.0) * r / n)
    largest = 1.0 + 2.0 / 3.0 * k + math.sqrt(4.0 / 9.0 * k * k + 2.0 * k)
    return (n / (largest * (1.0 + SAFETY)) - 1.0) / r


def _moments(rows: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Weighted mean, and the lower factor of `r` times the weighted covariance."""
    center = weights @ rows
    triangle, _, _, _ = dgeqrf((rows - center) * np.sqrt(weights * rows.shape[1])[:, None])
    return center, np.triu(triangle[: len(center)]).T


def _is_stalling(history: list[float]) -> bool:
    return len(history) > 3 and min(history[-3:]) > PROGRESS * min(history[:-3])


def _first_working_set(Z: FloatArray, gauges: FloatArray) -> IntArray:
    """All rows if there are few; otherwise the farthest ones and the extremes of every coordinate."""
    N, r = Z.shape
    n = r + 1
    if max(5 * n, 60) >= N:
        work = distinct(Z)
    else:
        n_top = min(N, max(48, 8 * n))
        farthest = np.argpartition(gauges, N - n_top)[N - n_top :]
        work = np.concatenate([Z.argmax(axis=0), Z.argmin(axis=0), farthest])
        work = work[distinct(Z[work])]
    while not spans(Z[work]):
        wider = np.union1d(work, _extremes_off_the_span(Z, work))
        if len(wider) == len(work):
            raise FlatRowsError
        work = wider
    return work


def _extremes_off_the_span(Z: FloatArray, work: IntArray) -> IntArray:
    """The rows farthest from the affine hull of the rows `work`, one for each missing dimension."""
    centred = Z[work] - Z[work[0]]
    _, sizes, directions = np.linalg.svd(centred, full_matrices=True)
    missing = directions[np.count_nonzero(sizes > 1e-6 * sizes[0]) :]
    return np.unique(np.abs((Z - Z[work[0]]) @ missing.T).argmax(axis=0))


@dataclass(frozen=True, eq=False)
class Screen:
    """Gauges of all rows in an earlier ellipsoid, which certify that most rows lie in a new one."""

    rows: FloatArray
    center: FloatArray
    factor: FloatArray
    gauges: FloatArray

    @classmethod
    def around_origin(cls, rows: FloatArray) -> Screen:
        """Gauges in the unit ball."""
        r = rows.shape[1]
        return cls(rows, np.zeros(r), np.eye(r), np.sqrt(np.einsum("ij,ij->i", rows, rows)))

    def find_outside(
        self, center: FloatArray, factor: FloatArray, work: IntArray, n_most: int
    ) -> tuple[Screen, float, IntArray]:
        """The screen to use next, the largest excess over the new ellipsoid, and the worst rows not yet in `work`."""
        if len(work) == len(self.rows):
            return self, -np.inf, work[:0]
        root, _ = dtrtri(factor, lower=1)
        screen, squared = self._evaluate(center, factor, root)
        squared[work] = 0.0
        far = (squared > 1.0).nonzero()[0]
        if len(far) > n_most:
            far = far[np.argpartition(squared[far], -n_most)[-n_most:]]
        return screen, float(squared.max()) - 1.0, far[distinct(self.rows[far])]

    def _evaluate(self, center: FloatArray, factor: FloatArray, root: FloatArray) -> tuple[Screen, FloatArray]:
        """Squared radii of the rows, or zero where they are certified to be at most one."""
        if len(self.rows) > FEW_ROWS:
            candidates = self._not_certified_inside(center, root).nonzero()[0]
            if len(candidates) <= STALE_SHARE * len(self.rows):
                squared = np.zeros(len(self.rows))
                squared[candidates] = squared_norms(self.rows[candidates], center, root)
                return self, squared
        squared = squared_norms(self.rows, center, root)
        return Screen(self.rows, center, factor, np.sqrt(squared)), squared

    def _not_certified_inside(self, center: FloatArray, root: FloatArray) -> BoolArray:
        """Rows that the bound ``new gauge <= stretch * old gauge + shift`` does not prove to lie inside."""
        stretch = np.linalg.norm(root @ self.factor, 2)
        shift = np.linalg.norm(root @ (self.center - center))
        return self.gauges > (1.0 - shift) / stretch
