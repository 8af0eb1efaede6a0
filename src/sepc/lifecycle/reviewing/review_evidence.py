"""Evidence from labels that sets of rows keep the promised error rate, and how many more labels they need."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.lifecycle.reviewing.trust_bands import Bands
from sepc.records import MOST, floats, given, part, record
from sepc.statistics.betting import best_draws, log_factors

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
        """The largest set that is certified, -1 if none is.

        The target and stricter sets each use a share of the allowed chance of a wrong certificate. Once the target
        passes, its share goes on to the next larger set, and so on, up to the first that does not pass.
        """
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
        """The probabilities of drawing each band to certify set k, and how many more labels are expected to be needed.

        The number is infinite if the set is expected to be wrong too often; the probabilities are then those for a risk
        just low enough.
        """
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
