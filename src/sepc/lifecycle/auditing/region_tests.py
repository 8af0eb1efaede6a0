"""Binomial tests of whether regions are wrong more often than they claim, corrected for their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, false_discovery_control

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.lifecycle.auditing.feedback import fallback_name
from sepc.wording import counted, p_in_short, with_number


@dataclass(frozen=True, eq=False, repr=False)
class RegionTests(ShownAsCard):
    """The tests of all regions with feedback, one entry per region.

    Attributes
    ----------
    region : array of int
        Ids, ascending; -1 is all unseen combinations of ellipsoids together.
    where : array of str
        The regions in words.
    n_rows, n_errors : array of int
        Feedback rows there, and the wrong ones.
    expected : array of float
        Errors expected by the trust of the decisions: the sum of 1 - trust.
    p_value : array of float
        Chance of at least this many errors if the claims are true.
    adjusted : array of float
        Corrected for the number of regions tested (Benjamini and Hochberg); 1 if not tested.
    tested : array of bool
        Whether the region has enough rows to fail: with all of them wrong, the p-value would be at most `fdr`.
    failing : array of bool
    """

    region: IntArray
    where: NDArray[Any]
    n_rows: IntArray
    n_errors: IntArray
    expected: FloatArray
    p_value: FloatArray
    adjusted: FloatArray
    tested: BoolArray
    failing: BoolArray

    def __len__(self) -> int:
        return len(self.region)

    def summary(self, i: int) -> str:
        """The region at this position in words."""
        adjusted = f"= {self.adjusted[i]:.2g}" if self.adjusted[i] > 0.0 else "< 1e-300"
        return (
            f"{self._name(i)}: {self.n_errors[i]:,} of {self.n_rows[i]:,} rows wrong, "
            f"{self.expected[i]:.2g} expected, adjusted p {adjusted}"
        )

    def cells(self, i: int) -> tuple[str, ...]:
        """The region at this position as a row of a table: where, rows, wrong and expected ones, adjusted p-value."""
        counts = f"{self.n_rows[i]:,}", f"{self.n_errors[i]:,}", f"{self.expected[i]:.1f}"
        return self._name(i), *counts, p_in_short(self.adjusted[i])

    def _name(self, i: int) -> str:
        return with_number(self.where[i], int(self.region[i]))

    def _card(self) -> Card:
        n_failing = int(self.failing.sum())
        facts = (
            ("failing", f"{n_failing:,}"),
            ("pass", f"{int(self.tested.sum()) - n_failing:,}"),
            ("too few rows to test", f"{int((~self.tested).sum()):,}"),
        )
        order = np.lexsort((-self.n_rows, self.adjusted)).tolist()
        rows = tuple((*self.cells(i), "fails" if self.failing[i] else "") for i in order)
        head = ("where", "rows", "wrong", "expected", "adjusted p", "")
        return Card(f"RegionTests of {counted(len(self), 'region')}", facts, head, rows)


def check_regions(
    region: IntArray, wrong: BoolArray, claimed_risk: FloatArray, fdr: float, name: Callable[[int], str] = fallback_name
) -> RegionTests:
    """Count rows and errors of each region, and test them against what the decisions claim.

    `name` gives the name of a region.

    Examples
    --------
    Both regions claim a risk of 0.1; in the second, every other row is wrong.

    >>> region, wrong = np.repeat([3, 8], 40), np.tile([False, True], 40)
    >>> wrong[:38] = False
    >>> check_regions(region, wrong, np.full(80, 0.1), fdr=0.1).failing
    array([False,  True])
    """
    ids, which, n_rows = np.unique(region, return_inverse=True, return_counts=True)
    n_errors = np.bincount(which, weights=wrong, minlength=len(ids)).astype(np.int64)
    expected = np.bincount(which, weights=claimed_risk, minlength=len(ids)).astype(np.float64)
    p_value = tail(n_errors, n_rows, expected)
    # Which regions are tested depends only on rows and claims, never on errors.
    tested = tail(n_rows, n_rows, expected) <= fdr
    adjusted = np.ones(len(ids))
    if tested.any():
        adjusted[tested] = false_discovery_control(p_value[tested], method="bh")
    where = np.array([name(region_id) for region_id in ids.tolist()], dtype=object)
    return RegionTests(ids, where, n_rows, n_errors, expected, p_value, adjusted, tested, adjusted <= fdr)


def tail(n_errors: IntArray, n_rows: IntArray, expected: FloatArray) -> FloatArray:
    """An upper bound on the chance of at least `n_errors`, if each row is wrong with the probability it claims.

    This is the binomial tail at the mean claim, which is exact if all rows claim the same. Otherwise, by Hoeffding
    (1956), it bounds the Poisson-binomial tail above the expected number of errors plus one; below that, 1 is used.
    """
    mean = np.clip(expected / n_rows, 0.0, 1.0)
    chance = binom.sf(n_errors - 1, n_rows, mean)
    return np.where(n_errors >= expected + 1.0, chance, 1.0)
