"""Bands of trust: strata from which labels are drawn; the first k + 1 of them form set k."""

from __future__ import annotations

import numpy as np
from scipy.special import rel_entr

from sepc._typing import FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.records import floats, record, whole

# Numbers of bands within the target, and beyond it.
N_WITHIN, N_BEYOND = 4, 2
# Coverages to try if the user gives none.
COVERAGES = np.arange(1, 21) / 20.0
# Dividing by smaller shares or risks would overflow.
TINY = 1e-100


@record
class Bands(ShownOnOneLine):
    """Rows divided by trust, the most trusted first. Set k is all rows of the bands 0 to k.

    Attributes
    ----------
    least_trust : (H,) array
        The least trust in each band, in decreasing order; the last is 0.
    coverage : (H,) array
        The share of each set among the rows that define the bands; the last is 1.
    claimed_risk : (H,) array
        The mean of 1 - trust in each band, clipped to [1e-6, 0.5].
    target : int
        The set to certify first.
    """

    least_trust: FloatArray = floats("H")
    coverage: FloatArray = floats("H")
    claimed_risk: FloatArray = floats("H", low=TINY, high=0.5)
    target: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the bands, if anything."""
        if len(self) > N_WITHIN + N_BEYOND:
            return "has more trust bands than a queue makes"
        is_nested = (np.diff(self.least_trust) < 0.0).all() and (self.share > TINY).all()
        if not is_nested or self.target >= len(self) or self.coverage[-1] != 1.0:
            return "has trust bands that are not nested, or a wrong target"
        return None

    def __len__(self) -> int:
        return len(self.coverage)

    @property
    def share(self) -> FloatArray:
        """The share of each band."""
        return np.diff(self.coverage, prepend=0.0)

    def of(self, trust: FloatArray) -> IntArray:
        """The band of each row."""
        return np.searchsorted(-self.least_trust[:-1], -trust, side="left")

    def weights(self, k: int) -> FloatArray:
        """The share of each band in set k; 0 beyond it."""
        inside: FloatArray = np.where(np.arange(len(self)) <= k, self.share, 0.0)
        return np.asarray(inside / inside.sum())


def bands_of(trust: FloatArray, coverage: float | None, max_risk: float) -> Bands:
    """Divide rows into bands by their trust alone.

    Within the target, edges follow Dalenius and Hodges (1959): equal steps of the cumulative square root of the claimed
    risk, so that riskier bands are smaller.
    """
    ordered = np.sort(trust)[::-1]
    risk = np.clip(1.0 - ordered, 1e-6, 0.5)
    goal = coverage if coverage is not None else _best_coverage(risk, max_risk)
    n_target = _with_ties(ordered, max(1, int(np.ceil(goal * len(ordered) - 1e-9))))
    steps = np.cumsum(np.sqrt(risk[:n_target]))
    within = np.searchsorted(steps, steps[-1] * np.arange(1, N_WITHIN) / N_WITHIN) + 1
    beyond = n_target + (len(ordered) - n_target) * np.arange(1, N_BEYOND + 1) // N_BEYOND
    ends = np.unique([_with_ties(ordered, int(n)) for n in (*within, n_target, *beyond)])
    starts = np.concatenate([[0], ends[:-1]])
    least = ordered[ends - 1]
    least[-1] = 0.0
    claimed = np.add.reduceat(risk, starts) / (ends - starts)
    return Bands(least, ends / len(ordered), claimed, int(np.searchsorted(ends, n_target)))


def _with_ties(ordered: FloatArray, n: int) -> int:
    """How many rows have at least the trust of the n-th."""
    return int(np.searchsorted(-ordered, -ordered[n - 1], side="right"))


def _best_coverage(risk: FloatArray, max_risk: float) -> float:
    """The coverage that needs the fewest labels for its size by the claimed risk; the smallest if none qualifies."""
    ends = np.maximum(1, np.ceil(COVERAGES * len(risk)).astype(np.int64))
    mean = np.cumsum(risk)[ends - 1] / ends
    growth = rel_entr(mean, max_risk) + rel_entr(1.0 - mean, 1.0 - max_risk)
    gain = np.where(mean < max_risk, COVERAGES * growth, 0.0)
    return float(COVERAGES[gain.argmax()])
