"""Which threshold of trust makes accepting no dearer than reviewing, and is the cheapest of those: on plain arrays.

The thresholds are tested from strict to generous as for errors. Those that pass before the first failure keep the
promise all together, so the cheapest of them may be chosen with a look at the same rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray
from sepc.statistics.betting import mean_p_value
from sepc.statistics.binomial import rows_needed
from sepc.statistics.fixed_sequence import n_before_failure, rows_to_start, sums_at


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
    n_passed = n_before_failure(mean_p_value(counts[start:], values, review, confidence) <= 1.0 - confidence)
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
