"""Certificate: the error rate that labels have proved for the most trusted rows; and the card of a queue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sepc.cards import Card, ShownAsCard, ShownOnOneLine
from sepc.decisions.frames import frame_of
from sepc.lifecycle.results.charts import BarChart, Chart, Pair
from sepc.lifecycle.results.result import Result, table_of
from sepc.lifecycle.reviewing.review_evidence import Evidence
from sepc.reporting.result_page import PageTable
from sepc.wording import AS_SET, counted, decimal, percent

if TYPE_CHECKING:
    import pandas as pd

BAND_COLUMNS = ("trust from", "share of rows", "labels", "wrong", "certified")


@dataclass(frozen=True, repr=False)
class BandLabels(ShownOnOneLine):
    """The labels of one band of trust.

    Attributes
    ----------
    least_trust, share : float
        The least trust in the band, and its share of all rows.
    n_labels, n_errors : int
        Labels of rows drawn there to certify, and the wrong ones among them.
    is_certified : bool
        Whether the rows of the band are certified.
    """

    least_trust: float
    share: float
    n_labels: int
    n_errors: int
    is_certified: bool

    def cells(self) -> tuple[str, ...]:
        """The band as a row of a table."""
        counts = f"{self.n_labels:,}", f"{self.n_errors:,}"
        return decimal(self.least_trust), percent(self.share), *counts, "yes" if self.is_certified else "not yet"


@dataclass(frozen=True, repr=False)
class Certificate(Result, ShownAsCard):
    """A certified bound on the error rate: of rows with at least this trust, a share of at most `max_risk` is wrong.

    `summary` states it in words, `to_frame` is a table of the labels by trust, `plot` a picture, and `to_html` a page.

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
        Number of the review that these labels wait for.
    bands : tuple of BandLabels
        The labels by trust, the most trusted rows first; empty before the first rows.
    """

    threshold: float
    coverage: float
    max_risk: float
    confidence: float
    n_labels: int
    n_errors: int
    n_waiting: int = 0
    waits_for: int | None = None
    bands: tuple[BandLabels, ...] = ()

    @property
    def is_certified(self) -> bool:
        """Whether anything is certified."""
        return bool(np.isfinite(self.threshold))

    def to_frame(self) -> pd.DataFrame:
        """The labels by trust as a pandas DataFrame, a row for each band."""
        names = ("least_trust", "share", "n_labels", "n_errors", "is_certified")
        return frame_of({name: [getattr(band, name) for band in self.bands] for name in names})

    def _card(self) -> Card:
        share = f"{percent(self.coverage)} of rows certified"
        title = f"Certificate: {share if self.is_certified else 'nothing certified yet'}"
        return Card(title, self.facts(), BAND_COLUMNS, tuple(band.cells() for band in self.bands))

    def _chart(self) -> Chart:
        pairs = [
            Pair(_trust_range(band, above), band.n_labels - band.n_errors, band.n_errors, _standing(band))
            for band, above in zip(self.bands, (None, *self.bands), strict=False)
        ]
        return BarChart("Labels by trust, drawn to certify", "labels", ("right", "wrong"), pairs)

    def _tables(self) -> list[PageTable]:
        rows = [band.cells() for band in self.bands]
        return [table_of(BAND_COLUMNS, rows, "Labels by trust")] if rows else []

    def _notes(self) -> tuple[str, ...]:
        if not self.is_certified:
            return ("More labels of rows drawn to certify may prove more. Until then, a person decides every row.",)
        return (f"Accept the rows with trust of at least {self.threshold:.6g}, and let a person decide the others.",)

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
        seen = f"{counted(self.n_labels, 'label')}, {self.n_errors:,} of them wrong"
        if self.n_waiting:
            seen += f" ({self.n_waiting:,} more wait for labels of review {self.waits_for})"
        if not np.isfinite(self.threshold):
            return f"Nothing is certified yet, after {seen}."
        return (
            f"At most {percent(self.max_risk, AS_SET)} of rows with trust >= {self.threshold:.6g} are wrong, with "
            f"{percent(self.confidence, AS_SET)} confidence, if all rows come from one source: "
            f"{percent(self.coverage)} of rows, after {seen}."
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
        bands=_bands(evidence),
    )


def queue_card(certificate: Certificate, n_open: int, n_reviews: int, budget: int) -> Card:
    """The card of a review queue: its certificate, the rows that wait for a person, and the labels by band."""
    waiting = f"{counted(n_open, 'row')} in {counted(n_reviews, 'review')}" if n_open else "no row"
    facts = dict(certificate.facts()) | {"waiting": waiting, "budget": f"{budget:,} rows a day"}
    share = f"{percent(certificate.coverage)} of rows certified"
    title = f"ReviewQueue: {share if certificate.is_certified else 'nothing certified yet'}"
    return Card(title, tuple(facts.items()), BAND_COLUMNS, tuple(band.cells() for band in certificate.bands))


def _bands(evidence: Evidence) -> tuple[BandLabels, ...]:
    bands, certified = evidence.bands, evidence.certified
    return tuple(
        BandLabels(
            float(bands.least_trust[h]),
            float(bands.share[h]),
            int(evidence.n_labels[h]),
            int(evidence.n_errors[h]),
            h <= certified,
        )
        for h in range(len(bands))
    )


def _trust_range(band: BandLabels, above: BandLabels | None) -> str:
    """The trust of a band, given the next band of higher trust."""
    if band.least_trust == 0.0:
        return "any trust" if above is None else f"trust below {decimal(above.least_trust)}"
    if above is None:
        return f"trust of at least {decimal(band.least_trust)}"
    return f"trust from {decimal(band.least_trust)} to below {decimal(above.least_trust)}"


def _standing(band: BandLabels) -> str:
    return f"{percent(band.share)} of rows, {'certified' if band.is_certified else 'not certified yet'}"
