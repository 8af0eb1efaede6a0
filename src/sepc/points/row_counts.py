"""How often rows repeat: exact numbers of copies for as many distinct rows as there is room for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.row_hash import N_HASHES, row_hashes

HashArray: TypeAlias = NDArray[np.uint64]

HIGHEST_HASH = N_HASHES - 1


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows in the order of their hashes, each with its number of copies.

    Rows count as copies if their 64-bit hashes are equal. Among 10^8 distinct rows, the odds that any two share a hash
    are 1 to 3,700; these two would be counted as one.

    Attributes
    ----------
    hashes : (m,) array of uint64
    rows : (m, d) array
    counts : (m,) array of int
    """

    hashes: HashArray
    rows: FloatArray
    counts: IntArray

    def picked(self, which: BoolArray | slice) -> CountedRows:
        """A subset of the rows."""
        return CountedRows(self.hashes[which], self.rows[which], self.counts[which])

    def merged(self, other: CountedRows) -> CountedRows:
        """The rows of both, with copies added up."""
        hashes, counts, first = _added(self.hashes, self.counts, other.hashes, other.counts)
        return CountedRows(hashes, np.concatenate((self.rows, other.rows))[first], counts)


@dataclass(frozen=True, eq=False)
class FrequentHashes:
    """Hashes that may have many copies, after Misra and Gries (1982), merged as in Agarwal et al. (2013).

    If there are more than s counters, the (s + 1)-th largest is subtracted from all, and those at zero are dropped.
    At least s + 1 counters lose that much, so of n rows the sum of what is subtracted is at most n / (s + 1), in
    whatever order rows come.

    Attributes
    ----------
    hashes : (m,) array of uint64
    counts : (m,) array of int
        Copies of each, less what was subtracted.
    n_lost : int
        The total subtracted: a count is short by at most this many copies.
    """

    hashes: HashArray
    counts: IntArray
    n_lost: int = 0

    def merged(self, other: FrequentHashes) -> FrequentHashes:
        """The counters of both, added up."""
        hashes, counts, _ = _added(self.hashes, self.counts, other.hashes, other.counts)
        return FrequentHashes(hashes, counts, self.n_lost + other.n_lost)

    def trimmed(self, n_counters: int) -> FrequentHashes:
        """Reduce to at most this many counters."""
        n_over = len(self.counts) - n_counters
        if n_over <= 0:
            return self
        cut = int(np.partition(self.counts, n_over - 1)[n_over - 1])
        stays = self.counts > cut
        return FrequentHashes(self.hashes[stays], self.counts[stays] - cut, self.n_lost + cut)

    def may_exceed(self, n_copies: float) -> HashArray:
        """Hashes that may have more copies than this: all that do, and some others."""
        return self.hashes[self.counts + self.n_lost > n_copies]


@dataclass(frozen=True, eq=False)
class Counts:
    """The result of `RowCounts`."""

    held: CountedRows
    frequent: FrequentHashes


@dataclass(frozen=True, eq=False)
class RowCounts:
    """Exact numbers of copies of the rows with low hashes, and which other rows may have very many copies.

    A row that is not among the lowest of its block is not among the lowest of all rows either. So every count is exact,
    and which rows are held does not depend on blocks or order.

    Parameters
    ----------
    seed : int
        Seed of the hashes.
    limit : int
        Rows with hashes up to this are held.
    n_least : int
        At least this many distinct rows are held, those with the lowest hashes.
    n_counters : int
        Number of counters for frequent rows; 0 to not look for them.
    also : array of uint64, sorted
        Hashes of further rows to hold.

    Examples
    --------
    >>> look = RowCounts(seed=0, limit=HIGHEST_HASH)
    >>> look.map(np.array([[5.0], [7.0], [5.0]])).held.counts.tolist()
    [1, 2]
    """

    seed: int
    limit: int
    n_least: int = 0
    n_counters: int = 0
    also: HashArray = field(default_factory=lambda: np.empty(0, dtype=np.uint64))

    def map(self, block: FloatArray) -> Counts:
        """Count the rows of one block."""
        hashes = row_hashes(block, self.seed)
        distinct, counts = np.unique(hashes, return_counts=True)
        highest = self._highest_low(distinct)
        held = self._is_held(distinct, highest)
        copies = np.flatnonzero(self._is_held(hashes, highest))
        _, first = np.unique(hashes[copies], return_index=True)
        # Equal rows may differ in the sign of a zero; adding zero makes them identical, like their hashes.
        rows = CountedRows(distinct[held], block[copies[first]] + 0.0, counts[held])
        n_counted = len(distinct) if self.n_counters else 0
        frequent = FrequentHashes(distinct[:n_counted], counts[:n_counted])
        return Counts(rows, frequent.trimmed(self.n_counters))

    def combine(self, left: Counts, right: Counts) -> Counts:
        """Add the copies of rows found in both, and drop what is no longer among the lowest."""
        held = left.held.merged(right.held)
        held = held.picked(self._is_held(held.hashes, self._highest_low(held.hashes)))
        return Counts(held, left.frequent.merged(right.frequent).trimmed(self.n_counters))

    def finish(self, state: Counts) -> Counts:
        """Return the counts unchanged."""
        return state

    def _highest_low(self, distinct: HashArray) -> int:
        """The hash up to which rows are held, given sorted hashes."""
        n_low = min(self.n_least, len(distinct))
        return max(self.limit, int(distinct[n_low - 1])) if n_low else self.limit

    def _is_held(self, hashes: HashArray, highest: int) -> BoolArray:
        is_held: BoolArray = hashes <= np.uint64(highest)
        if len(self.also):
            places = np.searchsorted(self.also, hashes)
            is_held |= self.also[np.minimum(places, len(self.also) - 1)] == hashes
        return is_held


def _added(
    left: HashArray, left_counts: IntArray, right: HashArray, right_counts: IntArray
) -> tuple[HashArray, IntArray, IntArray]:
    """The sorted hashes of both sides, the sums of their counts, and the first position of each in both joined."""
    both = np.concatenate((left, right))
    # A stable sort merges two sorted runs in linear time.
    order = np.argsort(both, kind="stable")
    hashes = both[order]
    is_first = np.ones(len(hashes), dtype=np.bool_)
    is_first[1:] = hashes[1:] != hashes[:-1]
    starts = np.flatnonzero(is_first)
    counts = np.add.reduceat(np.concatenate((left_counts, right_counts))[order], starts)
    return hashes[starts], counts, order[starts]
