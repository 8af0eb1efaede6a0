"""Bets that a set of rows is wrong more often than promised: what labels prove, at any time, and which to ask for.

A label is asked for by drawing a band of trust with stated probabilities and then any row of that band. Against the
hypothesis that the error rate of a set, the mean of its bands' rates by their shares, is `max_risk` or more, each label
multiplies the evidence by how much likelier it is under the rates expected than under the nearest rates of that
hypothesis. Whatever the true rates of the hypothesis are, the expected factor is at most 1 (`nearest_null`), so the
evidence ever exceeds 1 / level with probability at most `level` (Ville): labels may be asked for and looked at in any
rhythm. Waudby-Smith and Ramdas (2024) bet in this way; Xu, Karampatziakis and Mineiro (2024) choose labels for it.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import rel_entr

from sepc._typing import FloatArray

# Bands are drawn in proportion to share * rate ** power, with the best of these powers.
POWERS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# A multiplier an ulp too large would make a bet favourable. The first of these shares of it that does not is taken, or
# else none of it, which is no bet at all.
BACK_OFF = (1.0, 1.0 - 1e-10, 1.0 - 1e-6, 0.99, 0.5)


def nearest_null(drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float) -> FloatArray:
    """The rates with mean `max_risk` that are hardest to tell from those expected; the latter if their mean is higher.

    Parameters
    ----------
    drawn : (H,) array
        The probability with which each band is drawn.
    expected : (H,) array
        Error rates, strictly between 0 and 1.
    weights : (H,) array
        Shares of the bands, which sum to 1.
    max_risk : float

    Notes
    -----
    Minimises the mean relative entropy ``drawn @ KL(expected, rates)`` subject to ``weights @ rates == max_risk``. With
    the multiplier u of that condition, a rate m solves ``k m^2 + (n - k) m - n p = 0`` with k = u * weight, n = drawn,
    p = expected. The expected factor of a bet under true rates t is then ``1 + u * (weights @ rates - weights @ t)``.
    """

    def excess(u: float) -> float:
        return float(weights @ _rates_at(u, drawn, expected, weights) - max_risk)

    if weights @ expected >= max_risk or excess(0.0) >= 0.0:
        return expected
    highest = 1.001 * float((drawn / weights).max()) / (1.0 - max_risk)
    u = brentq(excess, 0.0, highest, xtol=1e-14, rtol=1e-12)
    fair = (share * u for share in BACK_OFF if excess(share * u) <= 0.0)
    return _rates_at(next(fair, 0.0), drawn, expected, weights)


def _rates_at(u: float, drawn: FloatArray, expected: FloatArray, weights: FloatArray) -> FloatArray:
    k = u * weights
    ahead = drawn - k
    root = np.sqrt(ahead**2 + 4.0 * k * drawn * expected)
    # Of the two ways to write the root of the quadratic, the one that does not cancel.
    direct = 2.0 * drawn * expected / np.maximum(ahead + root, 1e-300)
    return np.where(ahead > 0.0, direct, (root - ahead) / np.maximum(2.0 * k, 1e-300))


def log_factors(
    drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float
) -> tuple[FloatArray, FloatArray]:
    """What a right and what a wrong label of each band adds to the logarithm of the evidence."""
    null = nearest_null(drawn, expected, weights, max_risk)
    return np.log1p(-expected) - np.log1p(-null), np.log(expected) - np.log(null)


def growth(drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float) -> float:
    """What a label is expected to add to the logarithm of the evidence."""
    null = nearest_null(drawn, expected, weights, max_risk)
    return float(drawn @ (rel_entr(expected, null) + rel_entr(1.0 - expected, 1.0 - null)))


def best_draws(expected: FloatArray, weights: FloatArray, max_risk: float) -> tuple[FloatArray, float]:
    """Probabilities with which to draw the bands, and the growth they give."""
    tried = [weights * expected**power for power in POWERS]
    tried = [one / one.sum() for one in tried]
    rates = [growth(one, expected, weights, max_risk) for one in tried]
    best = int(np.argmax(rates))
    return tried[best], rates[best]
