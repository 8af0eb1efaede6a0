"""Which features shifted: means of the rows now, compared with those before."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtr

from sepc._typing import BoolArray, FloatArray
from sepc.cards import ShownOnOneLine
from sepc.lifecycle.monitoring.tally import Tally
from sepc.records import number, record, text
from sepc.wording import name_of

# A feature is named if its mean differs with this confidence, corrected for all features; at most this many are.
CONFIDENCE = 0.99
NAMED_MOST = 3
# Means of fewer rows than this are not compared.
FEWEST_ROWS = 5


@record
class FeatureShift(ShownOnOneLine):
    """A feature that shifted.

    Attributes
    ----------
    name : str
        The feature.
    shift : float
        By how many standard deviations of the reference its mean shifted.
    """

    name: str = text()
    shift: float = number()

    def __str__(self) -> str:
        return f"{name_of(self.name)} ({self.shift:+.2f} deviations)"


def shifted_features(
    before: Tally, now: Tally, regions: BoolArray, names: tuple[str, ...], first: int | None = None
) -> tuple[FeatureShift, ...]:
    """The features whose means in these regions differ by Welch's test, the largest shift first.

    The feature `first`, if given, is known to have shifted and comes before all others.
    """
    n_old, old, old_variance = _moments(before, regions)
    n_new, new, new_variance = _moments(now, regions)
    if min(n_old, n_new) < FEWEST_ROWS:
        return () if first is None else (FeatureShift(names[first], float(new[first] - old[first])),)
    # Avoids division by zero for features that are constant in both.
    spread = np.maximum(old_variance / n_old + new_variance / n_new, 1e-12)
    freedom = spread**2 / _sum_of_shares(old_variance / n_old, n_old, new_variance / n_new, n_new)
    p_values = 2.0 * stdtr(freedom, -np.abs(new - old) / np.sqrt(spread))
    order = np.argsort(-np.abs(new - old), kind="stable")
    named = [j for j in order if p_values[j] * len(names) <= 1.0 - CONFIDENCE and j != first]
    named = named if first is None else [first, *named]
    return tuple(FeatureShift(names[j], float(new[j] - old[j])) for j in named[:NAMED_MOST])


def _moments(tally: Tally, regions: BoolArray) -> tuple[int, FloatArray, FloatArray]:
    n = int(tally.rows[regions].sum())
    mean = tally.sums[regions].sum(axis=0) / max(n, 1)
    squared = tally.squares[regions].sum(axis=0) / max(n, 1)
    return n, mean, np.maximum(squared - mean**2, 0.0) * n / max(n - 1, 1)


def _sum_of_shares(old: FloatArray, n_old: int, new: FloatArray, n_new: int) -> FloatArray:
    return np.maximum(old**2 / (n_old - 1) + new**2 / (n_new - 1), 1e-30)
