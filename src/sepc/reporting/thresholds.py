"""How many rows other thresholds of trust would accept, how many of them are right, and how many go to a person."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.statistics.binomial import rate_interval

# Thresholds of the short table, beside the one in use.
SHORT = (0.0, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class Thresholds:
    """Rows that reach each threshold of trust, from the lowest threshold to the highest.

    Attributes
    ----------
    at : tuple of float
        The thresholds.
    n_accepted : tuple of int
        Rows with at least this trust; the others go to a person.
    n_right : tuple of int, or None
        How many of the accepted rows have the right label; None without true labels.
    low, high : tuple of float, or None
        95 % interval of the share that is right, by Clopper and Pearson; 0 to 1 where nothing is accepted.
    now : int
        The position of the threshold that accepts what is accepted now, or comes nearest to that.
    is_exact : bool
        Whether this threshold accepts exactly the rows accepted now; False if acceptance depends on more than trust.
    n_rows : int
    """

    at: tuple[float, ...]
    n_accepted: tuple[int, ...]
    n_right: tuple[int, ...] | None
    low: tuple[float, ...] | None
    high: tuple[float, ...] | None
    now: int
    is_exact: bool
    n_rows: int

    def short(self) -> list[int]:
        """Positions of the thresholds that a short table shows."""
        return sorted({int(np.argmin(np.abs(np.subtract(self.at, value)))) for value in SHORT} | {self.now})


def thresholds_of(trust: FloatArray, accepted: BoolArray, right: BoolArray | None, least: float) -> Thresholds:
    """Count the rows that reach each threshold."""
    is_exact = bool(((trust >= least) == accepted).all())
    if not is_exact:
        least = float(trust[accepted].min(initial=1.0))
    # Steps of a hundredth, and of a thousandth above 0.9, where most thresholds are.
    steps = np.concatenate([np.arange(90) / 100.0, 0.9 + np.arange(101) / 1000.0]).round(3)
    at = np.unique(np.append(steps, least))
    order = np.sort(trust)
    n_accepted = len(trust) - np.searchsorted(order, at)
    n_right = low = high = None
    if right is not None:
        hits = int(right.sum()) - np.searchsorted(np.sort(trust[right]), at)
        ends = rate_interval(hits, np.maximum(n_accepted, 1))
        low, high = (
            tuple(np.where(n_accepted > 0, end, empty).tolist()) for end, empty in zip(ends, (0.0, 1.0), strict=True)
        )
        n_right = tuple(hits.tolist())
    now = int(np.searchsorted(at, least))
    is_exact = is_exact or bool(((trust >= at[now]) == accepted).all())
    return Thresholds(tuple(at.tolist()), tuple(n_accepted.tolist()), n_right, low, high, now, is_exact, len(trust))
