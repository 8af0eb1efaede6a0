"""Promises from the counts of one or more sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sepc._typing import IntArray
from sepc.estimators.selective.groups import HARM_SHARE, Groups, NoHarm, large_enough
from sepc.estimators.selective.promise import Promise
from sepc.estimators.selective.thresholds import Control, choose_from_counts
from sepc.lifecycle.sites._site_counts import SiteCounts


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
    n_rows, n_accepted = int(counts_together(counts)[0][-1]), sum(own.n_accepted for own in controls.values())
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


def counts_together(
    counts: Sequence[SiteCounts], label: Any = None, group: Any = None
) -> tuple[IntArray, IntArray, int]:
    """Accepted and wrong rows of all sites, of a label or of a group; and how many rounding hid, counted as wrong."""
    right = wrong = np.zeros(len(counts[0].thresholds), dtype=np.int64)
    n_hidden = 0
    for site in counts:
        cells = site.cells_of(label, group)
        for cell in cells:
            right, wrong = right + cell.right, wrong + cell.wrong
        # A site that does not name the group may still have a few of its rows.
        n_hidden += (site.smallest - 1) * (len(cells) or max(len(site.labels), 1))
    return right + wrong + n_hidden, wrong + n_hidden, n_hidden


def _control(
    counts: Sequence[SiteCounts], max_risk: float, confidence: float, label: Any = None, group: Any = None
) -> Control:
    """The control for the rows of a label, of a group, or for all."""
    accepted, wrong, n_hidden = counts_together(counts, label, group)
    thresholds, n_rows = counts[0].thresholds, int(accepted[-1])
    return choose_from_counts(thresholds, [(accepted, wrong)], [n_rows], max_risk, confidence, n_hidden)[0]


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
