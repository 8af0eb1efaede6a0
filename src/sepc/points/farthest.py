"""The rows with the largest squared radius in an ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.shapes.norms import squared_norms


@dataclass(frozen=True)
class OutermostRows:
    """Rows and their squared radii, and the largest squared radius of any row (-inf if there are none)."""

    rows: FloatArray
    squared: FloatArray
    largest: float


@dataclass(frozen=True)
class Farthest:
    """The `n_most` distinct rows with the largest ``|root (x - center)|^2`` above a threshold.

    `root` need not be square: it has one row for each relevant dimension. Repeated rows are listed once, since they
    would crowd out all others.
    """

    center: FloatArray
    root: FloatArray
    n_most: int
    above: float = -np.inf

    def map(self, block: FloatArray) -> OutermostRows:
        """Pick the farthest rows of one block."""
        squared = squared_norms(block, self.center, self.root)
        largest = float(squared.max(initial=-np.inf))
        if self.above > -np.inf:
            outside = (squared > self.above).nonzero()[0]
            block, squared = block[outside], squared[outside]
        chosen = self._choose(block, squared)
        return OutermostRows(block[chosen], squared[chosen], largest)

    def combine(self, left: OutermostRows, right: OutermostRows) -> OutermostRows:
        """Pick the farthest rows of two runs of blocks."""
        rows = np.concatenate([left.rows, right.rows])
        squared = np.concatenate([left.squared, right.squared])
        chosen = self._choose(rows, squared)
        return OutermostRows(rows[chosen], squared[chosen], max(left.largest, right.largest))

    def finish(self, state: OutermostRows) -> OutermostRows:
        """Order by squared radius, largest first."""
        order = np.argsort(-state.squared, kind="stable")
        return OutermostRows(state.rows[order], state.squared[order], state.largest)

    def _choose(self, rows: FloatArray, squared: FloatArray) -> IntArray:
        if len(rows) == 0:
            return np.empty(0, dtype=np.int64)
        top = _largest(squared, self.n_most)
        chosen = top[distinct((rows[top] - self.center) @ self.root.T)]
        if len(top) == len(squared) or 2 * len(chosen) >= len(top):
            return chosen
        once = distinct((rows - self.center) @ self.root.T)
        return once[_largest(squared[once], self.n_most)]


def distinct(rows: FloatArray) -> IntArray:
    """Indices of the first occurrence of each distinct row, for rows whose columns have a common scale."""
    # Equal rows have equal projections; on an irrational direction, unequal ones coincide only within rounding.
    keys = rows @ np.sqrt(np.arange(2.0, rows.shape[1] + 2.0))
    return np.unique(keys, return_index=True)[1]


def _largest(values: FloatArray, n_most: int) -> IntArray:
    if n_most >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, len(values) - n_most)[len(values) - n_most :]
