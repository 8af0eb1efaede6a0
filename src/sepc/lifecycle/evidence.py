"""Evidence that a rate is no longer what it was in the reference, which may be looked at after every batch.

The null hypothesis is that rows of the reference and of the stream are alike: ones come with one probability p, which
nobody knows. The evidence is the likelihood of both under a mixture in which each has a rate of its own, over the
largest likelihood that any single p gives them (universal inference: Wasserman, Ramdas and Balakrishnan, 2020). For
every p it is at most a martingale that starts at 1. So, by Ville's inequality, it ever reaches 1 / level with a
probability of at most `level`, however many rows come and however often one looks. It depends on counts alone: the
order of the rows does not matter, and counts of several streams may be added.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaln, logsumexp, xlog1py, xlogy

from sepc._typing import FloatArray

# A rate is looked for around another one as a Beta distribution of this many rows would have it: far, near and nearer.
STRENGTHS = np.array([1.0, 10.0, 100.0])


def log_evidence(
    before: ArrayLike, n_before: ArrayLike, now: ArrayLike, n_now: ArrayLike, guess: ArrayLike
) -> FloatArray:
    """Logarithm of the evidence that the rate now is not the rate before; all of one shape.

    Parameters
    ----------
    before, n_before : arrays
        Ones and rows in the reference.
    now, n_now : arrays
        Ones and rows in the stream so far.
    guess : array
        What the rate might be, strictly between 0 and 1, from anything but these rows. A good guess gives more power,
        and a bad one still no false alarms.

    Examples
    --------
    >>> log_evidence(50, 1000, [50, 100], 1000, 0.05).round(1)
    array([-4. ,  3.8])
    """
    old, n_old, new, n_new, prior = np.broadcast_arrays(
        *(np.asarray(one, dtype=np.float64) for one in (before, n_before, now, n_now, guess))
    )
    around = (old + prior) / (n_old + 1.0)
    apart = _log_mixture(old, n_old, prior) + _log_mixture(new, n_new, around)
    return np.asarray(apart - _log_largest(old + new, n_old + n_new))


def most_log_evidence(before: FloatArray, n_before: FloatArray, now: FloatArray, n_now: FloatArray) -> FloatArray:
    """A bound that `log_evidence` never exceeds, at a tenth of the cost."""
    apart = _log_largest(before, n_before) + _log_largest(now, n_now)
    return np.asarray(apart - _log_largest(before + now, n_before + n_now))


def _log_mixture(ones: FloatArray, n: FloatArray, center: FloatArray) -> FloatArray:
    """Log likelihood of ones in an order, the rate drawn around `center`."""
    first, second = np.multiply.outer(STRENGTHS, center), np.multiply.outer(STRENGTHS, 1.0 - center)
    each = betaln(first + ones, second + n - ones) - betaln(first, second)
    return np.asarray(logsumexp(each, axis=0) - np.log(len(STRENGTHS)))


def _log_largest(ones: FloatArray, n: FloatArray) -> FloatArray:
    """The largest log likelihood that a single rate gives."""
    rate = ones / np.maximum(n, 1.0)
    return np.asarray(xlogy(ones, rate) + xlog1py(n - ones, -rate))
