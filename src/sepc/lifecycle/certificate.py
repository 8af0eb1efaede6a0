"""What labels have proved about the rows that a model trusts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc.lifecycle.band_evidence import Evidence
from sepc.selective._promise_words import percent


@dataclass(frozen=True)
class Certificate:
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

    def __str__(self) -> str:
        seen = f"{self.n_labels:,} labels, {self.n_errors:,} of them wrong"
        if self.n_waiting:
            seen += f" ({self.n_waiting:,} more wait for labels of rows drawn before)"
        if not np.isfinite(self.threshold):
            return f"Nothing is certified yet, after {seen}."
        return (
            f"At most {percent(self.max_risk)} of rows with trust >= {self.threshold:.6g} are wrong, with "
            f"{percent(self.confidence)} confidence: {percent(self.coverage, coarse=True)} of rows, after {seen}."
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
