"""Exact binomial tests and bounds for rates."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv
from scipy.stats import beta, binom, hypergeom

from sepc._typing import FloatArray, IntArray


def upper_bound(n_seen: ArrayLike, n_rows: ArrayLike, confidence: float) -> FloatArray:
    """Clopper-Pearson upper bound on a rate, given `n_seen` events in `n_rows` rows; 1 if there are no rows.

    Examples
    --------
    >>> upper_bound([0, 3, 0], [149, 386, 0], 0.95).round(4)
    array([0.0199, 0.02  , 1.    ])
    """
    seen, rows = np.asarray(n_seen), np.asarray(n_rows)
    bound = beta.ppf(confidence, seen + 1, np.maximum(rows - seen, 1))
    return np.asarray(np.where(seen < rows, bound, 1.0), dtype=np.float64)


def lower_bound(n_seen: ArrayLike, n_rows: ArrayLike, confidence: float) -> FloatArray:
    """Clopper-Pearson lower bound on a rate, given `n_seen` events in `n_rows` rows; 0 if there are no rows."""
    rows = np.asarray(n_rows)
    return np.asarray(1.0 - upper_bound(rows - np.asarray(n_seen), rows, confidence))


def rate_interval(n_seen: ArrayLike, n_rows: ArrayLike, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Two-sided Clopper-Pearson interval for a rate, given `n_seen` events in `n_rows` rows.

    Examples
    --------
    >>> low, high = rate_interval([0, 48], [50, 50])
    >>> low.round(3), high.round(3)
    (array([0.   , 0.863]), array([0.071, 0.995]))
    """
    one_end = 1.0 - 0.5 * (1.0 - confidence)
    return lower_bound(n_seen, n_rows, one_end), upper_bound(n_seen, n_rows, one_end)


def beta_interval(ones: FloatArray, zeros: FloatArray, confidence: float) -> tuple[FloatArray, FloatArray]:
    """The central interval with probability `confidence` of a beta distribution with parameters `ones` and `zeros`."""
    tail = 0.5 * (1.0 - confidence)
    return np.asarray(betaincinv(ones, zeros, tail)), np.asarray(betaincinv(ones, zeros, 1.0 - tail))


def p_value(n_seen: IntArray, n_rows: IntArray, rate: float) -> FloatArray:
    """Probability of at most `n_seen` events in `n_rows` rows if their rate were `rate`."""
    return np.asarray(binom.cdf(n_seen, n_rows, rate), dtype=np.float64)


def sign_test(n_for: int, n_against: int) -> float:
    """Probability of at least `n_for` heads in `n_for + n_against` tosses of a fair coin; 1 if there are no tosses.

    On rows where exactly one of two classifiers is wrong, this is McNemar's exact one-sided test.

    Examples
    --------
    >>> sign_test(5, 0), sign_test(4, 4), sign_test(0, 0)
    (0.03125, 0.63671875, 1.0)
    """
    return float(binom.sf(n_for - 1, n_for + n_against, 0.5))


def fewer_p_value(n_seen: int, n_rows: int, n_seen_others: int, n_others: int) -> float:
    """P-value of "the rate is at least as high as among the others": Fisher's exact one-sided test.

    Examples
    --------
    >>> round(fewer_p_value(1, 100, 10, 50), 6), fewer_p_value(0, 0, 3, 9)
    (7.2e-05, 1.0)
    """
    if not (n_rows and n_others):
        return 1.0
    return float(hypergeom.cdf(n_seen, n_rows + n_others, n_seen + n_seen_others, n_rows))


@lru_cache(maxsize=256)
def rows_needed(rate: float, confidence: float, n_seen: int = 0) -> int:
    """The smallest number of rows in which `n_seen` events show, with this confidence, a rate of at most `rate`.

    Examples
    --------
    >>> rows_needed(0.02, 0.95)
    149
    >>> rows_needed(0.02, 0.95, 3)
    386
    """
    # An upper bound on the answer, by Chernoff.
    log = -math.log(1.0 - confidence)
    enough = math.ceil((n_seen + log + math.sqrt(log * (log + 2.0 * n_seen))) / rate)
    return bisect_left(range(enough + 1), True, key=lambda n: bool(binom.cdf(n_seen, n, rate) <= 1.0 - confidence))
