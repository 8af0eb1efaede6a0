"""Anytime-valid evidence against "nothing changed" for a rate: it may be inspected as often as one likes.

The null hypothesis is that rows before and rows now are alike: ones occur with one unknown probability p. The evidence
is a ratio of likelihoods. Numerator: the maximum likelihood of the rows before, times the likelihood of the rows now
under a mixture of rates around the one seen before. Denominator: the maximum likelihood of all rows under a single p.

Why it seldom gets large: for the true p, the factor of the rows now is at most a martingale that starts at 1, so by
Ville's inequality the probability that it ever reaches x is at most 1 / x, however many rows come and however often
it is inspected. The factor of the rows before is at most exp(D), where D is n times the divergence of the observed rate
from p. So the probability that the evidence ever reaches c / level is at most the mean of min(1, exp(D) level / c) over
all rows before, which `log_price` keeps at `level` or below by its choice of c. It depends on counts alone: the order
of the rows does not matter, and counts of several streams may be added.

The choice of c, with L = log(c / level): counts k with D > L have a chance of at most 2 exp(-L) (Chernoff). For the
others exp(D) times the chance of k is its chance under the rate k / n, which is at most sqrt(n / (2 pi k (n - k)))
(Stirling). The sum of these is at most their integral, which is that of the angle arcsin(sqrt(k / n)), and half a
step at both ends, below 0.35 each, and 1 for each of k = 0 and k = n. Within L the angle is at most sqrt(L / n) away
from that of p, since the divergence is at least the squared difference of angles. Together c = 4 sqrt(L / (2 pi)) +
4.7 is enough.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, xlog1py, xlogy

from sepc._typing import FloatArray

# Strengths of the Beta distributions around the rate before, in rows: for large, medium and small changes.
STRENGTHS = np.array([1.0, 10.0, 100.0])


def log_evidence(before: ArrayLike, n_before: ArrayLike, now: ArrayLike, n_now: ArrayLike) -> FloatArray:
    """Logarithm of the evidence that the rate has changed; arguments are broadcast.

    If nothing changes, the probability that it ever reaches ``log_price(log_level) - log_level`` is at most the level.

    Parameters
    ----------
    before, n_before : arrays
        Ones and rows before.
    now, n_now : arrays
        Ones and rows since then.

    Examples
    --------
    >>> log_evidence(50, 1000, [50, 100], 1000).round(1)
    array([-2. ,  5.9])
    """
    old, n_old, new, n_new = np.broadcast_arrays(
        *(np.asarray(counts, dtype=np.float64) for counts in (before, n_before, now, n_now))
    )
    around = (old + 0.5) / (n_old + 1.0)
    apart = _log_largest(old, n_old) + _log_mixture(new, n_new, around)
    return np.asarray(apart - _log_largest(old + new, n_old + n_new))


def most_log_evidence(before: FloatArray, n_before: FloatArray, now: FloatArray, n_now: FloatArray) -> FloatArray:
    """A bound that `log_evidence` never exceeds, without logarithms: the chi-squared statistic of the four counts."""
    ones, n = before + now, n_before + n_now
    gap = before * n_now - now * n_before
    return np.asarray(gap**2 * n / np.maximum(n_before * n_now * ones * (n - ones), 1.0))


def log_price(log_level: ArrayLike) -> FloatArray:
    """Logarithm of the constant c above: the price of not knowing the rate before."""
    spent = -np.asarray(log_level, dtype=np.float64)
    price = 10.0 + spent
    # A fixed-point iteration from above: wherever it stops, the price is high enough.
    for _ in range(5):
        price = 4.0 * np.sqrt((np.log(price) + spent) / (2.0 * np.pi)) + 4.7
    return np.asarray(np.log(price))


def _log_mixture(ones: FloatArray, n: FloatArray, center: FloatArray) -> FloatArray:
    """Log likelihood of a sequence with this many ones, under the mixture of rates around `center`."""
    first, second = np.multiply.outer(STRENGTHS, center), np.multiply.outer(STRENGTHS, 1.0 - center)
    each = betaln(first + ones, second + n - ones) - betaln(first, second)
    return np.asarray(np.logaddexp.reduce(each, axis=0) - np.log(len(STRENGTHS)))


def _log_largest(ones: FloatArray, n: FloatArray) -> FloatArray:
    """The maximum log likelihood under a single rate."""
    rate = ones / np.maximum(n, 1.0)
    return np.asarray(xlogy(ones, rate) + xlog1py(n - ones, -rate))
