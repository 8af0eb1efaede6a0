"""Rows that repeat others: copies on both sides of a test make its results look better than they are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepc._typing import IntArray
from sepc.looking.findings import Finding, Severity
from sepc.wording import counted

# Fewer repeated rows than this share of all hardly change a result; with differing labels, fewer matter.
FEWEST_COPIES, FEWEST_CONFLICTS = 0.05, 0.01
# In fewer different rows than this, copies cannot be told from rows that are equal by chance.
FEWEST_DIFFERENT = 20
# Rows without a column of this many values, such as answers of yes or no, are often equal by chance.
MANY_VALUES = 50


def copy_findings(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> list[Finding]:
    """A finding if many rows are copies of others; takes the same arguments as `copies`.

    Examples
    --------
    >>> copy_findings({"x": np.tile(np.random.default_rng(0).normal(size=100), 5)})[0].seen
    '400 of 500 rows repeat an earlier one in all columns used'
    """
    which = copies(values, y)
    if which is None:
        return []
    n, n_more = len(which), len(which) - int(which.max()) - 1
    seen = f"{n_more:,} of {counted(n, 'row')} repeat an earlier one in all columns used"
    if n_other := _n_conflicts(which, y):
        seen += f"; {n_other:,} rows have the same values as one with another label"
    severity = Severity.WRONG if 2 * n_more >= n else Severity.DOUBTFUL
    matters = "With copies of a row on both sides of a test, trust and results look better than they are"
    advice = "Remove copies before a fit, as with X.drop_duplicates() in pandas; --test-size of the command keeps them "
    return [Finding("rows", severity, seen, matters, f"{advice}on one side")]


def copies(values: Mapping[str, NDArray[Any]], y: ArrayLike | None = None) -> IntArray | None:
    """For each row, the number of the distinct row that it equals, if many are copies of others; otherwise None."""
    hashes = [_hashed(column, j) for j, column in enumerate(values.values())]
    if not hashes or len(hashes[0]) < FEWEST_DIFFERENT:
        return None
    whole: NDArray[np.uint64] = np.sum(hashes, axis=0, dtype=np.uint64)
    which = np.asarray(np.unique(whole, return_inverse=True)[1], dtype=np.int64)
    n, n_different = len(which), int(which.max()) + 1
    if n - n_different < FEWEST_COPIES * n and _n_conflicts(which, y) < max(2.0, FEWEST_CONFLICTS * n):
        return None
    labelled = whole if y is None else whole + _hashed(np.asarray(y).astype(str).astype(object), len(hashes))
    if n_different >= FEWEST_DIFFERENT and np.gcd.reduce(np.unique(labelled, return_counts=True)[1]) > 1:
        return which
    if len(hashes) == 1 or max(len(np.unique(column)) for column in hashes) < MANY_VALUES:
        return None
    n_pairs, *n_in_others = (_n_equal_pairs(hashed) for hashed in (whole, *(whole - column for column in hashes)))
    return which if sum(n_in_others) - len(hashes) * n_pairs < n_pairs else None


def _hashed(values: NDArray[Any], salt: int) -> NDArray[np.uint64]:
    """A random number for each value of a column, the same for equal values; that of a row is their sum."""
    if values.dtype.kind == "O":
        codes: dict[Any, int] = {}
        bits = np.array([codes.setdefault(value, len(codes)) for value in values.tolist()], dtype=np.uint64)
    else:
        # All gaps are equal, and so are 0 and -0.
        numbers = values if values.dtype.kind in "mM" else np.where(np.isnan(values), np.nan, values + 0.0)
        bits = numbers.view(np.uint64).copy()
    bits += np.uint64((salt + 1) * 0x9E3779B97F4A7C15 % 2**64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(bits ^ (bits >> np.uint64(31)))


def _n_equal_pairs(hashes: NDArray[np.uint64]) -> int:
    times = np.unique(hashes, return_counts=True)[1]
    return int((times * (times - 1) // 2).sum())


def _n_conflicts(which: IntArray, y: ArrayLike | None) -> int:
    """How many rows have the same values as a row with another label."""
    if y is None:
        return 0
    labels = np.unique(np.asarray(y).astype(str), return_inverse=True)[1]
    differ = np.zeros(int(which.max()) + 1, dtype=bool)
    differ[which[labels != labels[np.unique(which, return_index=True)[1]][which]]] = True
    return int(differ[which].sum())
