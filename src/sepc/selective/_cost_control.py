"""Which threshold of trust makes accepting no dearer than reviewing, and is the cheapest of those: on plain arrays.

The thresholds are tested from strict to generous as for errors. Those that pass before the first failure keep the
promise all together, so the cheapest of them may be chosen with a look at the same rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.stats import binom

from sepc._typing import FloatArray, IntArray
from sepc.selective._risk_control import n_before_failure, rows_needed, rows_to_start, sums_at


@dataclass(frozen=True)
class CostControl:
    """A threshold, and what the rows that speak for it cost.

    Attributes
    ----------
    threshold : float
        Rows with at least this trust are accepted; infinite if no threshold passed.
    review : float
        The cost of a review.
    n_rows, n_accepted : int
        Rows given, and those the threshold accepts.
    cost : float
        Mean cost of a row, accepted or reviewed.
    n_needed : int
        The fewest accepted rows, none with a cost, from which the promise can be made.
    n_tried : int
        Rows accepted at the threshold tested first; if none accepts enough, at the last one.
    tried_cost : float
        The mean cost of these.
    """

    threshold: float
    review: float
    n_rows: int
    n_accepted: int
    cost: float
    n_needed: int
    n_tried: int
    tried_cost: float


def choose_cheapest(
    trust: FloatArray, cost: FloatArray, grid: FloatArray, possible: FloatArray, review: float, confidence: float
) -> CostControl:
    """The cheapest threshold of `grid` among those that fixed-sequence testing lets pass.

    Parameters
    ----------
    trust, cost : (n,) arrays
        Of the calibration rows: independent draws, none of which shaped `grid` or the labels.
    grid : array of float
        In any order.
    possible : (V,) array
        Every cost that a label may have; the largest is above `review`.
    review, confidence : float
        The mean cost of accepted rows that is exceeded with probability at most ``1 - confidence``.
    """
    thresholds, values = np.unique(grid)[::-1], np.unique(possible)
    accepted, counts = sums_at(thresholds, trust, (cost[:, None] == values).astype(np.int64))
    share = review / float(values[-1])
    start = int(np.searchsorted(accepted, rows_to_start(len(trust), share, confidence)))
    n_passed = n_before_failure(cost_p_value(counts[start:], values, review, confidence) <= 1.0 - confidence)
    paid = counts @ values
    totals = paid + review * (len(trust) - accepted)
    tried, found = min(start, len(thresholds) - 1), n_passed > 0
    # Of equal totals, the last accepts the most rows.
    chosen = start + n_passed - 1 - int(np.argmin(totals[start : start + n_passed][::-1])) if found else tried
    return CostControl(
        threshold=float(thresholds[chosen]) if found else math.inf,
        review=review,
        n_rows=len(trust),
        n_accepted=int(accepted[chosen]) if found else 0,
        cost=float(totals[chosen] / len(trust)) if found else review,
        n_needed=rows_needed(share, confidence),
        n_tried=int(accepted[tried]),
        tried_cost=float(paid[tried] / max(accepted[tried], 1)),
    )


def cost_p_value(counts: IntArray, values: FloatArray, review: float, confidence: float) -> FloatArray:
    """A p-value of "the mean cost is above `review`", from how often each of the costs `values` was seen, (m, V).

    If there is only one cost beside 0, the exact binomial one. Else one over the winnings of a gambler, who stakes the
    same on every row's cost being below `review`: if it is not so, the mean of the winnings is at most 1, so they reach
    1 / p with probability at most p (Waudby-Smith and Ramdas, 2024). How much to stake depends on the number of rows
    alone, and is best where costs are about as uneven as they can be.
    """
    n, share, scaled = counts.sum(axis=1), review / values[-1], values / values[-1]
    if set(scaled) <= {0.0, 1.0}:
        return np.asarray(binom.cdf(counts[:, -1], n, share), dtype=np.float64)
    stake = np.sqrt(-2.0 * math.log(1.0 - confidence) / (np.maximum(n, 1) * share * (1.0 - share)))
    stake = np.minimum(stake, 1.0 / (1.0 - share))[:, None]
    factors = np.maximum(1.0 + stake * (share - scaled), np.finfo(np.float64).tiny)
    return np.asarray(np.exp(np.minimum(-(counts * np.log(factors)).sum(axis=1), 0.0)))
