"""Promises from the counts of many sites, for all together and for each, also as they report one after another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sepc._typing import IntArray
from sepc.cards import Card, ShownAsCard
from sepc.errors import FormatError
from sepc.estimators.selective.estimator import SelectiveClassifier, check_promise, risks_of_labels
from sepc.estimators.selective.promise import Promise
from sepc.estimators.unwrapping import makes_promise, unwrap
from sepc.io.codec import Reader
from sepc.lifecycle.rows import file_digest
from sepc.lifecycle.sites._controls import promise_from
from sepc.lifecycle.sites._site_counts import SiteCounts, accepted_at, difference_p_value
from sepc.lifecycle.state_files import JSONDocument
from sepc.wording import AS_SET, MOST_NAMES, check_number, counted, listed, p_in_short, percent, shown


@dataclass(frozen=True)
class Ledger(JSONDocument):
    """The counts that promises were made from so far, in the order in which they came.

    The k-th counts that a site reports, and the k-th set of sites that is certified together, get the share
    1 / (k (k + 1)) of the significance level. These shares add up to at most 1, however many follow.

    Attributes
    ----------
    sites : tuple of str
        Digests of the counts of single sites.
    sets : tuple of str
        Digests of the sets of counts that were certified together.
    """

    _form, _what, _indent = "sepc-site-ledger-1", "a ledger of sites", 1

    sites: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()

    def with_counts(self, counts: Sequence[SiteCounts]) -> Self:
        """The ledger with these counts added, those that are new, and with the set of them."""
        new = (one.digest for one in counts)
        sites = tuple(dict.fromkeys((*self.sites, *new)))
        return replace(self, sites=sites, sets=tuple(dict.fromkeys((*self.sets, set_digest(counts)))))

    def share_of_site(self, counts: SiteCounts) -> float:
        """The share of the level for the promise of one site."""
        return _share(self.sites.index(counts.digest) + 1)

    def share_of_set(self, counts: Sequence[SiteCounts]) -> float:
        """The share of the level for the promise of these sites together."""
        return _share(self.sets.index(set_digest(counts)) + 1)

    def _content(self) -> dict[str, Any]:
        return {"sites": list(self.sites), "sets": list(self.sets)}

    @classmethod
    def _from(cls, reader: Reader) -> Self:
        sites, sets = reader.texts("sites"), reader.texts("sets")
        if any(len(set(one)) < len(one) for one in (sites, sets)):
            raise FormatError("a digest occurs twice.")
        return cls(sites, sets)


def set_digest(counts: Sequence[SiteCounts]) -> str:
    """A digest of a set of counts, in whatever order they are given."""
    return sha256("\n".join(sorted(one.digest for one in counts)).encode()).hexdigest()


def _share(place: int) -> float:
    return 1.0 / (place * (place + 1))


# Sites whose error rates differ with a p-value below this are reported as different.
DIFFERENT = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class SiteCertificate(ShownAsCard):
    """What the counts of many sites certify.

    Attributes
    ----------
    together : Promise
        For rows from the sites in the mix in which they were counted.
    by_site : dict of str to Promise
        For rows from each site. All of these hold simultaneously with the confidence asked for.
    confidence : float
        The confidence asked for.
    counts : sequence of SiteCounts
        What it was made from.
    ledger : Ledger or None
        The ledger with these sites added, if one was given.
    """

    together: Promise
    by_site: Mapping[str, Promise]
    confidence: float
    counts: Sequence[SiteCounts]
    ledger: Ledger | None
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
    def _accepted(self) -> IntArray:
        """The right and wrong rows of each site at the strictest threshold in use, or at the most lenient of all."""
        thresholds = [one.threshold for one in self.together.controls.values() if np.isfinite(one.threshold)]
        return accepted_at(self.counts, max(thresholds, default=0.0))

    @property
    def without_promise(self) -> list[str]:
        """The sites that cannot be promised anything."""
        return [site for site, promise in self.by_site.items() if not promise.covered]

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
        return SelectiveClassifier.of_promise(self._fitted, promise)

    def summary(self) -> str:
        """The promises in words, and how the sites differ."""
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
        rows = tuple((site, _threshold(promise), percent(promise.coverage)) for site, promise in self.by_site.items())
        facts = (("together", f"trust >= {_threshold(self.together)}, {percent(self.together.coverage)} of rows"),)
        return Card("SiteCertificate", facts, ("site", "trust >=", "accepted"), rows)


def _in_short(promise: Promise) -> str:
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
            tried = f"{control.tried_loss:,.0f} of the {control.n_tried:,} most trusted rows count as wrong"
            parts.append(f"{whom}no promise, because {tried}")
    return "; ".join(parts) or "no group is large enough for a promise"


def _number(threshold: float) -> str:
    return f"{threshold:.3f}" if np.isfinite(threshold) else "none"


def _threshold(promise: Promise) -> str:
    if isinstance(promise.threshold, dict):
        return listed([f"{key}: {_number(one)}" for key, one in promise.threshold.items()], MOST_NAMES)
    return _number(promise.threshold)


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def certify(
    model: Any,
    counts: Sequence[SiteCounts],
    *,
    max_risk: float | Mapping[Any, float] = 0.02,
    confidence: float = 0.95,
    ledger: Ledger | None = None,
    digest: str | None = None,
) -> SiteCertificate:
    """Promise an error rate among accepted rows, for many sites together and for each, from their counts alone.

    Parameters
    ----------
    model : fitted classifier
        The one that the sites counted with.
    counts : sequence of SiteCounts
        From `count_site`, one for each site.
    max_risk : float or mapping of label to float, default=0.02
        As for `SelectiveClassifier`. A mapping needs counts by label. Counts by group give a promise for each group.
    confidence : float, default=0.95
        Probability that the promise for all sites together is kept; and that the promises of the single sites are all
        kept.
    ledger : Ledger, optional
        For sites that come one after another: what was certified before. Each further site, and each further set of
        sites, gets a smaller share of the significance level. Without it, these counts must be the only ones that are
        ever certified for this purpose, and each site gets the same share.
    digest : str, optional
        The SHA-256 digest of the model file, if it was loaded from one; computed by default.

    Returns
    -------
    SiteCertificate

    Notes
    -----
    The promise for all is about rows drawn from the sites in the mix in which they were counted. It says nothing about
    a single site; for that, each has its own promise.
    """
    check_is_fitted(model)
    check_promise(max_risk, None, None, one_threshold=False)
    check_number("confidence", confidence, above=0, below=1)
    given = list(counts)
    classifier = unwrap(model).classifier
    fitted = classifier.inner if makes_promise(classifier) else model
    _check(given, max_risk, fitted, file_digest(model) if digest is None else digest)
    level = 1.0 - confidence
    if ledger is None:
        shares, share = [1.0 / len(given)] * len(given), 1.0
    else:
        ledger = ledger.with_counts(given)
        shares, share = [ledger.share_of_site(site) for site in given], ledger.share_of_set(given)
    together = promise_from(given, max_risk, 1.0 - share * level)
    each = zip(given, shares, strict=True)
    by_site = {site.site: promise_from([site], max_risk, 1.0 - part * level) for site, part in each}
    return SiteCertificate(together, by_site, confidence, given, ledger, fitted)


def _check(counts: Sequence[SiteCounts], max_risk: Any, fitted: Any, digest: str) -> None:
    """Raise if the counts do not belong together or to the model, or cannot support such a promise."""
    if not counts:
        raise ValueError("There are no counts; give those of at least one site.")
    names = [site.site for site in counts]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{shown(twice)} is given twice; each site counts once, or its rows would count double.")
    strange = [site.site for site in counts if site.model != digest]
    if strange:
        raise ValueError(f"{listed(strange)} counted with a different model; count again with this one.")
    first = counts[0]
    for site in counts:
        if not np.array_equal(site.thresholds, first.thresholds):
            raise ValueError(f"{site.site} used other thresholds than {first.site}; count both with the same version.")
        if site.by != first.by:
            raise ValueError(f"{site.site} counted other groups than {first.site}; count both by the same columns.")
    risks_of_labels(max_risk, np.asarray(fitted.classes_))
    if isinstance(max_risk, Mapping):
        lacking = [site.site for site in counts if not set(max_risk) <= set(site.labels)]
        if lacking:
            raise ValueError(f"{listed(lacking)} did not count by label, which promises by label need.")
