"""The signature table: training rows of each class by the set of ellipsoids they lie in, and verdicts from it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.model.membership import (
    Stack,
    as_values,
    pack_sets,
    stack_ellipsoids,
    tiles_of_squared_radii,
    unpack_sets,
)
from sepc.records import bools, counts, record
from sepc.shapes.ellipsoid import Ellipsoid

Floats: TypeAlias = NDArray[np.float32]

# Numbers in memory at a time: 8 MB.
BLOCK_ENTRIES = 2**20


@dataclass(frozen=True, eq=False)
class SignatureCounts:
    """The distinct sets of ellipsoids, (T, K), and the number of rows with each of them, (T,)."""

    memberships: BoolArray
    counts: IntArray


@record
class SignatureTable(ShownOnOneLine):
    """How many training rows of each class lie in exactly which ellipsoids, for every set that occurs.

    Attributes
    ----------
    memberships : (T, K) bool array
        The sets of ellipsoids, in lexicographic order.
    counts : (T, C) array
        Training rows of each class that lie in exactly the ellipsoids of a set.

    Examples
    --------
    Two ellipsoids; 5 rows of the first class lie in the first alone, 1 in both, 3 rows of the second in the second.

    >>> table = SignatureTable(np.array([[0, 1], [1, 0], [1, 1]], dtype=bool), np.array([[0, 3], [5, 0], [1, 0]]))
    >>> table.inside_all(np.array([[True, False]]))
    array([[6, 0]])
    >>> table.inside_any(np.array([[True, True]]))
    array([[6, 3]])
    >>> table.find(pack_sets(np.array([[True, False], [False, False]])))
    array([ 1, -1])
    """

    memberships: BoolArray = bools("T", "K")
    counts: IntArray = counts("T", "C")

    def flaw(self) -> str | None:
        """What is wrong with the sets, if anything: they must be distinct and in lexicographic order."""
        above, below = self.memberships[:-1], self.memberships[1:]
        differs = above != below
        first = differs.argmax(axis=1) if self.memberships.shape[1] else np.zeros(len(above), dtype=np.int64)
        is_ordered = differs.any(axis=1).all() and (len(above) == 0 or below[np.arange(len(below)), first].all())
        return None if len(self.memberships) and is_ordered else "has a signature table that is empty or not in order"

    @classmethod
    def of_classes(cls, per_class: Sequence[SignatureCounts]) -> SignatureTable:
        """Build the table from the signatures of each class."""
        memberships = np.concatenate([signatures.memberships for signatures in per_class])
        which = np.repeat(np.arange(len(per_class)), [len(signatures.counts) for signatures in per_class])
        if memberships.shape[1] == 0:
            sets, places = memberships[:1], np.zeros(len(memberships), dtype=np.int64)
        else:
            sets, places = np.unique(memberships, axis=0, return_inverse=True)
        counts = np.zeros((len(sets), len(per_class)), dtype=np.int64)
        np.add.at(counts, (places.ravel(), which), np.concatenate([signatures.counts for signatures in per_class]))
        return cls(sets, counts)

    @property
    def n_regions(self) -> int:
        """The number of regions: sets of one or more ellipsoids that training rows lie in."""
        return int(self.memberships.any(axis=1).sum())

    def inside_all(self, sets: BoolArray) -> IntArray:
        """Rows of each class that lie in every ellipsoid of a set, for each of `sets`, of shape (S, C)."""
        return self._sum_where(sets, lambda wanted, members: wanted @ (1.0 - members.T) == 0.0)

    def inside_any(self, sets: BoolArray) -> IntArray:
        """Rows of each class that lie in some ellipsoid of a set, for each of `sets`, of shape (S, C)."""
        return self._sum_where(sets, lambda wanted, members: wanted @ members.T > 0.0)

    def inside_only(self, sets: BoolArray) -> IntArray:
        """Rows of each class that lie in some ellipsoid of a set and in no other, for each of `sets`; (S, C)."""
        return self._sum_where(
            sets, lambda wanted, members: ((1.0 - wanted) @ members.T == 0.0) & np.atleast_2d(members.any(axis=1))
        )

    def inside_each(self, ellipsoids: IntArray) -> IntArray:
        """Rows of each class that lie in an ellipsoid, for each of some ellipsoids, of shape (n, C)."""
        summed = np.zeros((len(ellipsoids), self.counts.shape[1]))
        for part in _blocks(len(self.counts), max(summed.shape)):
            members = self.memberships[part][:, ellipsoids].astype(np.float64)
            summed += members.T @ self.counts[part].astype(np.float64)
        return summed.astype(np.int64)

    def inside_one(self, ellipsoids: IntArray) -> IntArray:
        """Rows of each class that lie in an ellipsoid and in no other, for each of some ellipsoids; (n, C)."""
        region = self._alone[ellipsoids]
        return np.where(region[:, np.newaxis] >= 0, self.counts[region], 0)

    @cached_property
    def rows_inside(self) -> IntArray:
        """Rows of all classes in each ellipsoid, of shape (K,)."""
        summed, n_rows = np.zeros(self.memberships.shape[1]), self.counts.sum(axis=1).astype(np.float64)
        for part in _blocks(len(n_rows), len(summed)):
            summed += n_rows[part] @ self.memberships[part].astype(np.float64)
        return summed.astype(np.int64)

    def find(self, keys: FloatArray) -> IntArray:
        """The table row of each key (see `pack_sets`); -1 where no training row has that set."""
        wanted, (known, rows) = as_values(keys), self._sorted_keys
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[places] == wanted, rows[places], -1)

    def _sum_where(self, sets: BoolArray, is_meant: Callable[[Floats, Floats], BoolArray]) -> IntArray:
        """Rows of each class in the table rows that `is_meant` finds for each of `sets`, of shape (S, C)."""
        # BLAS takes no integers. Doubles hold counts exactly up to 2^53 rows, and floats hold up to 2^24 ellipsoids.
        summed = np.zeros((len(sets), self.counts.shape[1]))
        K, C = self.memberships.shape[1], self.counts.shape[1]
        for part in _blocks(len(self.counts), max(K, C)):
            members, counts = self.memberships[part].astype(np.float32), self.counts[part].astype(np.float64)
            for block in _blocks(len(sets), max(K, len(members))):
                # All numbers are 0 or 1, but some BLAS raise flags for memory beside small matrices of floats.
                with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
                    meant = is_meant(sets[block].astype(np.float32), members)
                summed[block] += meant.astype(np.float64) @ counts
        return summed.astype(np.int64)

    @cached_property
    def _alone(self) -> IntArray:
        """The table row of each ellipsoid alone, of shape (K,); -1 where no training row lies in it alone."""
        region = np.full(self.memberships.shape[1], -1)
        single = np.flatnonzero(self.memberships.sum(axis=1) == 1)
        region[self.memberships[single].argmax(axis=1) if len(single) else single] = single
        return region

    @cached_property
    def _sorted_keys(self) -> tuple[NDArray[Any], IntArray]:
        keys = as_values(pack_sets(self.memberships))
        order = np.argsort(keys)
        return keys[order], order


def _blocks(n: int, width: int) -> Iterator[slice]:
    """Divide `n` rows of this width into blocks."""
    step = max(1, BLOCK_ENTRIES // max(1, width))
    return (slice(start, start + step) for start in range(0, n, step))


Tally: TypeAlias = tuple[FloatArray, IntArray]


@dataclass(frozen=True, eq=False)
class Signatures:
    """A reduction: how many rows lie in exactly which ellipsoids, for every set that occurs."""

    stack: Stack
    slack: float

    @classmethod
    def of(cls, ellipsoids: Sequence[Ellipsoid], n_features: int, slack: float) -> Self:
        """Prepare the ellipsoids."""
        centers = np.array([ellipsoid.center for ellipsoid in ellipsoids]).reshape(-1, n_features)
        roots = np.array([ellipsoid.root for ellipsoid in ellipsoids]).reshape(-1, n_features, n_features)
        return cls(stack_ellipsoids(centers, roots), slack)

    def map(self, block: FloatArray) -> Tally:
        """Count the sets of one block, tile by tile so that each stays in the cache."""
        none = pack_sets(np.empty((0, len(self.stack.centers)), dtype=bool)), np.empty(0, dtype=np.int64)
        tiles = (pack_sets(1.0 + self.slack >= squared) for _, squared in tiles_of_squared_radii(block, self.stack))
        return _tally(none, *(_tally((keys, np.ones(len(keys), dtype=np.int64))) for keys in tiles))

    def combine(self, left: Tally, right: Tally) -> Tally:
        """Add the counts of sets found in both."""
        return _tally(left, right)

    def finish(self, tally: Tally) -> SignatureCounts:
        """Unpack the sets."""
        return SignatureCounts(unpack_sets(tally[0], len(self.stack.centers)), tally[1])


def _tally(*parts: Tally) -> Tally:
    """The distinct keys, and the sums of their counts."""
    keys, counts = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    order = np.lexsort(keys.T)
    keys, is_first = keys[order], np.ones(len(keys), dtype=bool)
    is_first[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    return keys[starts], np.add.reduceat(counts[order], starts, dtype=np.int64)


# All arrays of verdicts, and those still needed where weights decide.
FIELDS = ("label", "trust", "probabilities", "counts", "rule", "region")
BESIDE_WEIGHTS = ("label", "counts", "rule", "region")


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts of the rules on rows or sets of ellipsoids: arrays with one entry for each."""

    label: IntArray
    trust: FloatArray
    probabilities: FloatArray
    counts: IntArray
    rule: IntArray
    region: IntArray

    @classmethod
    def blank(cls, n: int, n_classes: int) -> Verdicts:
        """Uninitialised arrays for `n` verdicts."""
        label, rule, region = np.empty((3, n), dtype=np.int64)
        trust = np.empty(n)
        counts = np.empty((n, n_classes), dtype=np.int64)
        return cls(label, trust, np.empty((n, n_classes)), counts, rule, region)

    def put(
        self, where: slice | IntArray, others: Verdicts, which: IntArray | None = None, names: Collection[str] = FIELDS
    ) -> None:
        """Copy `others`, or `others[which]`, to the positions `where`; only the arrays in `names`."""
        for name in names:
            entries, values = getattr(self, name), getattr(others, name)
            if which is None or not isinstance(where, slice):
                entries[where] = values if which is None else values[which]
            else:
                np.take(values, which, axis=0, out=entries[where], mode="wrap")


class KeptVerdicts:
    """Verdicts on the sets in a model's table, each filled in when a row first has that set."""

    def __init__(self, n_sets: int, n_classes: int) -> None:
        self._size = n_sets, n_classes
        self.verdicts, self.is_known = Verdicts.blank(n_sets + 1, n_classes), np.zeros(n_sets + 1, dtype=bool)

    def __reduce__(self) -> Any:
        # The cache is cheap to rebuild, so it is not sent to other processes with a model.
        return KeptVerdicts, self._size
