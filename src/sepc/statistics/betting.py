"""E-processes: evidence by betting against a hypothesis. If it is true, the wealth is at most 1 on average.

Waudby-Smith and Ramdas (2024) bet in this way on the mean of bounded values. `mean_p_value` does so from how often each
value was seen; the other functions bet on rows drawn one by one from strata.

Each row is drawn from a stratum with known probabilities, and is wrong or not. The hypothesis is that the overall error
rate, the mean of the strata's rates weighted by their shares, is `max_risk` or more. Each row multiplies the evidence
against it by its likelihood ratio: under the expected rates, over the nearest rates of the hypothesis. Whatever the
true rates are, if the hypothesis holds the expected factor is at most 1 (`nearest_null`), so the evidence ever exceeds
1 / level with probability at most `level` (Ville's inequality): it is an e-process, which may be inspected after every
row and stopped at any time. Xu, Karampatziakis and Mineiro (2024) choose which rows to draw.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import rel_entr

from sepc._typing import FloatArray, IntArray
from sepc.statistics.rates import p_value

# Strata are drawn in proportion to share * rate ** power, with the best of these powers.
POWERS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
# If rounding makes the multiplier too large, the bet is no longer fair. The multiplier is then reduced to the first of
# these shares of itself that makes it fair, or else to zero, which means no bet.
BACK_OFF = (1.0, 1.0 - 1e-10, 1.0 - 1e-6, 0.99, 0.5)


def mean_p_value(counts: IntArray, values: FloatArray, limit: float, confidence: float) -> FloatArray:
    """P-value of the hypothesis "the mean is above `limit`", from how often each of the ascending `values` was seen.

    If there is only one value besides 0, this is the exact binomial p-value. Otherwise it is one over the wealth of a
    gambler who stakes the same amount on every value being below `limit` (an e-value): under the hypothesis the wealth
    is at most 1 on average, so it reaches 1 / p with probability at most p. The stake depends only on the number of
    rows, and is optimal if values are about as spread out as they can be.
    """
    n, share, scaled = counts.sum(axis=1), limit / values[-1], values / values[-1]
    if set(scaled) <= {0.0, 1.0}:
        return p_value(counts[:, -1], n, share)
    stake = np.sqrt(-2.0 * math.log(1.0 - confidence) / (np.maximum(n, 1) * share * (1.0 - share)))
    stake = np.minimum(stake, 1.0 / (1.0 - share))[:, None]
    factors = np.maximum(1.0 + stake * (share - scaled), np.finfo(np.float64).tiny)
    return np.asarray(np.exp(np.minimum(-(counts * np.log(factors)).sum(axis=1), 0.0)))


def nearest_null(drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float) -> FloatArray:
    """The rates with mean `max_risk` nearest to `expected` in relative entropy; `expected` if its mean is higher."""

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
    # Of the two forms of the quadratic's root, take the one without cancellation.
    direct = 2.0 * drawn * expected / np.maximum(ahead + root, 1e-300)
    return np.where(ahead > 0.0, direct, (root - ahead) / np.maximum(2.0 * k, 1e-300))


def log_factors(
    drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float
) -> tuple[FloatArray, FloatArray]:
    """What a correct and an incorrect row of each stratum add to the log of the evidence."""
    null = nearest_null(drawn, expected, weights, max_risk)
    return np.log1p(-expected) - np.log1p(-null), np.log(expected) - np.log(null)


def growth(drawn: FloatArray, expected: FloatArray, weights: FloatArray, max_risk: float) -> float:
    """The expected increase of the log of the evidence per row."""
    null = nearest_null(drawn, expected, weights, max_risk)
    return float(drawn @ (rel_entr(expected, null) + rel_entr(1.0 - expected, 1.0 - null)))


def best_draws(expected: FloatArray, weights: FloatArray, max_risk: float) -> tuple[FloatArray, float]:
    """Probabilities with which to draw the strata, and the growth they give."""
    tried = [weights * expected**power for power in POWERS]
    tried = [drawn / drawn.sum() for drawn in tried]
    rates = [growth(drawn, expected, weights, max_risk) for drawn in tried]
    best = int(np.argmax(rates))
    return tried[best], rates[best]
