"""How far one site with false counts could move the promise for all sites."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from sepc._typing import FloatArray
from sepc.estimators.selective.risk_control import Control, choose_from_counts
from sepc.sites.controls import Together, counts_together
from sepc.sites.site_counts import SiteCounts
from sepc.statistics.binomial import rows_needed


@dataclass(frozen=True)
class FalseCounts:
    """What one site could do to the promise for all.

    Attributes
    ----------
    site : str
    without : float
        The threshold without this site; infinite if there is none.
    if_all_right : float
        The threshold if the site reported all of its wrong rows as right.
    if_all_wrong : float
        The threshold if it reported all of its right rows as wrong.
    worst_risk : float
        The error rate among the accepted calibration rows if all of this site's rows were in fact wrong.
    n_invented : int
        How many invented rows, all of them right, would make the promise accept every row.
    """

    site: str
    without: float
    if_all_right: float
    if_all_wrong: float
    worst_risk: float
    n_invented: int


def false_counts(counts: Sequence[SiteCounts], control: Control, confidence: float) -> list[FalseCounts]:
    """For each site, how far its counts alone could move the promise `control`."""
    thresholds, max_risk = counts[0].thresholds, control.max_risk
    together = counts_together(counts)
    accepted, wrong = together.accepted_and_wrong
    chosen = int((thresholds > control.threshold).sum()) if control.n_accepted else None
    n_invented = _n_invented(thresholds, together, max_risk, confidence)
    found = []
    for site in counts:
        own = counts_together([site])
        n_assumed = together.n_hidden - own.n_hidden
        others_wrong = wrong - own.wrong
        without, if_all_right, if_all_wrong = (
            choose_from_counts(thresholds, [pair], [int(pair[0][-1])], max_risk, confidence, n_assumed)[0].threshold
            for pair in (
                (accepted - own.accepted, others_wrong),
                (accepted, others_wrong),
                (accepted, others_wrong + own.accepted),
            )
        )
        worst = 0.0 if chosen is None else float((others_wrong + own.accepted)[chosen] / accepted[chosen])
        found.append(FalseCounts(site.site, without, if_all_right, if_all_wrong, worst, n_invented))
    return found


def _n_invented(thresholds: FloatArray, together: Together, max_risk: float, confidence: float) -> int:
    """The fewest invented right rows, all with the highest trust, that make every row accepted."""
    accepted, wrong = together.accepted_and_wrong

    def accepts_all(n: int) -> bool:
        pair = (accepted + n, wrong)
        rows = [together.n_rows + n]
        found = choose_from_counts(thresholds, [pair], rows, max_risk, confidence, together.n_hidden)
        return found[0].threshold == float(thresholds[-1])

    needed = (rows_needed(max_risk, confidence, int(errors)) for errors in wrong)
    enough = max(max(need - int(has), 0) for need, has in zip(needed, accepted, strict=True))
    return bisect_left(range(enough), True, key=accepts_all)
