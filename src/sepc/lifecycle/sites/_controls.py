"""Promises from the counts of one or more sites, and how far false counts could move them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.estimators.selective.groups import HARM_SHARE, Groups, NoHarm, large_enough
from sepc.estimators.selective.promise import Promise
from sepc.estimators.selective.thresholds import Control, choose_from_counts
from sepc.lifecycle.sites._site_counts import SiteCounts
from sepc.statistics.rates import rows_needed


def promise_from(counts: Sequence[SiteCounts], max_risk: float | Mapping[Any, float], confidence: float) -> Promise:
    """The promise for the rows of these sites: for all of them, for each label, or for each group."""
    level, each = 1.0 - confidence, 1.0 - confidence
    groups = None
    if isinstance(max_risk, Mapping):
        each = level / len(max_risk)
        controls = {label: _control(counts, risk, 1.0 - each, label=label) for label, risk in max_risk.items()}
    elif not counts[0].by:
        controls = {None: _control(counts, max_risk, confidence)}
    else:
        sizes = _sizes_of_groups(counts)
        large, each = large_enough(list(sizes.values()), max_risk, (1.0 - HARM_SHARE) * level, one_threshold=False)
        controls = {key: _control(counts, max_risk, 1.0 - each, group=key) for key in list(sizes)[:large]}
        n_tests = max(large, 1) * len(counts[0].thresholds)
        harm = {key: _no_harm(counts, key, own, n_tests, HARM_SHARE * level) for key, own in controls.items()}
        small = {key: n for key, n in sizes.items() if key not in controls}
        groups = Groups(counts[0].by, small, harm, {}, one_threshold=False)
    n_rows, n_accepted = counts_together(counts).n_rows, sum(control.n_accepted for control in controls.values())
    risks = dict(max_risk) if isinstance(max_risk, Mapping) else {None: max_risk}
    return Promise(
        risks={label: float(risk) for label, risk in risks.items()},
        confidence=confidence,
        confidence_each=1.0 - each,
        controls=controls,
        n_rows=n_rows,
        coverage=min(1.0, n_accepted / max(n_rows, 1)),
        sites=tuple(site.site for site in counts),
        n_erased=0,
        groups=groups,
    )


def _sizes_of_groups(counts: Sequence[SiteCounts]) -> dict[Any, int]:
    """How many rows each group has at least, the largest first."""
    groups = dict.fromkeys(group for site in counts for group in site.groups)
    sizes = {
        group: sum(
            int(cell.right[-1] + cell.wrong[-1]) for site in counts for cell in site.cells if cell.group == group
        )
        for group in groups
    }
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], str(item[0]))))


@dataclass(frozen=True, eq=False)
class Together:
    """Rows of several sites at each threshold, with whatever rounding hid counted as wrong."""

    accepted: IntArray
    wrong: IntArray
    n_hidden: int

    @property
    def accepted_and_wrong(self) -> tuple[IntArray, IntArray]:
        """Both counts, as a pair."""
        return self.accepted, self.wrong

    @property
    def n_rows(self) -> int:
        """All rows, with those that rounding may have hidden."""
        return int(self.accepted[-1])


def counts_together(counts: Sequence[SiteCounts], label: Any = None, group: Any = None) -> Together:
    """The rows of all sites, or only those of a label or a group."""
    right = wrong = np.zeros(len(counts[0].thresholds), dtype=np.int64)
    n_hidden = 0
    for site in counts:
        cells = site.cells_of(label, group)
        for cell in cells:
            right, wrong = right + cell.right, wrong + cell.wrong
        # A site that does not name the group may still have a few of its rows.
        n_hidden += (site.smallest - 1) * (len(cells) or max(len(site.labels), 1))
    return Together(right + wrong + n_hidden, wrong + n_hidden, n_hidden)


def _control(
    counts: Sequence[SiteCounts], max_risk: float, confidence: float, label: Any = None, group: Any = None
) -> Control:
    """The control for the rows of a label, of a group, or for all."""
    found = counts_together(counts, label, group)
    return choose_from_counts(
        counts[0].thresholds, [found.accepted_and_wrong], [found.n_rows], max_risk, confidence, found.n_hidden
    )[0]


def _no_harm(counts: Sequence[SiteCounts], group: Any, control: Control, n_tests: int, level: float) -> NoHarm:
    """Whether rejected rows are wrong more often, with whatever rounding hid counted against it."""
    right = wrong = hidden = 0
    for site in counts:
        for cell in site.cells_of(group=group):
            right, wrong = right + int(cell.right[-1]), wrong + int(cell.wrong[-1])
            hidden += site.smallest - 1
    n_wrong = max(wrong - int(control.loss), 0)
    n_right = max(right + hidden - (control.n_accepted - int(control.loss)), 0)
    return NoHarm.tested(control, n_wrong + n_right, n_wrong, n_tests, level)


@dataclass(frozen=True)
class FalseCounts:
    """What one site could do to the promise for all."""

    site: str
    without: float
    if_all_right: float
    if_all_wrong: float
    worst_risk: float
    n_invented: int


def false_counts(counts: Sequence[SiteCounts], control: Control, confidence: float) -> list[FalseCounts]:
    """For each site, how far its counts alone could move the promise `control`."""
    thresholds, max_risk = counts[0].thresholds, control.limit
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
