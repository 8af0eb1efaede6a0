"""Certificate: the error rate that labels have proved for the most trusted rows, and the short view of a queue."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc.cards import Card, ShownAsCard
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.wording import AS_SET, counted, decimal, percent

BAND_COLUMNS = ("trust from", "share of rows", "labels", "wrong", "certified")


@dataclass(frozen=True, repr=False)
class Certificate(ShownAsCard):
    """A proved error rate: among rows of at least this trust, at most `max_risk` are wrong.

    Attributes
    ----------
    threshold : float
        Accept rows with at least this trust; infinite if nothing is certified yet.
    coverage : float
        The share of rows with at least this trust.
    max_risk, confidence : float
        The promise: at most this share of the accepted rows is wrong, with this probability.
    n_labels, n_errors : int
        Labels that were drawn to certify, and the wrong ones among them.
    n_waiting : int
        Labels that do not count yet, because labels of rows drawn before them are still missing.
    waits_for : int or None
        Number of the review that they wait for.
    """

    threshold: float
    coverage: float
    max_risk: float
    confidence: float
    n_labels: int
    n_errors: int
    n_waiting: int = 0
    waits_for: int | None = None

    @property
    def is_certified(self) -> bool:
        """Whether anything is certified."""
        return bool(np.isfinite(self.threshold))

    def _card(self) -> Card:
        share = f"{percent(self.coverage)} of rows certified"
        return Card(f"Certificate: {share if self.is_certified else 'nothing certified yet'}", self.facts())

    def facts(self) -> tuple[tuple[str, str], ...]:
        """The promise, the rows it covers and the labels behind it, as names and values."""
        risk, confidence = percent(self.max_risk, AS_SET), percent(self.confidence, AS_SET)
        promise = f"at most {risk} of accepted rows are wrong, with {confidence} confidence"
        share = f"{percent(self.coverage)} of rows"
        accepts = f"trust >= {self.threshold:.6g}, {share}" if self.is_certified else "nothing yet"
        labels = f"{counted(self.n_labels, 'label')}, {self.n_errors:,} of them wrong"
        waiting = f"{counted(self.n_waiting, 'label')}, until review {self.waits_for} has its labels"
        facts = (("promised", promise), ("certified", accepts), ("reviewed", labels))
        return (*facts, ("held back", waiting)) if self.n_waiting else facts

    def __str__(self) -> str:
        return self.summary()

    def summary(self) -> str:
        """What is certified, in words."""
        seen = f"{self.n_labels:,} labels, {self.n_errors:,} of them wrong"
        if self.n_waiting:
            seen += f" ({self.n_waiting:,} more wait for labels of review {self.waits_for})"
        if not np.isfinite(self.threshold):
            return f"Nothing is certified yet, after {seen}."
        return (
            f"At most {percent(self.max_risk, AS_SET)} of rows with trust >= {self.threshold:.6g} are wrong, with "
            f"{percent(self.confidence, AS_SET)} confidence: {percent(self.coverage)} of rows, after {seen}."
        )


def certificate_of(evidence: Evidence, n_waiting: int = 0, waits_for: int | None = None) -> Certificate:
    """The certificate of the largest set that the evidence certifies."""
    k = evidence.certified
    return Certificate(
        threshold=float(evidence.bands.least_trust[k]) if k >= 0 else np.inf,
        coverage=float(evidence.bands.coverage[k]) if k >= 0 else 0.0,
        max_risk=evidence.max_risk,
        confidence=evidence.confidence,
        n_labels=int(evidence.n_labels.sum()),
        n_errors=int(evidence.n_errors.sum()),
        n_waiting=n_waiting,
        waits_for=waits_for,
    )


def queue_card(certificate: Certificate, n_open: int, n_reviews: int, budget: int, evidence: Evidence | None) -> Card:
    """The short view of a review queue: its certificate, the rows that wait for a person, and the labels by band."""
    waiting = f"{counted(n_open, 'row')} in {counted(n_reviews, 'review')}" if n_open else "no row"
    facts = dict(certificate.facts()) | {"waiting": waiting, "budget": f"{budget:,} rows a day"}
    share = f"{percent(certificate.coverage)} of rows certified"
    title = f"ReviewQueue: {share if certificate.is_certified else 'nothing certified yet'}"
    return Card(title, tuple(facts.items()), BAND_COLUMNS, () if evidence is None else _bands(evidence))


def _bands(evidence: Evidence) -> tuple[tuple[str, ...], ...]:
    bands = evidence.bands
    return tuple(
        (
            decimal(bands.least_trust[h]),
            percent(bands.share[h]),
            f"{int(evidence.n_labels[h]):,}",
            f"{int(evidence.n_errors[h]):,}",
            "yes" if h <= evidence.certified else "not yet",
        )
        for h in range(len(bands))
    )
