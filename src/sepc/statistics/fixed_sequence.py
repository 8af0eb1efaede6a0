"""Fixed-sequence testing of thresholds: from strict to generous, until the first that fails.

No correction for multiple tests is then needed (Angelopoulos et al., 2021, "Learn then test"). The grid of thresholds
must not depend on the rows used for testing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.statistics.binomial import rows_needed

N_THRESHOLDS = 200

# Testing starts at a threshold that passes even with this many errors, if that takes at most this share of the rows.
# With a stricter start, a single error can end the test, and models abstained on many rows:
# docs/explanation/promises.md lists what was tried.
FORGIVEN = 3
START_SHARE = 0.5


def sums_at(thresholds: FloatArray, scores: FloatArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    """For thresholds from strict to generous: how many rows each accepts, and the sums of their `values`.

    Parameters
    ----------
    thresholds : (m,) array
        Rows with at least this score are accepted.
    scores : (n,) array
    values : (n,) or (n, V) array

    Returns
    -------
    (m,) array, and (m,) or (m, V) array
    """
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
