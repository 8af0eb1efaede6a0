"""A hash of every row that depends only on its values, so that all engines draw the same sample."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.points.tiles import TILE_ROWS

# The increment and the multipliers of splitmix64 (Steele, Lea and Flood 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)

N_HASHES = 2**64

SampleState: TypeAlias = tuple[int, tuple[FloatArray, ...]]


def row_hashes(rows: FloatArray, seed: int) -> NDArray[np.uint64]:
    """Hash the 64-bit values of each row, column by column.

    Equal rows have equal hashes, in any block and memory order; -0.0 equals 0.0.

    Parameters
    ----------
    rows : (n, d) array
    seed : int
        A different seed gives unrelated hashes.

    Returns
    -------
    (n,) array of uint64
    """
    hashes = np.full(len(rows), seed % N_HASHES, dtype=np.uint64)
    for start in range(0, len(rows), TILE_ROWS):
        _mix_in_columns(hashes[start : start + TILE_ROWS], rows[start : start + TILE_ROWS])
    return hashes


def is_sampled(rows: FloatArray, share: float, seed: int) -> BoolArray:
    """Which rows a sample of about `share` of all rows keeps; repeated rows are kept or dropped together."""
    if not 0 <= share <= 1:
        raise ValueError(f"share is {share}; it must be between 0 and 1.")
    if share == 1:
        return np.ones(len(rows), dtype=np.bool_)
    return row_hashes(rows, seed) < np.uint64(int(share * N_HASHES))


def _mix_in_columns(hashes: NDArray[np.uint64], tile: FloatArray) -> None:
    mix(hashes)
    for j in range(tile.shape[1]):
        # Adding zero turns -0.0 into 0.0 and makes the column contiguous.
        hashes ^= (tile[:, j] + 0.0).view(np.uint64)
        mix(hashes)


def mix(hashes: NDArray[np.uint64]) -> None:
    """One step of splitmix64, in place: every bit of the input flips about half of the output's."""
    hashes += GOLDEN
    hashes ^= hashes >> np.uint64(30)
    hashes *= FIRST_MULTIPLIER
    hashes ^= hashes >> np.uint64(27)
    hashes *= SECOND_MULTIPLIER
    hashes ^= hashes >> np.uint64(31)


@dataclass(frozen=True)
class HashSample:
    """About `share` of the rows, chosen by `row_hashes`: the same as ``points.sample(share, seed)``, but gathered.

    Equal rows are chosen together, so there may be many more than expected. If there are more than `max_rows`, all are
    dropped and the answer is None.
    """

    share: float
    seed: int
    max_rows: float = math.inf

    def map(self, block: FloatArray) -> SampleState:
        """Choose rows of one block."""
        rows = block[is_sampled(block, self.share, self.seed)]
        return len(rows), (rows,) if len(rows) <= self.max_rows else ()

    def combine(self, left: SampleState, right: SampleState) -> SampleState:
        """Keep all rows in order, unless there are too many."""
        n = left[0] + right[0]
        return n, left[1] + right[1] if n <= self.max_rows else ()

    def finish(self, state: SampleState) -> FloatArray | None:
        """The rows in one array, or None if there were too many."""
        return np.concatenate(state[1]) if state[1] else None
