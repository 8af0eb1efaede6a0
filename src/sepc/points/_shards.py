"""The tasks that `DaskPoints` runs on the workers, on the blocks they hold."""

from __future__ import annotations

import pickle
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Any, TypeAlias

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.points.in_memory import BYTES_PER_CELL, narrow_mask
from sepc.points.protocol import Reduction, State

# Blocks stored together, and the masks that divide each of them into parts; None means all rows.
Shard: TypeAlias = tuple[FloatArray, ...]
Masks: TypeAlias = tuple[BoolArray | None, ...]

# A run of adjacent blocks: the position of the first, their number, and their combined state.
Run: TypeAlias = tuple[int, int, State]

# The most bytes that a worker caches. A larger part of a shard is selected again in every pass.
KEPT_BYTES = 256_000_000


class KeptRows:
    """A cache of arrays by name; the least recently used are dropped once it is full.

    Examples
    --------
    >>> import numpy as np
    >>> kept = KeptRows(most_bytes=100)
    >>> first = kept.get("a", lambda: np.zeros((5, 2)))
    >>> kept.get("a", lambda: np.ones((5, 2))) is first
    True
    >>> kept.get("b", lambda: np.ones((3, 2))).shape, kept.n_bytes  # "a" was dropped
    ((3, 2), 48)
    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.n_bytes = 0
        self._arrays: OrderedDict[Hashable, FloatArray] = OrderedDict()
        self._lock = Lock()

    def get(self, name: Hashable, pick: Callable[[], FloatArray]) -> FloatArray:
        """The array of this name, computed by `pick` if it is not in the cache."""
        with self._lock:
            if name in self._arrays:
                self._arrays.move_to_end(name)
                return self._arrays[name]
        rows = pick()
        with self._lock:
            if name not in self._arrays:
                self._arrays[name] = rows
                self.n_bytes += rows.nbytes
            while self.n_bytes > self.most_bytes:
                self.n_bytes -= self._arrays.popitem(last=False)[1].nbytes
        return rows


# One for each worker process.
KEPT = KeptRows()


@dataclass(frozen=True)
class Wanted:
    """What a task needs to find one block of a set in its shard."""

    position: int
    place: int
    n_rows: int
    marks: str | None
    index: int
    side: int

    def mask(self, marks: dict[str, list[Masks]]) -> BoolArray | None:
        """The mask of the rows that are left, or None for all."""
        return None if self.marks is None else marks[self.marks][self.index][self.side]

    def rows(self, shard: Shard, marks: dict[str, list[Masks]]) -> FloatArray:
        """The rows that are left."""
        # Blocks from another worker may start at any byte, and BLAS rounds differently for unaligned data.
        block = np.require(shard[self.place], requirements="A")
        if self.n_rows == 0:
            return block[:0]
        mask = self.mask(marks)
        return block if mask is None else block[mask]


@dataclass(frozen=True)
class Part:
    """The blocks of one shard that are in a set."""

    shard: str
    wanted: Sequence[Wanted]

    def rows(self, shard: Shard, marks: dict[str, list[Masks]]) -> Iterator[FloatArray]:
        """The rows, block by block; selected only once if all of them fit into the cache."""
        n_bytes = sum(block.n_rows for block in self.wanted) * shard[0].shape[1] * BYTES_PER_CELL
        for block in self.wanted:
            if block.marks is None or block.n_rows == 0 or n_bytes > KEPT.most_bytes:
                yield block.rows(shard, marks)
            else:
                name = (self.shard, block.marks, block.index, block.side)
                yield KEPT.get(name, partial(block.rows, shard, marks))


def reduce_part(pickled: bytes, shard: Shard, part: Part, marks: dict[str, list[Masks]]) -> bytes:
    """Apply a pickled reduction to the blocks; the states are returned pickled."""
    reduction = pickle.loads(pickled)
    blocks = zip(part.wanted, part.rows(shard, marks), strict=True)
    states = ((block.position, reduction.map(rows)) for block, rows in blocks)
    return pickle.dumps(join_runs(reduction, states), protocol=5)


def join_runs(reduction: Reduction[State, Any], states: Any) -> list[Run[State]]:
    """Combine states as far as the tree of `combine_runs` would combine adjacent blocks.

    In that tree, runs of 2^k blocks become one state if they begin at a multiple of 2^k.
    """
    runs: list[Run[State]] = []
    for start, state in states:
        n = 1
        while runs and runs[-1][:2] == (start - n, n) and (start - n) % (2 * n) == 0:
            start, _, left = runs.pop()
            n, state = 2 * n, reduction.combine(left, state)
        runs.append((start, n, state))
    return runs


def divide_part(pickled: bytes, shard: Shard, part: Part, marks: dict[str, list[Masks]]) -> list[Masks]:
    """Masks of the rows inside and outside, for whole blocks; None for a block with no rows left."""
    test, masks = pickle.loads(pickled), list[Masks]()
    for block, rows in zip(part.wanted, part.rows(shard, marks), strict=True):
        if block.n_rows == 0:
            masks.append((None, None))
            continue
        inside = test(rows)
        old, n = block.mask(marks), len(shard[block.place])
        masks.append((narrow_mask(old, inside, n), narrow_mask(old, ~inside, n)))
    return masks


def count_kept(marks: Sequence[Masks], n_rows: Sequence[int]) -> bytes:
    """How many rows of each block its masks keep, as a pickled list of tuples."""
    return pickle.dumps(
        [
            tuple(n if mask is None else int(np.count_nonzero(mask)) for mask in masks)
            for masks, n in zip(marks, n_rows, strict=True)
        ]
    )


def rescale_shard(shard: Shard, shift: FloatArray, scale: FloatArray) -> Shard:
    """The blocks as ``(x - shift) / scale``."""
    return tuple((block - shift) / scale for block in shard)


class AllRows:
    """A reduction whose answer is all rows."""

    def map(self, block: FloatArray) -> tuple[FloatArray, ...]:
        """The block itself."""
        return (block,)

    def combine(self, left: tuple[FloatArray, ...], right: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """Keep the blocks in order."""
        return left + right

    def finish(self, blocks: tuple[FloatArray, ...]) -> FloatArray:
        """All rows in one array."""
        return np.concatenate(blocks)
