"""Certificate: the error rate that labels have proved for the most trusted rows, and the evidence for it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownOnOneLine
from sepc.decisions.decisions import frame_of
from sepc.lifecycle.result import Result
from sepc.lifecycle.reviewing.batch import Bands
from sepc.records import MOST, floats, given, part, record
from sepc.statistics.betting import best_draws, log_factors
from sepc.wording import AS_SET, counted, decimal, percent

if TYPE_CHECKING:
    import pandas as pd


# This share of the allowed chance of a wrong certificate goes to the target set; stricter sets divide the rest.
TARGET_SHARE = 0.9
# The expected error rates of bands are updated after this many labels.
N_PER_BET = 20
# The claims of the model count as much as this many errors. They are scaled down until this share of the allowed
# errors is expected in the target: optimism costs little, and may be justified.
CLAIM_ERRORS, HOPED_SHARE = 1.0, 0.5
# The least expected error rate of a band, as a share of the allowed one. Without it, a model that claims never to be
# wrong would lose all its evidence with the first error.
LEAST_SHARE = 0.1


@record
class Evidence(ShownOnOneLine):
    """Counts of labels by band, and the evidence that each set of rows keeps the promise.

    The evidence is against "the set is wrong more often than `max_risk`"; enough of it makes a certificate.

    Attributes
    ----------
    bands : Bands
    max_risk, confidence : float
    n_labels, n_errors : (H,) arrays
        Labels drawn in each band, and those that showed the model to be wrong.
    log_now, log_peak : (H,) arrays
        Logarithm of the evidence for each set now, and its largest value so far.
    """

    bands: Bands = part(Bands, is_inline=True)
    max_risk: float = given()
    confidence: float = given()
    n_labels: FloatArray = floats("H", low=0.0, high=MOST - 1)
    n_errors: FloatArray = floats("H", low=0.0, high=MOST - 1)
    log_now: FloatArray = floats("H", low=1 - MOST, high=MOST - 1)
    log_peak: FloatArray = floats("H", low=1 - MOST, high=MOST - 1)

    def flaw(self) -> str | None:
        """What is wrong with the counts or the evidence, if anything."""
        is_possible = (self.n_errors <= self.n_labels).all() and (self.log_now <= self.log_peak).all()
        return None if is_possible else "has more errors than labels, or evidence above its peak"

    @classmethod
    def none(cls, bands: Bands, max_risk: float, confidence: float) -> Evidence:
        """The evidence before the first label."""
        return cls(bands, max_risk, confidence, *(np.zeros(len(bands)) for _ in range(4)))

    @property
    def log_needed(self) -> FloatArray:
        """The log evidence at which each set is certified, once it is tested."""
        chance, target = 1.0 - self.confidence, self.bands.target
        chances = np.full(len(self.bands), chance * (TARGET_SHARE if target else 1.0))
        chances[:target] = chance * (1.0 - TARGET_SHARE) / max(target, 1)
        return np.asarray(-np.log(chances))

    @property
    def certified(self) -> int:
        """The largest set that is certified, -1 if none is."""
        passed, target = self.log_peak >= self.log_needed, self.bands.target
        if passed[target]:
            failed = np.flatnonzero(~passed[target:])
            return target + int(failed[0]) - 1 if len(failed) else len(passed) - 1
        return int(np.flatnonzero(passed[:target]).max(initial=-1))

    @property
    def expected(self) -> FloatArray:
        """The expected error rate of each band: the claimed one, scaled by all labels and adjusted by the band's."""
        within = float(self.bands.weights(self.bands.target) @ self.bands.claimed_risk)
        least = LEAST_SHARE * self.max_risk
        claimed = np.maximum(least, self.bands.claimed_risk * min(1.0, HOPED_SHARE * self.max_risk / within))
        scale = (CLAIM_ERRORS + self.n_errors.sum()) / (CLAIM_ERRORS + self.n_labels @ claimed)
        rates = (CLAIM_ERRORS + self.n_errors) / (CLAIM_ERRORS / (scale * claimed) + self.n_labels)
        return np.asarray(np.clip(rates, least, 0.5))

    def draws(self, k: int) -> tuple[FloatArray, float]:
        """The probabilities of drawing each band to certify set k, and how many more labels are probably needed."""
        risk = float(self.bands.weights(k) @ self.expected)
        drawn, n_more = self._draws_if(k, min(1.0, 0.9 * self.max_risk / risk))
        return drawn, n_more if risk < self.max_risk else np.inf

    def is_hopeless(self, k: int, most: float) -> bool:
        """Whether set k would need more than `most` labels even if its risk were two standard errors lower."""
        weights, rates = self.bands.weights(k), self.expected
        risk = float(weights @ rates)
        error = float(np.sqrt(np.sum(weights**2 * rates / (self.n_labels + CLAIM_ERRORS / rates))))
        least = max(risk - 2.0 * error, LEAST_SHARE * self.max_risk)
        return least >= self.max_risk or self._draws_if(k, least / risk)[1] > most

    def _draws_if(self, k: int, scale: float) -> tuple[FloatArray, float]:
        """The best probabilities for set k, and the labels needed, if rates are `scale` times the expected ones."""
        inside = slice(0, k + 1)
        drawn, rate = best_draws(self.expected[inside] * scale, self.bands.weights(k)[inside], self.max_risk)
        missing = max(0.0, float(self.log_needed[k] - self.log_now[k]))
        return np.concatenate([drawn, np.zeros(len(self.bands) - k - 1)]), missing / rate if rate > 0.0 else np.inf

    def after(self, band: IntArray, wrong: BoolArray, drawn: FloatArray) -> Evidence:
        """The evidence after labels of these bands, in the order in which they were drawn."""
        evidence = self
        for start in range(0, len(band), N_PER_BET):
            bet = slice(start, start + N_PER_BET)
            evidence = evidence._after_one_bet(band[bet], wrong[bet], drawn)
        return evidence

    def _after_one_bet(self, band: IntArray, wrong: BoolArray, drawn: FloatArray) -> Evidence:
        expected, now, peak = self.expected, self.log_now.copy(), self.log_peak.copy()
        for k in np.flatnonzero(np.cumprod(drawn > 0.0)):
            inside = slice(0, int(k) + 1)
            right, error = log_factors(
                drawn[inside] / drawn[inside].sum(), expected[inside], self.bands.weights(int(k))[inside], self.max_risk
            )
            in_set = band <= k
            path = now[k] + np.cumsum(np.where(wrong[in_set], error[band[in_set]], right[band[in_set]]))
            if len(path):
                now[k], peak[k] = path[-1], max(peak[k], path.max())
        n = len(self.bands)
        return replace(
            self,
            n_labels=self.n_labels + np.bincount(band, minlength=n),
            n_errors=self.n_errors + np.bincount(band, weights=wrong, minlength=n),
            log_now=now,
            log_peak=peak,
        )


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
class Certificate(Result):
    """A certified bound on the error rate: of rows with at least this trust, a share of at most `max_risk` is wrong.

    `summary` states it in words, `to_frame` is a table of the labels by trust, and `to_html` a page.

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
    k, bands = evidence.certified, evidence.bands
    counts = evidence.n_labels.astype(np.int64), evidence.n_errors.astype(np.int64)
    columns = (bands.least_trust, bands.share, *counts, np.arange(len(bands)) <= k)
    return Certificate(
        threshold=float(bands.least_trust[k]) if k >= 0 else np.inf,
        coverage=float(bands.coverage[k]) if k >= 0 else 0.0,
        max_risk=evidence.max_risk,
        confidence=evidence.confidence,
        n_labels=int(evidence.n_labels.sum()),
        n_errors=int(evidence.n_errors.sum()),
        n_waiting=n_waiting,
        waits_for=waits_for,
        bands=tuple(map(BandLabels, *(column.tolist() for column in columns))),
    )


def queue_card(certificate: Certificate, n_open: int, n_reviews: int, budget: int) -> Card:
    """The card of a review queue: its certificate, the rows that wait for a person, and the labels by band."""
    waiting = f"{counted(n_open, 'row')} in {counted(n_reviews, 'review')}" if n_open else "no row"
    facts = dict(certificate.facts()) | {"waiting": waiting, "budget": f"{budget:,} rows a day"}
    share = f"{percent(certificate.coverage)} of rows certified"
    title = f"ReviewQueue: {share if certificate.is_certified else 'nothing certified yet'}"
    return Card(title, tuple(facts.items()), BAND_COLUMNS, tuple(band.cells() for band in certificate.bands))
