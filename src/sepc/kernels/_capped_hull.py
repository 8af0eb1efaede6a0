"""Capped (reduced) convex hulls of arrays: combinations of rows with weights of at most ``1 / cap``.

Their support point is the mean of the `cap` rows with the smallest projections on a direction.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray
from sepc.kernels._min_norm import Support, length

# Below this many rows, evaluating all of them costs no more than finding out which matter.
WHOLE_ROWS = 1_500
# A band keeps one row in eight: measured at 1e4 to 1e5 rows, a quarter and a sixteenth are both a little slower.
BAND_SHARE = 8


class _Band(NamedTuple):
    """The rows of a hull that can cross the threshold while the direction stays within `radius` of `direction`."""

    hull: CappedHull
    direction: FloatArray
    radius: float
    low: float
    high: float


class CappedHull:
    """Combinations of rows with weights of at most ``1 / cap``, with a fast, exact support point.

    Successive directions differ little, so most rows stay on their side of the threshold. The hull remembers a *band*
    of rows that could cross it and sums the others once; where the band is no longer valid it evaluates all rows again.

    Parameters
    ----------
    columns : array of shape (n_features, n_rows)
        The rows, feature by feature: with few features, products are nearly twice as fast this way.
    n_pick : int
        How many of these rows a support point includes.
    cap : int
        How many rows it averages in all.
    certain_sum : array of shape (n_features,), optional
        The sum of the ``cap - n_pick`` rows that every support point includes.
    """

    def __init__(self, columns: FloatArray, n_pick: int, cap: int, certain_sum: FloatArray | None = None) -> None:
        self.columns = columns
        self.n_pick = n_pick
        self.cap = cap
        self.certain_sum = np.zeros(len(columns)) if certain_sum is None else certain_sum
        self._band: _Band | None = None
        self._last_direction: FloatArray | None = None
        self._slack = 0.0
        self._per_reach: FloatArray | None = None

    def shift(self, by: FloatArray) -> CappedHull:
        """Move the whole hull; thresholds are not changed."""
        return CappedHull(self.columns, self.n_pick, self.cap, self.certain_sum + self.cap * by)

    def support(self, direction: FloatArray) -> Support:
        """The point of the hull farthest in the direction opposite to `direction`, a unit vector."""
        band = self._band
        if band is not None and length(direction - band.direction) <= band.radius:
            support = band.hull.support(direction)
            if band.low <= support.threshold <= band.high:
                return support
        return self._support_from_all_rows(direction)

    def _support_from_all_rows(self, direction: FloatArray) -> Support:
        scores = direction @ self.columns
        ordered = scores.copy()
        ordered.partition(self.n_pick - 1)
        threshold = float(ordered[self.n_pick - 1])
        picked = scores <= threshold
        shares = picked.astype(np.float64)
        if np.count_nonzero(picked) > self.n_pick:
            tied = np.flatnonzero(scores == threshold)
            shares[tied] = (self.n_pick - np.count_nonzero(scores < threshold)) / len(tied)
        if len(scores) > WHOLE_ROWS:
            self._remember_band(direction, scores, threshold)
        return Support((self.certain_sum + self.columns @ shares) / self.cap, threshold)

    def _remember_band(self, direction: FloatArray, scores: FloatArray, threshold: float) -> None:
        if self._per_reach is None:
            lengths = np.sqrt(np.einsum("ij,ij->j", self.columns, self.columns))
            self._slack = slack_for(lengths)
            self._per_reach = 1 / (lengths + self._slack)
        steadiness = np.abs(scores - threshold) * self._per_reach
        n_kept = len(scores) // BAND_SHARE
        radius = float(np.partition(steadiness, n_kept)[n_kept])
        last, self._last_direction, self._band = self._last_direction, direction, None
        # A band pays off only once directions have settled enough for the next one to stay within it.
        if last is None or length(direction - last) > radius:
            return
        uncertain = steadiness <= radius
        if np.count_nonzero(uncertain) > len(scores) // 2:
            return
        certain = (scores < threshold) & ~uncertain
        self._band = _Band(
            CappedHull(
                self.columns[:, uncertain],
                self.n_pick - int(np.count_nonzero(certain)),
                self.cap,
                self.certain_sum + self.columns @ certain.astype(np.float64),
            ),
            direction,
            radius,
            threshold - radius * self._slack,
            threshold + radius * self._slack,
        )


def slack_for(lengths: FloatArray) -> float:
    """How far a threshold may move per unit of a band's radius, given the lengths of the rows.

    A threshold moves like the mean of the rows next to it, so by less than any one of them.
    """
    return float(np.median(lengths)) / 2 or 1.0
