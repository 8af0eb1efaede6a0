"""Choose thresholds from the counts of one or more sites."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.estimators.selective.groups import HARM_SHARE, NoHarm, large_enough
from sepc.estimators.selective.thresholds import Control, choose_from_counts
from sepc.lifecycle.sites._site_counts import SiteCounts
from sepc.statistics.rates import fewer_p_value, rows_needed


def controls_from(
    counts: Sequence[SiteCounts], max_risk: float | Mapping[Any, float], confidence: float
) -> tuple[dict[Any, Control], dict[Any, NoHarm], float]:
    """A control for all rows (key None), for each label or for each group, and the confidence of each test."""
    level = 1.0 - confidence
    if isinstance(max_risk, Mapping):
        each = level / len(max_risk)
        controls = {label: _control(counts, risk, 1.0 - each, label=label) for label, risk in max_risk.items()}
        return controls, {}, 1.0 - each
    if not counts[0].by:
        return {None: _control(counts, max_risk, confidence)}, {}, confidence
    return _group_controls(counts, max_risk, level)


def sizes_of_groups(counts: Sequence[SiteCounts]) -> dict[Any, int]:
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


def _group_controls(
    counts: Sequence[SiteCounts], max_risk: float, level: float
) -> tuple[dict[Any, Control], dict[Any, NoHarm], float]:
    sizes = sizes_of_groups(counts)
    large, each = large_enough(list(sizes.values()), max_risk, (1.0 - HARM_SHARE) * level, one_threshold=False)
    keys = list(sizes)[:large]
    found = {key: _control(counts, max_risk, 1.0 - each, group=key) for key in keys}
    n_tests = max(large, 1) * len(counts[0].thresholds)
    harm = {key: _no_harm(counts, key, control, n_tests, HARM_SHARE * level) for key, control in found.items()}
    return found, harm, 1.0 - each


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
    n_errors = int(control.loss)
    n_wrong = max(wrong - n_errors, 0)
    n_right = max(right + hidden - (control.n_accepted - n_errors), 0)
    p = min(1.0, n_tests * fewer_p_value(n_errors, control.n_accepted, n_wrong, n_wrong + n_right))
    return NoHarm(control.n_accepted, n_errors, n_wrong + n_right, n_wrong, p, p <= level)


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
