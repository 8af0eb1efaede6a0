"""Exact tests and bounds for rates, sequences of thresholds, strata, random splits and paired rows."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv
from scipy.stats import beta, binom, hypergeom, norm

from sepc._typing import BoolArray, FloatArray, IntArray


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
    """P-value of "the rate is at least as high as among the others": Fisher's exact one-sided test."""
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


# No correction for multiple tests is then needed (Angelopoulos et al., 2021, "Learn then test"). The grid of thresholds
# must not depend on the rows used for testing.


N_THRESHOLDS = 200

# Testing starts at a threshold that passes even with this many errors, if that takes at most this share of the rows.
# With a stricter start, a single error can end the test, and models abstained on many rows:
# docs/explanation/promises.md lists what was tried.
FORGIVEN = 3
START_SHARE = 0.5


def sums_at(thresholds: FloatArray, scores: FloatArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    """For thresholds from strict to generous: how many rows each accepts, and the sums of their `values`."""
    order = np.argsort(-scores, kind="stable")
    accepted = np.searchsorted(-scores[order], -thresholds, side="right")
    sums = np.cumsum(values[order], axis=0)
    return accepted, np.concatenate([np.zeros_like(sums[:1], shape=(1, *sums.shape[1:])), sums])[accepted]


def n_before_failure(passes: BoolArray) -> int:
    """How many tests pass before the first that fails."""
    return len(passes) if passes.all() else int(np.argmin(passes))


def rows_to_start(n_rows: int, rate: float, confidence: float, n_assumed: int = 0) -> int:
    """How many of `n_rows` rows the first threshold tested must accept, so that a few errors there are tolerated.

    `n_assumed` errors are counted at every threshold, whether or not they occurred.
    """
    needed = [rows_needed(rate, confidence, n_assumed + n_errors) for n_errors in range(FORGIVEN + 1)]
    return max([n for n in needed if n <= START_SHARE * n_rows], default=needed[0])


def quantile_grid(scores: FloatArray) -> FloatArray:
    """Thresholds at quantiles of these scores, which must not come from the rows used for testing."""
    return np.quantile(scores, np.linspace(0.0, 1.0, N_THRESHOLDS), method="inverted_cdf")


def fixed_grid() -> FloatArray:
    """Thresholds that do not depend on data: half of them cluster near 1, where confident models put their scores."""
    half = N_THRESHOLDS // 2
    crowded = 1.0 - np.logspace(-8.0, -1.0, half, endpoint=False)
    return np.concatenate([crowded, np.linspace(0.9, 0.0, N_THRESHOLDS - half)])


def differ_p_value(values: FloatArray, is_second: BoolArray, stratum: IntArray) -> float:
    """P-value of "within every stratum, both samples have the same distribution", against a shift in location."""
    ranks, n = _relative_ranks(values, stratum)
    n_second = np.bincount(stratum, weights=is_second)
    has_both = (n_second > 0) & (n_second < n)
    mean = np.bincount(stratum, weights=ranks) / np.maximum(n, 1)
    spread = np.bincount(stratum, weights=(ranks - mean[stratum]) ** 2) / np.maximum(n, 1)
    excess = np.bincount(stratum, weights=is_second * (ranks - mean[stratum]))
    variance = n_second * (n - n_second) / np.maximum(n - 1, 1) * spread
    total = float(variance[has_both].sum())
    return float(2.0 * norm.sf(abs(excess[has_both].sum()) / np.sqrt(total))) if total > 0.0 else 1.0


def spread_p_value(values: FloatArray, is_second: BoolArray, stratum: IntArray) -> float:
    """P-value of the same hypothesis against a change in spread: values farther from, or closer to, the median."""
    ranks, _ = _relative_ranks(values, stratum)
    return differ_p_value(np.abs(ranks - 0.5), is_second, stratum)


def _relative_ranks(values: FloatArray, stratum: IntArray) -> tuple[FloatArray, IntArray]:
    """Ranks within strata, divided by the stratum's size plus one (ties share a rank); and the sizes of strata."""
    n = np.bincount(stratum)
    order = np.lexsort((values, stratum))
    sorted_values, sorted_stratum = values[order], stratum[order]
    is_new = np.append(True, (np.diff(sorted_stratum) != 0) | (sorted_values[1:] != sorted_values[:-1]))
    tie = np.cumsum(is_new[: len(order)]) - 1
    place = np.arange(len(order)) - (np.cumsum(n) - n)[sorted_stratum] + 1.0
    mean_place = np.bincount(tie, weights=place) / np.maximum(np.bincount(tie), 1)
    ranks = np.empty(len(order))
    ranks[order] = mean_place[tie] / (n[sorted_stratum] + 1)
    return ranks, n


def random_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of two parts of rows in random order, the second with about this `share` of them.

    The split ignores labels, so the second part is to the first what future rows are: labels that the first part lacks
    occur as often. Only if the first part would contain a single class, to which few classifiers can be fitted, is it
    extended up to the first row of another. This inspects no row of the second part.
    """
    order = random.permutation(len(labels))
    n_first = max(len(labels) - round(share * len(labels)), 1)
    others = np.flatnonzero(labels[order] != labels[order[:1]])
    if len(others):
        n_first = max(n_first, int(others[0]) + 1)
    return np.sort(order[:n_first]), np.sort(order[n_first:])


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold in which each row is held out; -1 for the only row of a class, which is never held out."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        if len(rows) > 1:
            folds[rows] = (np.arange(len(rows)) + random.randint(n_folds)) % n_folds
    return folds


def difference_bound(n_only_second: int, n_only_first: int, n_rows: int, confidence: float) -> float:
    """Upper bound on the second rate minus the first, from rows on which both were observed; 1 if there are no rows.

    The difference of the rates is the share of rows on which only the second event happens, minus the share on which
    only the first does. Each share has an exact Clopper-Pearson bound at half of the error, so by the union bound the
    difference exceeds their sum with probability at most ``1 - confidence``, whatever the number of rows and however
    the two depend on one another.

    Examples
    --------
    >>> round(difference_bound(0, 0, 500, 0.95), 4), round(difference_bound(20, 30, 1000, 0.95), 4)
    (0.0074, 0.0104)
    """
    each = 1.0 - 0.5 * (1.0 - confidence)
    more, fewer = upper_bound(n_only_second, n_rows, each), lower_bound(n_only_first, n_rows, each)
    return float(more - fewer)
