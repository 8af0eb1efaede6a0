"""A sample in which repeated rows keep their share; the same on every engine and for any order of the rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.joint_reduction import reduce_each_its_own
from sepc.points.protocol import PointSet
from sepc.points.row_counts import HIGHEST_HASH, CountedRows, Counts, RowCounts
from sepc.points.row_hash import N_HASHES, row_hashes

# Distinct rows held per row wanted, and the most rows held beyond those wanted: a sample of a million is large enough
# as it is, and held rows are sent by every worker. Even if the numbers of copies have a deviation of 1.7 times their
# mean, a sample drawn from four times the rows is as good as one of distinct rows.
HELD_PER_WANTED = 4
MOST_SPARE = 200_000


@dataclass(frozen=True)
class Room:
    """How much a pass may remember of one class.

    Attributes
    ----------
    n_rows : int
        The fewest distinct rows held; half of them whatever their hashes are.
    n_counters : int
        Number of counters for frequent rows: of n rows, those with more than 2 n / `n_counters` copies. Twice as many
        as needed, so that rows that never repeat are not taken for frequent ones and need no second pass.
    """

    n_rows: int = 2**14
    n_counters: int = 2**14

    def n_held(self, n_wanted: int) -> int:
        """Distinct rows to hold for a sample of this size."""
        return max(self.n_rows, n_wanted + min((HELD_PER_WANTED - 1) * n_wanted, MOST_SPARE))


ROOM = Room()


@dataclass(frozen=True, eq=False)
class ClassSample:
    """Rows drawn from one class.

    Attributes
    ----------
    rows : (k, d) array
        In the order of their hashes, copies side by side.
    weight : float
        How many rows of the class each of them stands for.
    """

    rows: FloatArray
    weight: float


def sample_classes(
    classes: Sequence[PointSet], n_wanted: int, seed: int, n_least: int = 1_000, room: Room = ROOM
) -> list[ClassSample]:
    """Draw about `n_wanted` rows, of each class its share, but at least `n_least` or all it has.

    Of the copies of a row, the same share is kept as of all rows, to within one copy. This needs the number of copies:
    of all distinct rows if there is room, otherwise of those with low hashes, which represent the others. Frequent rows
    are counted whatever their hashes, so that they are never in or out by chance. If a few thousand rows repeat often,
    but not often enough to count as frequent, among many more that do not, the sample is unbiased but varies more than
    one of distinct rows.

    Takes one pass if there is room for all rows, if a class has at most 8,192 distinct rows, or if rows hardly repeat.
    Takes two if some rows are frequent among many others, or if rows have two or more copies on average and there is no
    room for all distinct ones. Classes share passes as in `reduce_each`.

    Parameters
    ----------
    classes : sequence of PointSet
    n_wanted : int
    seed : int
        Another seed draws other rows.
    n_least : int
    room : Room

    Returns
    -------
    list of ClassSample

    Examples
    --------
    >>> from sepc import ArrayPoints
    >>> rows = np.repeat([[1.0], [2.0], [3.0]], [60, 30, 10], axis=0)
    >>> [sample] = sample_classes([ArrayPoints(rows)], n_wanted=10, seed=0, n_least=0)
    >>> np.unique(sample.rows, return_counts=True), sample.weight
    ((array([1., 2., 3.]), array([6, 3, 1])), 10.0)
    """
    draws = _draws(classes, n_wanted, seed, n_least, room)
    looks = [draw.first_look() for draw in draws]
    counts = reduce_each_its_own(classes, looks)
    again = {i: look for i, draw in enumerate(draws) if (look := draw.second_look(looks[i], counts[i])) is not None}
    second = reduce_each_its_own([classes[i] for i in again], list(again.values()))
    for i, counted in zip(again, second, strict=True):
        looks[i], counts[i] = again[i], counted
    return [draw.sample(look, counted) for draw, look, counted in zip(draws, looks, counts, strict=True)]


@dataclass(frozen=True)
class _Draw:
    """A sample of `n_wanted` of the `n` rows of one class."""

    n: int
    n_wanted: int
    seed: int
    room: Room

    def first_look(self) -> RowCounts:
        n_held = self.room.n_held(self.n_wanted)
        if n_held >= self.n:
            return RowCounts(self.seed, HIGHEST_HASH)
        return RowCounts(self.seed, _hash_below(n_held / self.n), self.room.n_rows // 2, self.room.n_counters)

    def second_look(self, first: RowCounts, counts: Counts) -> RowCounts | None:
        """The second count that is needed, if any."""
        if counts.held.counts.sum() == self.n:
            return None
        limit = highest = _highest(first, counts.held)
        n_held = self.room.n_held(self.n_wanted)
        if len(counts.held.hashes) < n_held / 2:
            # The hash below which there should be as many rows as wanted, judged by the hashes seen.
            limit = max(limit, _hash_below(n_held * (highest / N_HASHES) / len(counts.held.hashes)))
        frequent = counts.frequent.may_exceed(self._n_frequent)
        also = frequent[frequent > np.uint64(limit)]
        return RowCounts(self.seed, limit, also=also) if limit > highest or len(also) else None

    def sample(self, look: RowCounts, counts: Counts) -> ClassSample:
        held = counts.held
        is_frequent = held.counts > self._n_frequent
        held = held.picked(is_frequent | (held.hashes <= np.uint64(_highest(look, held))))
        rows = np.repeat(held.rows, self._n_kept(held.counts), axis=0)
        return ClassSample(rows, self.n / max(1, len(rows)))

    @property
    def _n_frequent(self) -> float:
        """Rows with more copies than this are frequent."""
        return 2 * self.n / self.room.n_counters

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


def _draws(classes: Sequence[PointSet], n_wanted: int, seed: int, n_least: int, room: Room) -> list[_Draw]:
    sizes = [points.n_points for points in classes]
    shares = [-(-n_wanted * n // max(1, sum(sizes))) for n in sizes]
    return [_Draw(n, min(n, max(share, n_least)), seed, room) for n, share in zip(sizes, shares, strict=True)]


def _hash_below(share: float) -> int:
    """The hash below which about this share of the rows lies."""
    return min(int(share * N_HASHES), HIGHEST_HASH)


def _highest(look: RowCounts, held: CountedRows) -> int:
    """The hash up to which every row was counted."""
    return max(look.limit, int(held.hashes[-1])) if look.n_least and len(held.hashes) else look.limit


def _start(seed: int) -> float:
    """A number from 0 to 1 that depends only on the seed: the hash of an empty row."""
    return float(row_hashes(np.empty((1, 0)), seed)[0] >> np.uint64(32)) / 2**32
