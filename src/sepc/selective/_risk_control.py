"""Which threshold of trust keeps a promise about errors: exact binomial tests, on plain arrays.

Thresholds are tested from strict to generous, and the first failure ends the sequence, so no test needs a correction
for the others (fixed-sequence testing; Angelopoulos et al., 2021, "Learn then test"). The grid of thresholds must not
depend on the rows that are tested.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

from sepc._typing import BoolArray, FloatArray, IntArray

N_THRESHOLDS = 200

# Testing starts where so many errors would still pass, if that takes at most this share of the rows. Starting where the
# first error ends it left much unaccepted: docs/howto/promises.md has what was tried.
FORGIVEN = 3
START_SHARE = 0.5


@dataclass(frozen=True)
class Control:
    """A threshold, and the rows that speak for it.

    Attributes
    ----------
    threshold : float
        Rows with at least this trust are accepted; infinite if no threshold passed.
    max_risk : float
        The error rate promised.
    n_rows, n_accepted, n_errors : int
        Rows given, those the threshold accepts, and the wrong ones among these.
    n_needed : int
        The fewest accepted rows, all of them right, from which the promise can be made.
    n_tried, n_tried_errors : int
        Rows accepted at the threshold tested first, and the wrong ones; if none accepts enough, at the last one.
    """

    threshold: float
    max_risk: float
    n_rows: int
    n_accepted: int
    n_errors: int
    n_needed: int
    n_tried: int
    n_tried_errors: int


def choose_threshold(
    trust: FloatArray, wrong: BoolArray, grid: FloatArray, max_risk: float, confidence: float
) -> Control:
    """The most generous threshold of `grid` that fixed-sequence testing lets pass.

    Parameters
    ----------
    trust, wrong : (n,) arrays
        Of the calibration rows: independent draws, none of which shaped `grid` or the labels.
    grid : array of float
        In any order.
    max_risk, confidence : float
        The error rate among accepted rows that is exceeded with probability at most ``1 - confidence``.

    Notes
    -----
    The first threshold tested is the strictest that accepts `rows_to_start`. That start looks at the trust of the
    calibration rows, though at none of their labels; the guarantee is exact wherever rows of more trust are not wrong
    more often, and close to it elsewhere (docs/howto/promises.md has the argument).
    """
    thresholds = np.unique(grid)[::-1]
    accepted, errors = sums_at(thresholds, trust, wrong)
    start = int(np.searchsorted(accepted, rows_to_start(len(trust), max_risk, confidence)))
    passes = p_value(errors[start:], accepted[start:], max_risk) <= 1.0 - confidence
    n_passed = n_before_failure(passes)
    tried = min(start, len(thresholds) - 1)
    chosen = start + n_passed - 1
    found = n_passed > 0
    return Control(
        threshold=float(thresholds[chosen]) if found else math.inf,
        max_risk=max_risk,
        n_rows=len(trust),
        n_accepted=int(accepted[chosen]) if found else 0,
        n_errors=int(errors[chosen]) if found else 0,
        n_needed=rows_needed(max_risk, confidence),
        n_tried=int(accepted[tried]),
        n_tried_errors=int(errors[tried]),
    )


def sums_at(thresholds: FloatArray, trust: FloatArray, values: NDArray[Any]) -> tuple[IntArray, NDArray[Any]]:
    """For thresholds from strict to generous: how many rows each accepts, and the sums of their `values`."""
    order = np.argsort(-trust, kind="stable")
    accepted = np.searchsorted(-trust[order], -thresholds, side="right")
    sums = np.cumsum(values[order], axis=0)
    return accepted, np.concatenate([np.zeros_like(sums[:1], shape=(1, *sums.shape[1:])), sums])[accepted]


def n_before_failure(passes: BoolArray) -> int:
    """How many tests pass before the first that fails."""
    return len(passes) if passes.all() else int(np.argmin(passes))


@lru_cache(maxsize=256)
def rows_needed(max_risk: float, confidence: float, n_errors: int = 0) -> int:
    """The fewest rows with `n_errors` that show, with `confidence`, an error rate of at most `max_risk`.

    Examples
    --------
    >>> rows_needed(0.02, 0.95)
    149
    >>> rows_needed(0.02, 0.95, 3)
    386
    """
    # Chernoff's bound says that so many are enough.
    log = -math.log(1.0 - confidence)
    enough = math.ceil((n_errors + log + math.sqrt(log * (log + 2.0 * n_errors))) / max_risk)
    return bisect_left(
        range(enough + 1), True, key=lambda n: bool(binom.cdf(n_errors, n, max_risk) <= 1.0 - confidence)
    )


def rows_to_start(n_rows: int, max_risk: float, confidence: float) -> int:
    """Rows that the first threshold tested must accept, of `n_rows` rows: a few errors are to be forgiven there."""
    needed = [rows_needed(max_risk, confidence, n_errors) for n_errors in range(FORGIVEN + 1)]
    return max([n for n in needed if n <= START_SHARE * n_rows], default=needed[0])


def p_value(errors: IntArray, n: IntArray, max_risk: float) -> FloatArray:
    """Probability of so few errors among `n` rows if their error rate were `max_risk`."""
    return np.asarray(binom.cdf(errors, n, max_risk), dtype=np.float64)


def error_bound(n_errors: Any, n: Any, confidence: float) -> FloatArray:
    """Clopper and Pearson's upper bound on the error rate, after `n_errors` among `n` rows; 1 without rows."""
    errors, rows = np.asarray(n_errors), np.asarray(n)
    bound = beta.ppf(confidence, errors + 1, np.maximum(rows - errors, 1))
    return np.asarray(np.where(errors < rows, bound, 1.0), dtype=np.float64)


def quantile_grid(trust: FloatArray) -> FloatArray:
    """Thresholds at equal steps of coverage of these rows, which must not be the calibration rows."""
    return np.quantile(trust, np.linspace(0.0, 1.0, N_THRESHOLDS), method="inverted_cdf")


def fixed_grid() -> FloatArray:
    """Thresholds chosen before any row is seen: half of them crowd towards 1, where confident models put their rows."""
    half = N_THRESHOLDS // 2
    crowded = 1.0 - np.logspace(-8.0, -1.0, half, endpoint=False)
    return np.concatenate([crowded, np.linspace(0.9, 0.0, N_THRESHOLDS - half)])


def stratified_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of the rows that stay and of the `share` of every class that goes; one row of a class always stays."""
    goes = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        # Rounding at random keeps the expected shares of small classes.
        n_going = min(int(share * len(own) + random.uniform()), len(own) - 1)
        goes[own[:n_going]] = True
    return np.flatnonzero(~goes), np.flatnonzero(goes)


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold in which each row is left out; -1, never, for the only row of a class, so that no fold lacks a class."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        if len(own) > 1:
            folds[own] = (np.arange(len(own)) + random.randint(n_folds)) % n_folds
    return folds
