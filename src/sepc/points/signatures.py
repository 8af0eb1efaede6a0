"""Count rows by the set of regions they lie in: the reduction behind the signature table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.protocol import Region
from sepc.points.tiles import row_tiles

# Signatures as columns of 64-bit words, with the first region in the highest bit of the first word, so that numeric
# order is the lexicographic order of the sets.
Words: TypeAlias = NDArray[np.uint64]
WORD_BITS = 64

SignatureState: TypeAlias = tuple[Words, IntArray]


@dataclass(frozen=True, eq=False)
class SignatureCounts:
    """The distinct sets of regions, (T, K) in lexicographic order, and the number of rows with each of them, (T,)."""

    memberships: BoolArray
    counts: IntArray


@dataclass(frozen=True)
class Signatures:
    """How many rows lie in exactly which regions, for every set of regions that occurs.

    Parameters
    ----------
    regions : tuple of Region
        Ellipsoids, or any others.

    Examples
    --------
    >>> from sepc.geometry import ArrayPoints
    >>> from sepc.geometry import Ellipsoid
    >>> intervals = (Ellipsoid(np.zeros(1), np.eye(1)), Ellipsoid(np.ones(1), np.eye(1)))
    >>> signatures = ArrayPoints(np.array([[-1.0], [0.5], [0.6], [9.0]])).reduce(Signatures(intervals))
    >>> signatures.memberships.tolist(), signatures.counts.tolist()
    ([[False, False], [True, False], [True, True]], [1, 1, 2])
    """

    regions: tuple[Region, ...]

    def map(self, block: FloatArray) -> SignatureState:
        """Count the signatures of one block, tile by tile so that each stays in the cache."""
        tallies = [_count(words) for words in map(self.words, row_tiles(block))]
        return _merge([(self.words(block[:0]), np.empty(0, dtype=np.int64)), *tallies])

    def combine(self, left: SignatureState, right: SignatureState) -> SignatureState:
        """Merge two tables."""
        return _merge([left, right])

    def finish(self, state: SignatureState) -> SignatureCounts:
        """Unpack the words into sets."""
        words, counts = state
        memberships = np.empty((len(counts), len(self.regions)), dtype=np.bool_)
        for k in range(len(self.regions)):
            word, shift = _place(k)
            memberships[:, k] = words[word] >> shift & np.uint64(1)
        return SignatureCounts(memberships, counts)

    def words(self, tile: FloatArray) -> Words:
        """The signatures of rows."""
        words = np.zeros((max(1, -(-len(self.regions) // WORD_BITS)), len(tile)), dtype=np.uint64)
        for k, region in enumerate(self.regions):
            word, shift = _place(k)
            words[word] |= region.contains(tile).astype(np.uint64) << shift
        return words


def _place(k: int) -> tuple[int, np.uint64]:
    """The word that holds the bit of region `k`, and the position of the bit in it."""
    return k // WORD_BITS, np.uint64(WORD_BITS - 1 - k % WORD_BITS)


def _merge(states: list[SignatureState]) -> SignatureState:
    return _tally(np.concatenate([words for words, _ in states], axis=1), np.concatenate([n for _, n in states]))


def _count(words: Words) -> SignatureState:
    """The distinct signatures of some rows, sorted, and how often each occurs."""
    ordered = np.sort(words, axis=1) if len(words) == 1 else words[:, np.lexsort(words[::-1])]
    starts = _starts(ordered)
    return ordered[:, starts], np.diff(starts, append=ordered.shape[1])


def _tally(words: Words, counts: IntArray) -> SignatureState:
    """Sort the signatures and add the counts of equal ones."""
    order = np.lexsort(words[::-1])
    words = words[:, order]
    starts = _starts(words)
    return words[:, starts], np.add.reduceat(counts[order], starts, dtype=np.int64)


def _starts(ordered: Words) -> IntArray:
    """Where each of the distinct signatures begins."""
    is_first = np.ones(ordered.shape[1], dtype=np.bool_)
    is_first[1:] = (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)
    return np.flatnonzero(is_first)
