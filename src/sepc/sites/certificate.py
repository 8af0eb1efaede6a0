"""What the counts of many sites certify: a promise for all of them together, and one for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.from_counts import selective_from
from sepc.estimators.selective.group_control import Groups
from sepc.estimators.selective.risk_control import Control
from sepc.sites.false_counts import FalseCounts, false_counts
from sepc.sites.ledger import Ledger
from sepc.sites.site_counts import SiteCounts
from sepc.sites.site_differences import accepted_at, difference_p_value
from sepc.wording import AS_SET, MOST_NAMES, counted, listed, p_in_short, percent, shown

# Sites whose error rates differ with a p-value below this are reported as different.
DIFFERENT = 0.05


@dataclass(frozen=True, eq=False)
class SitePromise:
    """A promise from counts.

    Attributes
    ----------
    sites : tuple of str
        Where the rows come from: one site, or all of them.
    controls : dict of label or group to Control
        The key None stands for all rows.
    groups : Groups or None
    confidence : float
        The confidence of the promise by itself. Promises for single sites have a larger one, so that they hold
        simultaneously.
    confidence_each : float
        The confidence of the test of each control.
    n_rows : int
        Rows counted.
    """

    sites: tuple[str, ...]
    controls: Mapping[Any, Control]
    groups: Groups | None
    confidence: float
    confidence_each: float
    n_rows: int

    @property
    def is_made(self) -> bool:
        """Whether anything is accepted."""
        return any(np.isfinite(control.threshold) for control in self.controls.values())

    @property
    def threshold(self) -> float | dict[Any, float]:
        """The threshold for all rows, or those of labels or groups; infinite where nothing is promised."""
        thresholds = {key: control.threshold for key, control in self.controls.items()}
        return thresholds[None] if list(thresholds) == [None] else thresholds


@dataclass(frozen=True, eq=False, repr=False)
class SiteCertificate(ShownAsCard):
    """What the counts of many sites certify.

    Attributes
    ----------
    together : SitePromise
        For rows from the sites in the mix in which they were counted.
    by_site : dict of str to SitePromise
        For rows from each site. All of these hold simultaneously with the confidence asked for.
    confidence : float
        The confidence asked for.
    counts : sequence of SiteCounts
        What it was made from.
    ledger : Ledger or None
        The ledger with these sites added, if one was given.
    """

    together: SitePromise
    by_site: Mapping[str, SitePromise]
    confidence: float
    counts: Sequence[SiteCounts]
    ledger: Ledger | None
    _max_risk: float | Mapping[Any, float] = field(repr=False)
    _fitted: Any = field(repr=False)

    @cached_property
    def p_value(self) -> float:
        """The p-value of "all sites have the same error rate among accepted rows"."""
        return difference_p_value(self._accepted)

    @property
    def highest(self) -> str:
        """The site with the highest reported error rate among accepted rows; empty if none is accepted."""
        rates = self._accepted[:, 1] / np.maximum(self._accepted.sum(axis=1), 1)
        return self.counts[int(rates.argmax())].site if self._accepted.any() else ""

    @cached_property
    def false_counts(self) -> Sequence[FalseCounts]:
        """How far each site could move the promise for all by false counts; empty with promises by label or group."""
        promise = self.together
        is_plain = list(promise.controls) == [None]
        return false_counts(self.counts, promise.controls[None], promise.confidence) if is_plain else ()

    @cached_property
    def _accepted(self) -> IntArray:
        """The right and wrong rows of each site at the strictest threshold in use, or at the most lenient of all."""
        thresholds = [one.threshold for one in self.together.controls.values() if np.isfinite(one.threshold)]
        return accepted_at(self.counts, max(thresholds, default=0.0))

    @property
    def without_promise(self) -> list[str]:
        """The sites that cannot be promised anything."""
        return [site for site, promise in self.by_site.items() if not promise.is_made]

    def model(self, site: str | None = None) -> SelectiveClassifier:
        """The model with the promise for all sites together, or with that for one site.

        Parameters
        ----------
        site : str, optional
            One of the sites.
        """
        if site is not None and site not in self.by_site:
            raise ValueError(f"There are no counts of {shown(site)}; there are those of {listed(self.by_site)}.")
        promise = self.together if site is None else self.by_site[site]
        return selective_from(
            self._fitted,
            promise.controls,
            promise.groups,
            max_risk=self._max_risk,
            confidence=promise.confidence,
            confidence_each=promise.confidence_each,
            n_rows=promise.n_rows,
            sites=promise.sites,
        )

    def summary(self) -> str:
        """The promises in words, how the sites differ, and how far false counts could move the result."""
        confidence = percent(self.confidence, AS_SET)
        lines = [f"All {counted(len(self.by_site), 'site')} together:", *_indented(self.model().summary()), ""]
        lines.append(f"Each site by itself; all of these hold simultaneously with {confidence} confidence:")
        for site, promise in self.by_site.items():
            lines += _indented(f"{site}: {_in_short(promise)}")
        if self.without_promise:
            lines.append(f"No promise can be made for {listed(self.without_promise, MOST_NAMES)}.")
        lines += ["", self._about_differences()]
        smallest = max(site.smallest for site in self.counts)
        if smallest > 1:
            lines.append(f"Counts were rounded down to multiples of {smallest}; what this hid counts as wrong.")
        lines += ["", *_false_count_lines(self.false_counts)] if self.false_counts else []
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _about_differences(self) -> str:
        if len(self.by_site) < 2:
            return "With one site, there is nothing to compare."
        p = f"p {p_in_short(self.p_value, '= ')}"
        if self.p_value < DIFFERENT:
            return (
                f"Error rates among accepted rows differ between sites ({p}), with the highest at {self.highest}: at "
                "single sites, more than the promised share may be wrong."
            )
        return f"No difference between the error rates of sites was found ({p})."

    def _card(self) -> Card:
        rows = tuple((site, _threshold(promise), _coverage(promise)) for site, promise in self.by_site.items())
        facts = (("together", f"trust >= {_threshold(self.together)}, {_coverage(self.together)} of rows"),)
        return Card("SiteCertificate", facts, ("site", "trust >=", "accepted"), rows)


def _in_short(promise: SitePromise) -> str:
    """The promise of a site, or why there is none, on one line."""
    parts = []
    for key, control in promise.controls.items():
        whom = "" if key is None else f"{shown(key) if promise.groups is None else promise.groups.name(key)}: "
        if control.n_accepted:
            accepted = percent(control.n_accepted / control.n_rows)
            parts.append(f"{whom}accepts trust >= {_number(control.threshold)}, {accepted} of {control.n_rows:,} rows")
        elif control.n_rows < control.n_needed:
            parts.append(f"{whom}no promise, with {control.n_rows:,} rows instead of {control.n_needed:,} or more")
        else:
            tried = f"{control.n_tried_errors:,} of the {control.n_tried:,} most trusted rows count as wrong"
            parts.append(f"{whom}no promise, because {tried}")
    return "; ".join(parts) or "no group is large enough for a promise"


def _false_count_lines(found: Sequence[FalseCounts]) -> list[str]:
    """A table of how far each site could move the threshold."""
    head = ("site", "without it", "none wrong", "all wrong", "true error rate if all wrong")
    rows = [
        (one.site, _number(one.without), _number(one.if_all_right), _number(one.if_all_wrong), percent(one.worst_risk))
        for one in found
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    lines = [
        "How far false counts of one site could move the threshold for all:",
        *(f"  {one.rstrip()}" for one in lines),
    ]
    if found[0].n_invented:
        n = f"{found[0].n_invented:,} invented right rows"
        lines.append(f"A site that invents rows can do more: {n} would make the promise accept every row.")
    return lines


def _number(threshold: float) -> str:
    return f"{threshold:.3f}" if np.isfinite(threshold) else "none"


def _threshold(promise: SitePromise) -> str:
    if isinstance(promise.threshold, dict):
        return listed([f"{key}: {_number(one)}" for key, one in promise.threshold.items()], MOST_NAMES)
    return _number(promise.threshold)


def _coverage(promise: SitePromise) -> str:
    accepted = sum(control.n_accepted for control in promise.controls.values())
    return percent(min(1.0, accepted / max(promise.n_rows, 1)))


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]
