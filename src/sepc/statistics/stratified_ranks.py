"""Whether two samples differ within strata: stratified rank tests (van Elteren, 1960)."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from sepc._typing import BoolArray, FloatArray, IntArray


def differ_p_value(values: FloatArray, is_second: BoolArray, stratum: IntArray) -> float:
    """P-value of "within every stratum, both samples have the same distribution", against a shift in location.

    Parameters
    ----------
    values : (n,) array
    is_second : (n,) array of bool
        Which rows belong to the second sample.
    stratum : (n,) array of int
        Numbered from 0.
    """
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
