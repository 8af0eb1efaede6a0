"""Whether the error rates of sites differ by more than chance explains."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import random_table

from sepc._typing import FloatArray, IntArray
from sepc.sites.site_counts import SiteCounts

N_DRAWS = 9_999


def accepted_at(counts: Sequence[SiteCounts], threshold: float) -> IntArray:
    """The right and wrong rows of each site that a threshold accepts, as reported: an (S, 2) array."""
    which = int((counts[0].thresholds > threshold).sum())
    return np.array(
        [[sum(int(series[which]) for series in pair) for pair in _series(site)] for site in counts], dtype=np.int64
    )


def difference_p_value(table: IntArray) -> float:
    """P-value of "all sites have the same error rate", given their right and wrong rows.

    Pearson's statistic, compared with tables of the same margins drawn at random, so that small counts do no harm
    (Patefield, 1981). Draws have a fixed seed.

    Examples
    --------
    >>> difference_p_value(np.array([[90, 10], [180, 20]]))
    1.0
    >>> difference_p_value(np.array([[90, 10], [120, 80]]))
    0.0001
    """
    used = table[table.sum(axis=1) > 0]
    if len(used) < 2 or not used.sum(axis=0).all():
        return 1.0
    expected = np.outer(used.sum(axis=1), used.sum(axis=0)) / used.sum()
    draws = random_table(used.sum(axis=1), used.sum(axis=0)).rvs(N_DRAWS, random_state=0)
    as_large = _statistic(draws, expected) >= _statistic(used[np.newaxis], expected)[0] - 1e-9
    return float((1 + as_large.sum()) / (1 + N_DRAWS))


def _statistic(tables: FloatArray, expected: FloatArray) -> FloatArray:
    return np.asarray(((tables - expected) ** 2 / expected).sum(axis=(1, 2)))


def _series(site: SiteCounts) -> tuple[list[IntArray], list[IntArray]]:
    return [cell.right for cell in site.cells], [cell.wrong for cell in site.cells]
