"""Intersections of closed half-spaces: the cuts that carve a set."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.cards import ShownOnOneLine

# A product over d features, summed in any order, is off by at most d * 2**-53 of the same product of absolute values.
# The product of a row and an offset computed from it both have this error, here and on another engine: four errors,
# doubled to be safe.
SLACK_PER_FEATURE = 2.0**-50

# Rows handled at a time, so that their absolute values stay in the cache.
TILE_ROWS = 1024


@dataclass(frozen=True, eq=False, repr=False)
class HalfSpaces(ShownOnOneLine):
    """The set of all `x` with ``normals @ x >= offsets``, where every inequality allows for rounding.

    Parameters
    ----------
    normals : ndarray of shape (m, d)
        One inward normal per row, of any length.
    offsets : ndarray of shape (m,)
        The value each product has to reach.

    Examples
    --------
    >>> import numpy as np
    >>> right = HalfSpaces(normals=np.array([[1.0, 0.0]]), offsets=np.array([0.3]))
    >>> above = HalfSpaces(normals=np.array([[0.0, 1.0]]), offsets=np.array([0.0]))
    >>> right.and_also(above).contains(np.array([[0.1 + 0.2, 0.0], [1.0, -1.0]]))
    array([ True, False])
    """

    normals: FloatArray
    offsets: FloatArray

    def __post_init__(self) -> None:
        for name in ("normals", "offsets"):
            values = np.array(getattr(self, name), dtype=np.float64)
            values.setflags(write=False)
            object.__setattr__(self, name, values)
        if self.normals.ndim != 2 or self.offsets.shape != self.normals.shape[:1]:
            raise ValueError(
                f"normals have shape {self.normals.shape} and offsets {self.offsets.shape}; give (m, d) and (m,)."
            )
        if not (np.isfinite(self.normals).all() and np.isfinite(self.offsets).all()):
            raise ValueError("normals and offsets must be finite; remove NaN and infinite values from the rows.")

    @property
    def n_features(self) -> int:
        """Number of features, d."""
        return int(self.normals.shape[1])

    def contains(self, rows: FloatArray) -> BoolArray:
        """Whether each row, of shape (n, d), lies in every half-space."""
        rows = np.asarray(rows)
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(f"rows have shape {rows.shape}; these half-spaces need (n, {self.n_features}).")
        inside = np.empty(len(rows), dtype=np.bool_)
        for start in range(0, len(rows), TILE_ROWS):
            stop = start + TILE_ROWS
            inside[start:stop] = self._holds(rows[start:stop]).all(axis=1)
        return inside

    def and_also(self, other: HalfSpaces) -> HalfSpaces:
        """Intersect with `other`."""
        return HalfSpaces(np.vstack([self.normals, other.normals]), np.concatenate([self.offsets, other.offsets]))

    def _holds(self, rows: FloatArray) -> BoolArray:
        magnitudes = np.abs(rows) @ np.abs(self.normals).T + np.abs(self.offsets)
        slack = SLACK_PER_FEATURE * self.n_features * magnitudes
        return rows @ self.normals.T + slack >= self.offsets
