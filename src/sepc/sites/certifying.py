"""Make promises from the counts of many sites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sepc.estimators.selective.estimator import SelectiveClassifier
from sepc.estimators.selective.group_control import Groups
from sepc.estimators.selective.validation import check_promise, risks_of_labels
from sepc.estimators.unwrapping import unwrap
from sepc.model_files import to_bytes
from sepc.sites.certificate import SiteCertificate, SitePromise
from sepc.sites.controls import controls_from, counts_together, sizes_of_groups
from sepc.sites.ledger import Ledger
from sepc.sites.site_counts import SiteCounts
from sepc.wording import check_number, listed, shown


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
    fitted = _without_promise(model)
    _check(given, max_risk, fitted, sha256(to_bytes(model)).hexdigest() if digest is None else digest)
    level = 1.0 - confidence
    if ledger is None:
        shares, share = [1.0 / len(given)] * len(given), 1.0
    else:
        ledger = ledger.with_counts(given)
        shares, share = [ledger.share_of_site(site) for site in given], ledger.share_of_set(given)
    together = _promise(given, max_risk, 1.0 - share * level)
    by_site = {
        site.site: _promise([site], max_risk, 1.0 - part * level) for site, part in zip(given, shares, strict=True)
    }
    return SiteCertificate(together, by_site, confidence, given, ledger, max_risk, fitted)


def _without_promise(model: Any) -> Any:
    """The classifier that gives trust, without a promise that it may have."""
    classifier = unwrap(model).classifier
    return classifier.estimator_ if isinstance(classifier, SelectiveClassifier) else model


def _promise(counts: Sequence[SiteCounts], max_risk: float | Mapping[Any, float], confidence: float) -> SitePromise:
    controls, no_harm, each = controls_from(counts, max_risk, confidence)
    groups = None
    if counts[0].by and not isinstance(max_risk, Mapping):
        small = {key: n for key, n in sizes_of_groups(counts).items() if key not in controls}
        groups = Groups(counts[0].by, small, no_harm, {}, one_threshold=False)
    n_rows = counts_together(counts).n_rows
    return SitePromise(tuple(site.site for site in counts), controls, groups, confidence, each, n_rows)


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
