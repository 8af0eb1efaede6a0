"""Rows after a shift and a linear map, and their squared lengths, with bits that do not depend on the other rows."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray

# Rows handled at once: the buffers of 30 features stay in the second-level cache, and a single row pays little padding.
TILE_ROWS = 512

# BLAS rounds every row alike in a product of this many; a single row pays a little padding.
STEP_ROWS = 64


def map_rows(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``root (x - center)`` for each row `x`, bit for bit the same for a row alone and for that row among others.

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
    # Products of one shape, padded with zeros: BLAS rounds differently for other shapes.
    shifted = np.zeros((-(-n // STEP_ROWS), STEP_ROWS, d))
    np.subtract(rows, center, out=shifted.reshape(-1, d)[:n])
    mapped: FloatArray = (shifted @ root.T).reshape(-1, len(root))[:n]
    return mapped


def squared_norms(rows: FloatArray, center: FloatArray, root: FloatArray) -> FloatArray:
    """``|root (x - center)|^2`` for each row `x`, bit for bit the same for a row alone and for that row among others.

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
        # The center goes first: far from the origin, a difference of two products would lose every digit.
        np.subtract(tile, centers[:n], out=shifted[:n])
        np.matmul(root, shifted.T, out=mapped)
        squares[start : start + n] = np.einsum("ij,ij->j", mapped, mapped)[:n]
    return squares
