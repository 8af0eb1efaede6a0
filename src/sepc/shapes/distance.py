"""Euclidean distances of rows to an ellipsoid, all rows at once, by the secular equation.

In axis coordinates, the point of the ellipsoid nearest to an outside row `z` is ``e**2 * z / (e**2 + t)``, with `e` the
semi-axes and `t` the positive root of ``sum((e * z / (e**2 + t))**2) == 1``. One over the norm is concave in `t` and
close to a line, so Newton's method on it, started left of the root, climbs to the root in a few steps (Moré & Sorensen
1983).
"""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray

# Relative to the longest semi-axis: shorter ones change no distance, and their squares would underflow.
SHORTEST_AXIS = 1e-100

# How far the norm may stay above 1: a few times its rounding error.
NORM_TOLERANCE = 1e-14

# Newton takes 4 to 8 steps, 16 at worst for axes that are 1e-12 of the longest; the limit only guards the loop.
MAX_STEPS = 50

# The arrays of one tile stay in the cache; rows are stored as columns, so that NumPy's inner loops are long.
TILE_ROWS = 1024


def distances(semi_axes: FloatArray, coords: FloatArray) -> FloatArray:
    """Euclidean distances to an ellipsoid that is centred at the origin and parallel to the axes.

    Parameters
    ----------
    semi_axes : ndarray of shape (d,)
        In any order; none negative, not all zero.
    coords : ndarray of shape (n, d)

    Returns
    -------
    ndarray of shape (n,)
        0 for rows inside. Bit for bit the same for a row on its own and among others.
    """
    answers = np.empty(len(coords))
    for tile, answer in zip(_tiles(coords), _tiles(answers), strict=True):
        columns = _as_columns(tile)
        squares, multipliers = secular_root(semi_axes, columns)
        # hypot, since the squares of a distant row may overflow although its distance does not.
        answer[:] = np.hypot.reduce(columns * (multipliers / (squares + multipliers)), axis=0)[: len(tile)]
    return answers


def _as_columns(rows: FloatArray) -> FloatArray:
    """Rows as columns; a single row twice, since NumPy would sum a single column in a different order."""
    return np.ascontiguousarray((rows if len(rows) > 1 else np.repeat(rows, 2, axis=0)).T)


def secular_root(semi_axes: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Squared semi-axes, of shape (d, n), and root, of shape (n,), of each row's secular equation; 0 for rows inside.

    Rows are the columns of a (d, n) array. Results are in units of the longest semi-axis times the size of the row,
    where nothing can overflow.
    """
    longest = semi_axes.max()
    sizes = np.maximum(longest, np.abs(columns).max(axis=0))
    ratios = np.maximum(semi_axes / longest, SHORTEST_AXIS)[:, np.newaxis]
    squares = ratios**2 * (longest / sizes)
    pulls = ratios * np.abs(columns / sizes)

    # Two lower bounds on the root: one takes all axes to be as long as the longest, one uses a single coordinate.
    roots = np.maximum(_norms(pulls) - longest / sizes, (pulls - squares).max(axis=0))
    roots = np.maximum(roots, 0.0)
    for _ in range(MAX_STEPS):
        inverses = 1.0 / (squares + roots)
        images = pulls * inverses
        norms = _norms(images)
        excess = norms - 1.0
        if excess.max() <= NORM_TOLERANCE:
            break
        slopes = np.einsum("ij,ij->j", images, images * inverses)
        # Move only rows that have not converged: the root of a row must not depend on how long others take.
        steps = np.divide(excess * norms**2, slopes, out=np.zeros_like(roots), where=excess > NORM_TOLERANCE)
        roots += steps
    return squares, roots


def _norms(columns: FloatArray) -> FloatArray:
    squares: FloatArray = np.einsum("ij,ij->j", columns, columns)
    return np.sqrt(squares)


def _tiles(rows: FloatArray) -> list[FloatArray]:
    return [rows[start : start + TILE_ROWS] for start in range(0, len(rows), TILE_ROWS)]
