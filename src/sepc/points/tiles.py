"""Cut blocks into tiles that fit the cache, and project rows bit for bit the same wherever a block begins."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sepc._typing import FloatArray

# Within 15 % of the fastest for 2 to 100 features: smaller tiles have more Python overhead, larger ones exceed the L2
# cache.
TILE_ROWS = 4096


def row_tiles(block: FloatArray) -> Iterator[FloatArray]:
    """Cut a block into views of at most `TILE_ROWS` rows, in order."""
    for start in range(0, len(block), TILE_ROWS):
        yield block[start : start + TILE_ROWS]


def project(rows: FloatArray, direction: FloatArray, origin: FloatArray | None = None) -> FloatArray:
    """Coordinates of `rows` along `direction`, measured from `origin`.

    A row's result is the same bit for bit in any block, tile or memory order. A BLAS product does not guarantee that:
    it sums the last rows of a block in a different order, so ties would depend on where blocks begin. Adding up one
    column at a time costs 1.4 times as much. Overflow gives infinities without a warning.

    Examples
    --------
    >>> project(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    values = np.zeros(len(rows))
    term = np.empty(min(TILE_ROWS, len(rows)))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(rows), TILE_ROWS):
            tile = rows[start : start + TILE_ROWS]
            _add_projection(tile, direction, origin, values[start : start + TILE_ROWS], term[: len(tile)])
    return values


def _add_projection(
    tile: FloatArray, direction: FloatArray, origin: FloatArray | None, values: FloatArray, term: FloatArray
) -> None:
    for j, weight in enumerate(direction):
        if origin is None:
            np.multiply(tile[:, j], weight, out=term)
        else:
            np.subtract(tile[:, j], origin[j], out=term)
            term *= weight
        values += term
