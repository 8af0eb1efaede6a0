"""Rows after a shift and a linear map, and their squared lengths, with rounding that does not depend on other rows."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray

# Rows handled at a time: the buffers of 30 features stay in the L2 cache, and a single row needs little padding.
TILE_ROWS = 512

# BLAS rounds every row of a product of this many in the same way; a single row needs a little padding.
STEP_ROWS = 64


def map_rows(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``root (x - center)`` for each row `x`, bit for bit the same for a row on its own and among others.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    center : ndarray of shape (d,)
    root : ndarray of shape (r, d)

    Returns
    -------
    ndarray of shape (n, r)
    """
    n, d = rows.shape
    # Products of a fixed shape, padded with zeros: BLAS rounds differently for other shapes.
    shifted = np.zeros((-(-n // STEP_ROWS), STEP_ROWS, d))
    np.subtract(rows, center, out=shifted.reshape(-1, d)[:n])
    mapped: FloatArray = (shifted @ root.T).reshape(-1, len(root))[:n]
    return mapped


def squared_norms(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``|root (x - center)|^2`` for each row `x`, bit for bit the same for a row on its own and among others.

    Parameters
    ----------
    rows : ndarray of shape (n, d)
    center : ndarray of shape (d,)
    root : ndarray of shape (r, d)

    Returns
    -------
    ndarray of shape (n,)
    """
    squares = np.empty(len(rows))
    centers = np.tile(center, (TILE_ROWS, 1))
    # The last tile is padded, not cut: BLAS rounds differently for other shapes.
    shifted = np.zeros((TILE_ROWS, len(center)))
    mapped = np.empty((len(root), TILE_ROWS))
    for start in range(0, len(rows), TILE_ROWS):
        tile = rows[start : start + TILE_ROWS]
        n = len(tile)
        # Subtract the center first: far from the origin, a difference of two products would lose all digits.
        np.subtract(tile, centers[:n], out=shifted[:n])
        np.matmul(root, shifted.T, out=mapped)
        squares[start : start + n] = np.einsum("ij,ij->j", mapped, mapped)[:n]
    return squares
