"""Hashes of rows that depend only on their values, samples of positions, and a digest of all rows in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.points.tiles import TILE_ROWS
from sepc.wording import plain

# The increment and the multipliers of splitmix64 (Steele, Lea and Flood 2014).
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)

N_HASHES = 2**64


def row_hashes(rows: FloatArray, seed: int) -> NDArray[np.uint64]:
    """Hash the 64-bit values of each row, column by column.

    Equal rows have equal hashes, in any block and memory order; -0.0 equals 0.0.
    """
    hashes = np.full(len(rows), seed % N_HASHES, dtype=np.uint64)
    for start in range(0, len(rows), TILE_ROWS):
        _mix_in_columns(hashes[start : start + TILE_ROWS], rows[start : start + TILE_ROWS])
    return hashes


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


# Every row is hashed together with its label, and the hashes are added up. Rows that differ by accident give another
# digest, except with a probability of about 1 in 2^64. It is not a cryptographic hash: whoever may choose the rows can
# make two sets with the same digest.


# Part of the key: another number here would give other digests.
VERSION = 1
SEED = 0x5345_5043
SECOND = np.uint64(0xD1B54A32D192ED03)

# Two sums of hashes, modulo 2^64.
Sums: TypeAlias = tuple[int, int]


@dataclass(frozen=True, eq=False)
class RowDigest:
    """The sums of the hashes of all rows of one label; `columns` says which columns count, None for all."""

    label: Any
    columns: BoolArray | None = None

    def map(self, block: FloatArray) -> Sums:
        """Add up the hashes of a block."""
        return _sums(_hashes(block, self.columns) ^ label_keys([self.label])[0])

    def combine(self, left: Sums, right: Sums) -> Sums:
        """Add two sums."""
        return add_sums([left, right])

    def finish(self, state: Sums) -> Sums:
        """The sums themselves, to be added to those of other labels."""
        return state


def digest_of_rows(
    rows: FloatArray, labels: NDArray[Any], which: NDArray[np.integer[Any]], columns: BoolArray | None = None
) -> str:
    """The digest of rows in memory; the label of row i is ``labels[which[i]]``."""
    return as_text(_sums(_hashes(rows, columns) ^ label_keys(labels)[which]))


def add_sums(sums: Iterable[Sums]) -> Sums:
    """Add the sums of several sets of rows."""
    first, second = zip(*sums, strict=True)
    return sum(first) % N_HASHES, sum(second) % N_HASHES


def as_text(sums: Sums) -> str:
    """The sums as 32 hexadecimal digits."""
    return f"{sums[0]:016x}{sums[1]:016x}"


def sums_in(text: str) -> Sums:
    """The sums that `as_text` wrote."""
    return int(text[:16], 16), int(text[16:], 16)


def label_keys(labels: Iterable[Any]) -> NDArray[np.uint64]:
    """A key for each label, by its value and type."""
    texts = (f"sepc rows {VERSION} {plain(label)!r}".encode() for label in labels)
    keys = [int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little") for text in texts]
    return np.array(keys, dtype=np.uint64)


def _hashes(rows: FloatArray, columns: BoolArray | None) -> NDArray[np.uint64]:
    if columns is not None and not columns.all():
        rows = rows[:, columns]
    is_missing = np.isnan(rows)
    if is_missing.any():
        # NaN has many bit patterns, which all count as the same missing value.
        rows = np.where(is_missing, np.nan, rows)
    return row_hashes(rows, SEED)


def _sums(hashes: NDArray[np.uint64]) -> Sums:
    """The sums of the mixed hashes; mixed once more for the second, so that neither is linear in the other."""
    mix(hashes)
    first = int(hashes.sum(dtype=np.uint64))
    hashes ^= SECOND
    mix(hashes)
    return first, int(hashes.sum(dtype=np.uint64))


def draw_rows(n_rows: int, n_wanted: int, block: int, seed: int) -> IntArray:
    """Positions of at most `n_wanted` rows of a block, in order; the same each time the block is read."""
    if n_rows <= n_wanted:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, block]).choice(n_rows, n_wanted, replace=False))
