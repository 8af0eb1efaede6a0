"""A digest of labelled rows that does not depend on their order, on blocks, or on where they are stored.

Every row is hashed together with its label, and the hashes are added up. Rows that differ by accident give another
digest, except with a probability of about 1 in 2^64. It is not a cryptographic hash: whoever may choose the rows can
make two sets with the same digest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.plain_values import plain
from sepc.points.row_hash import N_HASHES, mix, row_hashes

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
    """The digest of rows in memory; the label of row i is ``labels[which[i]]``.

    Examples
    --------
    >>> rows, labels = np.array([[1.0, 2.0], [3.0, np.nan]]), np.array(["a", "b"])
    >>> digest = digest_of_rows(rows, labels, np.array([0, 1]))
    >>> digest == digest_of_rows(rows[::-1], labels, np.array([1, 0]))
    True
    >>> digest == digest_of_rows(rows, labels, np.array([0, 0]))
    False
    """
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
