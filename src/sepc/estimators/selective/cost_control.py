"""Choose the cheapest trust threshold at which accepting costs no more than reviewing; on plain arrays.

Thresholds are tested from strict to lenient, as for errors. All that pass before the first failure keep the promise
simultaneously, so the cheapest of them may be chosen on the same rows.
"""

from __future__ import annotations

import math

import numpy as np

from sepc._typing import FloatArray
from sepc.records import number, record, whole
from sepc.statistics.betting import mean_p_value
from sepc.statistics.binomial import rows_needed
from sepc.statistics.fixed_sequence import n_before_failure, rows_to_start, sums_at


@record
class CostControl:
    """A threshold, and the costs on the calibration rows that support it.

    Attributes
    ----------
    threshold : float
        Rows with at least this trust are accepted; infinite if no threshold passed.
    review : float
        The cost of a review.
    n_rows, n_accepted : int
        Calibration rows, and those that the threshold accepts.
    cost : float
        Mean cost of a row, accepted or reviewed.
    n_needed : int
        The fewest accepted rows, all without cost, that allow the promise.
    n_tried : int
        Rows accepted at the first threshold tested; if no threshold accepts enough rows, at the last one.
    tried_cost : float
        The mean cost of these rows.
    """

    threshold: float = number(0.0, or_infinite=True)
    review: float = number(0.0)
    n_rows: int = whole(below=2**63)
    n_accepted: int = whole(below=2**63)
    cost: float = number(0.0)
    n_needed: int = whole(below=2**63)
    n_tried: int = whole(below=2**63)
    tried_cost: float = number(0.0)

    def flaw(self) -> str | None:
        """What is wrong with the counts, if anything."""
        if max(self.n_accepted, self.n_tried) > self.n_rows:
            return "counts more errors than accepted rows, or more accepted rows than rows"
        return "has a threshold that accepts nothing" if math.isfinite(self.threshold) and not self.n_accepted else None


def choose_cheapest(
    trust: FloatArray,
    cost: FloatArray,
    grid: FloatArray,
    possible: FloatArray,
    review: float,
    confidence: float,
    n_assumed: int = 0,
) -> CostControl:
    """The cheapest threshold of `grid` that passes fixed-sequence testing.

    Parameters
    ----------
    trust, cost : (n,) arrays
        Of the calibration rows: independent draws that influenced neither `grid` nor the classifier.
    grid : array of float
        In any order.
    possible : (V,) array
        All costs that a label may have; the largest is above `review`.
    review, confidence : float
        The mean cost of accepted rows exceeds `review` with probability at most ``1 - confidence``.
    n_assumed : int, default=0
        Further rows, which are not known and count as accepted at every threshold, at the largest cost.
    """
    thresholds, values = np.unique(grid)[::-1], np.unique(possible)
    accepted, counts = sums_at(thresholds, trust, (cost[:, None] == values).astype(np.int64))
    accepted, n_rows = accepted + n_assumed, len(trust) + n_assumed
    counts[:, -1] += n_assumed
    share = review / float(values[-1])
    start = int(np.searchsorted(accepted, rows_to_start(n_rows, share, confidence, n_assumed)))
    n_passed = n_before_failure(mean_p_value(counts[start:], values, review, confidence) <= 1.0 - confidence)
    paid = counts @ values
    totals = paid + review * (n_rows - accepted)
    tried, any_passed = min(start, len(thresholds) - 1), n_passed > 0
    # If totals are equal, take the last threshold, which accepts the most rows.
    chosen = start + n_passed - 1 - int(np.argmin(totals[start : start + n_passed][::-1])) if any_passed else tried
    return CostControl(
        threshold=float(thresholds[chosen]) if any_passed else math.inf,
        review=review,
        n_rows=n_rows,
        n_accepted=int(accepted[chosen]) if any_passed else 0,
        cost=float(totals[chosen] / n_rows) if any_passed else review,
        n_needed=rows_needed(share, confidence),
        n_tried=int(accepted[tried]),
        tried_cost=float(paid[tried] / max(accepted[tried], 1)),
    )
