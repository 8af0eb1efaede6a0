"""A sample in which repeated rows keep their share; the same on every engine and in any row order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.reductions import Answer, Reduction
from sepc.points.row_digest import N_HASHES, row_hashes

# Distinct rows held per row wanted, and the most rows held beyond those wanted: a sample of a million is large enough,
# and every worker sends the rows it holds. Even if the numbers of copies have a standard deviation of 1.7 times their
# mean, a sample drawn from four times as many rows is as good as one of distinct rows.
HELD_PER_WANTED = 4
MOST_SPARE = 200_000

HashArray: TypeAlias = NDArray[np.uint64]

HIGHEST_HASH = N_HASHES - 1


@dataclass(frozen=True, eq=False)
class CountedRows:
    """Distinct rows in the order of their hashes, each with its number of copies.

    Rows count as copies if their 64-bit hashes are equal. Among 10^8 distinct rows, the odds that any two collide are
    1 in 3,700; these two would be counted as one.
    """

    hashes: HashArray
    rows: FloatArray
    counts: IntArray

    def select(self, which: BoolArray | slice) -> CountedRows:
        """A subset of the rows."""
        return CountedRows(self.hashes[which], self.rows[which], self.counts[which])

    def merge(self, other: CountedRows) -> CountedRows:
        """The rows of both, with copies added up."""
        hashes, counts, first = _add_counts(self.hashes, self.counts, other.hashes, other.counts)
        return CountedRows(hashes, np.concatenate((self.rows, other.rows))[first], counts)


@dataclass(frozen=True, eq=False)
class FrequentHashes:
    """Hashes that may have many copies, after Misra and Gries (1982), merged as in Agarwal et al. (2013).

    If there are more than s counters, the (s + 1)-th largest count is subtracted from all, and those at zero are
    dropped. At least s + 1 counters lose that much, so with n rows the total subtracted is at most n / (s + 1),
    whatever the order of the rows.
    """

    hashes: HashArray
    counts: IntArray
    n_lost: int = 0

    def merge(self, other: FrequentHashes) -> FrequentHashes:
        """The counters of both, added up."""
        hashes, counts, _ = _add_counts(self.hashes, self.counts, other.hashes, other.counts)
        return FrequentHashes(hashes, counts, self.n_lost + other.n_lost)

    def trim(self, n_counters: int) -> FrequentHashes:
        """Reduce to at most this many counters."""
        n_over = len(self.counts) - n_counters
        if n_over <= 0:
            return self
        cut = int(np.partition(self.counts, n_over - 1)[n_over - 1])
        stays = self.counts > cut
        return FrequentHashes(self.hashes[stays], self.counts[stays] - cut, self.n_lost + cut)

    def may_exceed(self, n_copies: float) -> HashArray:
        """Hashes that may have more copies than this: all that do, and possibly others."""
        return self.hashes[self.counts + self.n_lost > n_copies]


@dataclass(frozen=True, eq=False)
class Counts:
    """The result of `RowCounts`."""

    held: CountedRows
    frequent: FrequentHashes


@dataclass(frozen=True, eq=False)
class RowCounts:
    """Exact numbers of copies of the rows with low hashes, and which other rows may have very many copies.

    A row that is not among the lowest of its block is not among the lowest overall. So every count is exact, and which
    rows are held does not depend on blocks or order.
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
        return Counts(rows, frequent.trim(self.n_counters))

    def combine(self, left: Counts, right: Counts) -> Counts:
        """Add the copies of rows found in both, and drop rows no longer among the lowest."""
        held = left.held.merge(right.held)
        held = held.select(self._is_held(held.hashes, self._highest_low(held.hashes)))
        return Counts(held, left.frequent.merge(right.frequent).trim(self.n_counters))

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


def _add_counts(
    left: HashArray, left_counts: IntArray, right: HashArray, right_counts: IntArray
) -> tuple[HashArray, IntArray, IntArray]:
    """The sorted hashes of both sides, the sums of their counts, and each one's first position in the concatenation."""
    both = np.concatenate((left, right))
    # A stable sort merges two sorted runs in linear time.
    order = np.argsort(both, kind="stable")
    hashes = both[order]
    is_first = np.ones(len(hashes), dtype=np.bool_)
    is_first[1:] = hashes[1:] != hashes[:-1]
    starts = np.flatnonzero(is_first)
    counts = np.add.reduceat(np.concatenate((left_counts, right_counts))[order], starts)
    return hashes[starts], counts, order[starts]


@dataclass(frozen=True)
class MemoryLimits:
    """How much a pass may keep in memory, per class."""

    n_rows: int = 2**14
    n_counters: int = 2**14

    def n_held(self, n_wanted: int) -> int:
        """Distinct rows to hold for a sample of this size."""
        return max(self.n_rows, n_wanted + min((HELD_PER_WANTED - 1) * n_wanted, MOST_SPARE))


MEMORY_LIMITS = MemoryLimits()


@dataclass(frozen=True, eq=False)
class ClassSample:
    """Rows drawn from one class."""

    rows: FloatArray
    weight: float


class RowsByClass(Protocol):
    """The rows of each class, wherever they are stored."""

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each class."""
        ...

    def reduce_each(self, reductions: Mapping[int, Reduction[Any, Answer]], /) -> dict[int, Answer]:
        """Summarise the rows of some classes, each by a reduction of its own."""
        ...


def sample_classes(
    classes: RowsByClass, n_wanted: int, seed: int, n_least: int = 1_000, limits: MemoryLimits = MEMORY_LIMITS
) -> list[ClassSample]:
    """Draw about `n_wanted` rows in proportion to the classes, but at least `n_least` of each, or all it has.

    Of the copies of a row, the same share is kept as of all rows, to within one copy. This needs the numbers of copies:
    of all distinct rows if they fit, otherwise of those with low hashes, which represent the others. Frequent rows
    are counted regardless of their hashes, so that they are never in or out by chance. If a few thousand rows repeat
    often, but not often enough to count as frequent, among many more that do not, the sample is unbiased but has a
    higher variance than one of distinct rows.

    Takes one pass if all rows fit, if a class has at most 8,192 distinct rows, or if rows rarely repeat. Takes two if
    some rows are frequent among many others, or if rows have two or more copies on average and the distinct ones do not
    fit. Classes share passes.
    """
    sizes = classes.sizes
    shares = [-(-n_wanted * n // max(1, sum(sizes))) for n in sizes]
    draws = [_Draw(n, min(n, max(share, n_least)), seed, limits) for n, share in zip(sizes, shares, strict=True)]
    counters = {k: draw.first_pass() for k, draw in enumerate(draws)}
    counts = classes.reduce_each(counters)
    second_passes = {k: draw.second_pass(counters[k], counts[k]) for k, draw in enumerate(draws)}
    again = {k: counter for k, counter in second_passes.items() if counter is not None}
    counters |= again
    counts |= classes.reduce_each(again)
    return [draw.sample(counters[k], counts[k]) for k, draw in enumerate(draws)]


@dataclass(frozen=True)
class _Draw:
    """A sample of `n_wanted` of the `n` rows of one class."""

    n: int
    n_wanted: int
    seed: int
    limits: MemoryLimits

    def first_pass(self) -> RowCounts:
        n_held = self.limits.n_held(self.n_wanted)
        if n_held >= self.n:
            return RowCounts(self.seed, HIGHEST_HASH)
        return RowCounts(self.seed, _hash_below(n_held / self.n), self.limits.n_rows // 2, self.limits.n_counters)

    def second_pass(self, first: RowCounts, counts: Counts) -> RowCounts | None:
        """What to count in a second pass; None if none is needed."""
        if counts.held.counts.sum() == self.n:
            return None
        limit = highest = _highest(first, counts.held)
        n_held = self.limits.n_held(self.n_wanted)
        if len(counts.held.hashes) < n_held / 2:
            # The hash below which the wanted number of rows is expected, judging by the hashes seen.
            limit = max(limit, _hash_below(n_held * (highest / N_HASHES) / len(counts.held.hashes)))
        frequent = counts.frequent.may_exceed(self._n_frequent)
        also = frequent[frequent > np.uint64(limit)]
        return RowCounts(self.seed, limit, also=also) if limit > highest or len(also) else None

    def sample(self, counter: RowCounts, counts: Counts) -> ClassSample:
        held = counts.held
        is_frequent = held.counts > self._n_frequent
        held = held.select(is_frequent | (held.hashes <= np.uint64(_highest(counter, held))))
        rows = np.repeat(held.rows, self._n_kept(held.counts), axis=0)
        return ClassSample(rows, self.n / max(1, len(rows)))

    @property
    def _n_frequent(self) -> float:
        """Rows with more copies than this are frequent."""
        return 2 * self.n / self.limits.n_counters

    def _n_kept(self, counts: IntArray) -> IntArray:
        """How many copies of each row to keep: systematic sampling in the order of hashes, from a random start.

        The rows held that are not frequent represent all such rows, including those not held.
        """
        share = self.n_wanted / max(1, self.n)
        is_frequent = counts > self._n_frequent
        n_frequent, n_others = counts[is_frequent].sum(), counts[~is_frequent].sum()
        share_of_others = min(1.0, share * (self.n - n_frequent) / max(1, n_others))
        ends = np.cumsum(counts * np.where(is_frequent, share, share_of_others))
        # The sum is an integer up to rounding, unless too few rows are held.
        total = np.round(ends[-1:])
        steps = np.floor(np.append(np.minimum(ends[:-1], total), total) + _start(self.seed)).astype(np.int64)
        return np.minimum(np.diff(steps, prepend=0), counts)


def _hash_below(share: float) -> int:
    """The hash below which about this share of the rows lies."""
    return min(int(share * N_HASHES), HIGHEST_HASH)


def _highest(counter: RowCounts, held: CountedRows) -> int:
    """The hash up to which every row was counted."""
    return max(counter.limit, int(held.hashes[-1])) if counter.n_least and len(held.hashes) else counter.limit


def _start(seed: int) -> float:
    """A number from 0 to 1 that depends only on the seed: the hash of an empty row."""
    return float(row_hashes(np.empty((1, 0)), seed)[0] >> np.uint64(32)) / 2**32
