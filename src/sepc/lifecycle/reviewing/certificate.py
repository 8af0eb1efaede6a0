"""What labels have proved about the rows that a model trusts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc.cards import Card, ShownAsCard
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.wording import AS_SET, counted, percent


@dataclass(frozen=True, repr=False)
class Certificate(ShownAsCard):
    """What labels have proved: rows of at least this trust keep the promise.

    Attributes
    ----------
    threshold : float
        Accept rows with at least this trust; infinite if nothing is certified yet.
    coverage : float
        The share of rows that this accepts.
    max_risk, confidence : float
        The promise: at most this share of the accepted rows is wrong, with this probability.
    n_labels, n_errors : int
        Labels that were drawn to certify, and the wrong ones among them.
    n_waiting : int
        Labels that do not count yet, because some that were drawn before them are still to come.
    """

    threshold: float
    coverage: float
    max_risk: float
    confidence: float
    n_labels: int
    n_errors: int
    n_waiting: int = 0

    @property
    def is_certified(self) -> bool:
        """Whether anything is certified."""
        return bool(np.isfinite(self.threshold))

    def _card(self) -> Card:
        share = f"{percent(self.coverage)} of rows certified"
        return Card(f"Certificate: {share if self.is_certified else 'nothing certified yet'}", self.facts())

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What is promised and of which rows, and the labels behind it: names and values."""
        risk, confidence = percent(self.max_risk, AS_SET), percent(self.confidence, AS_SET)
        promise = f"at most {risk} of accepted rows are wrong, with {confidence} confidence"
        share = f"{percent(self.coverage)} of rows"
        accepts = f"trust >= {self.threshold:.6g}, {share}" if self.is_certified else "nothing yet"
        labels = f"{counted(self.n_labels, 'label')}, {self.n_errors:,} of them wrong"
        waiting = f"{counted(self.n_waiting, 'label')}, until earlier ones come"
        facts = (("promised", promise), ("certified", accepts), ("reviewed", labels))
        return (*facts, ("held back", waiting)) if self.n_waiting else facts

    def __str__(self) -> str:
        seen = f"{self.n_labels:,} labels, {self.n_errors:,} of them wrong"
        if self.n_waiting:
            seen += f" ({self.n_waiting:,} more wait for labels of rows drawn before)"
        if not np.isfinite(self.threshold):
            return f"Nothing is certified yet, after {seen}."
        return (
            f"At most {percent(self.max_risk, AS_SET)} of rows with trust >= {self.threshold:.6g} are wrong, with "
            f"{percent(self.confidence, AS_SET)} confidence: {percent(self.coverage)} of rows, after {seen}."
        )


def certificate_of(evidence: Evidence, n_waiting: int = 0) -> Certificate:
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
    )
