"""Where rows lie: in which ellipsoids, and how deep."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.model.membership import Stack, padded_tiles

# How many ellipsoids are packed into one number, as powers of two that a double adds exactly.
WORD_BITS = 52
POWERS = 2.0 ** np.arange(WORD_BITS)

# Computes m numbers per row, (m, tile), from the rows as columns, (d, tile), and their squared radii, (K, tile).
TileFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True, eq=False)
class Located:
    """Where some rows lie.

    Attributes
    ----------
    keys : (n, W) array
        The set of ellipsoids of each row, packed into numbers; zeros without `with_keys`.
    squared : (n,) array
        The smallest squared radius of each row in any ellipsoid; infinite if there is none.
    outside : (m,) array
        The rows that lie in no ellipsoid.
    outside_squared : (m, K) array
        Their squared radii in every ellipsoid.
    extra : (n, m) array
        What the function `extra` computed.
    """

    keys: FloatArray
    squared: FloatArray
    outside: IntArray
    outside_squared: FloatArray
    extra: FloatArray


def locate(
    rows: FloatArray,
    stack: Stack,
    slack: float,
    extra: TileFunction | None = None,
    n_extra: int = 0,
    with_keys: bool = True,
) -> Located:
    """Find the ellipsoids of every row, tile by tile, so that squared radii are never all in memory.

    The function `extra` may compute `n_extra` further numbers per row from the squared radii of a tile.
    """
    n, K = len(rows), len(stack.centers)
    limit = 1.0 + slack
    squared, keys, extras = np.full(n, np.inf), np.zeros((n, len(_words(K)))), np.empty((n, n_extra))
    outside: list[IntArray] = [np.empty(0, dtype=np.int64)]
    outside_squared: list[FloatArray] = [np.empty((0, K))]
    for place, columns, padded in padded_tiles(rows, stack, n_extra):
        n_rows = place.stop - place.start
        tile = padded[:, :n_rows]
        if extra is not None:
            extras[place] = extra(columns[:, :n_rows], tile).T
        tile.min(axis=0, initial=np.inf, out=squared[place])
        if with_keys:
            keys[place] = pack_sets((limit >= tile).T)
        alone = np.flatnonzero(squared[place] > limit)
        if len(alone):
            outside.append(place.start + alone)
            outside_squared.append(tile[:, alone].T)
    return Located(keys, squared, np.concatenate(outside), np.concatenate(outside_squared), extras)


def pack_sets(sets: BoolArray) -> FloatArray:
    """Pack sets of ellipsoids, one per row, into numbers as in `Located.keys`."""
    words = _words(sets.shape[1])
    keys = np.empty((len(sets), len(words)))
    # A product with powers of two packs the bits, three times as fast as packing bytes.
    for w, word in enumerate(words):
        keys[:, w] = sets[:, word].astype(np.float64) @ POWERS[: word.stop - word.start]
    return keys


def unpack_sets(keys: FloatArray, K: int) -> BoolArray:
    """The sets that `keys` stand for, of shape (n, K)."""
    words, bits = np.divmod(np.arange(K), WORD_BITS)
    return (keys.astype(np.int64)[:, words] >> bits & 1).astype(np.bool_)


def as_values(keys: FloatArray) -> NDArray[Any]:
    """Keys as one value per row to sort and compare: a number, or bytes if one number cannot hold all ellipsoids."""
    if keys.shape[1] == 1:
        return keys[:, 0]
    return np.ascontiguousarray(keys).view(np.dtype((np.void, 8 * keys.shape[1])))[:, 0]


def _words(K: int) -> list[slice]:
    """The ellipsoids in each number of a key; at least one number, even without ellipsoids."""
    return [slice(start, min(start + WORD_BITS, K)) for start in range(0, max(K, 1), WORD_BITS)]
