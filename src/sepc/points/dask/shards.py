"""What a worker does with the blocks it holds; sent there by `DaskPoints`."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.points.in_memory import BYTES_PER_CELL, narrowed_mask
from sepc.points.kept_rows import KeptRows
from sepc.points.protocol import Reduction, State

# Blocks that are kept together, and masks of the parts that each is divided into; None for all rows.
Shard: TypeAlias = tuple[FloatArray, ...]
Masks: TypeAlias = tuple[BoolArray | None, ...]

# One for each worker process.
KEPT = KeptRows()

# A state of neighbouring blocks: the position of the first, how many, and the state itself.
Run: TypeAlias = tuple[int, int, State]


@dataclass(frozen=True)
class Wanted:
    """A block of a set, as a task on its shard finds it.

    Attributes
    ----------
    position : int
        Among the blocks of the set.
    place : int
        In the shard.
    n_rows : int
        Rows that are left.
    marks : str or None
        Key of the masks of several blocks, of which those at `index` are this block's, and `side` tells which one.
    index, side : int
    """

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
        # Blocks that came from another worker may begin at any byte, and BLAS rounds differently for these.
        block = np.require(shard[self.place], requirements="A")
        if self.n_rows == 0:
            return block[:0]
        mask = self.mask(marks)
        return block if mask is None else block[mask]


@dataclass(frozen=True)
class Part:
    """The blocks of one shard that are in a set.

    Attributes
    ----------
    shard : str
        Its key.
    wanted : sequence of Wanted
    """

    shard: str
    wanted: Sequence[Wanted]

    def rows(self, shard: Shard, marks: dict[str, list[Masks]]) -> Iterator[FloatArray]:
        """The rows of one block after the other; picked once if they all can be kept."""
        n_bytes = sum(one.n_rows for one in self.wanted) * shard[0].shape[1] * BYTES_PER_CELL
        for one in self.wanted:
            if one.marks is None or one.n_rows == 0 or n_bytes > KEPT.most_bytes:
                yield one.rows(shard, marks)
            else:
                name = (self.shard, one.marks, one.index, one.side)
                yield KEPT.get(name, partial(one.rows, shard, marks))


def reduced(question: bytes, shard: Shard, part: Part, marks: dict[str, list[Masks]]) -> bytes:
    """States of a pickled reduction, pickled."""
    reduction = pickle.loads(question)
    blocks = zip(part.wanted, part.rows(shard, marks), strict=True)
    states = ((one.position, reduction.map(rows)) for one, rows in blocks)
    return pickle.dumps(joined_runs(reduction, states), protocol=5)


def joined_runs(reduction: Reduction[State, Any], states: Any) -> list[Run[State]]:
    """Join states, given with the positions of their blocks, as far as the tree of `combine_runs` joins them.

    There, runs of a power of two of blocks become one state if they begin at a multiple of their number.
    """
    runs: list[Run[State]] = []
    for start, state in states:
        n = 1
        while runs and runs[-1][:2] == (start - n, n) and (start - n) % (2 * n) == 0:
            start, _, left = runs.pop()
            n, state = 2 * n, reduction.combine(left, state)
        runs.append((start, n, state))
    return runs


def divided(question: bytes, shard: Shard, part: Part, marks: dict[str, list[Masks]]) -> list[Masks]:
    """Masks of the rows inside and outside, for whole blocks; a block without rows left needs none."""
    test, found = pickle.loads(question), list[Masks]()
    for one, rows in zip(part.wanted, part.rows(shard, marks), strict=True):
        if one.n_rows == 0:
            found.append((None, None))
            continue
        inside = test(rows)
        old, n = one.mask(marks), len(shard[one.place])
        found.append((narrowed_mask(old, inside, n), narrowed_mask(old, ~inside, n)))
    return found


def counted(marks: Sequence[Masks], n_rows: Sequence[int]) -> bytes:
    """How many of the rows of each block its masks leave, as a pickled list of tuples."""
    return pickle.dumps(
        [
            tuple(n if mask is None else int(np.count_nonzero(mask)) for mask in masks)
            for masks, n in zip(marks, n_rows, strict=True)
        ]
    )


def rescaled(shard: Shard, shift: FloatArray, scale: FloatArray) -> Shard:
    """The blocks as ``(x - shift) / scale``."""
    return tuple((block - shift) / scale for block in shard)


class AllRows:
    """A reduction that leaves nothing out."""

    def map(self, block: FloatArray) -> tuple[FloatArray, ...]:
        """The block itself."""
        return (block,)

    def combine(self, left: tuple[FloatArray, ...], right: tuple[FloatArray, ...]) -> tuple[FloatArray, ...]:
        """One after the other."""
        return left + right

    def finish(self, blocks: tuple[FloatArray, ...]) -> FloatArray:
        """Join them in one array."""
        return np.concatenate(blocks)
