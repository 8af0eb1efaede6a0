"""Weights of rows as whole numbers of copies, so that a row of weight 2 is the row twice in all that is computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray

# Weights that are no whole numbers become copies by rounding: at most twice as many as there are rows, or so many.
MOST_COPIES = 40_000


@dataclass(frozen=True, eq=False)
class Copies:
    """How often each training row counts.

    Attributes
    ----------
    counts : (n,) array of int
        Copies of each row.
    unit : float
        How many rows a copy stands for.
    """

    counts: IntArray
    unit: float = 1.0

    @classmethod
    def of(cls, weights: FloatArray) -> Copies:
        """Copies in proportion to the weights; as many as these say if all are whole and they are not too many.

        Others are rounded up or down such that the copies of any run of rows add up to their share to within one.

        Examples
        --------
        >>> Copies.of(np.array([2.0, 0.0, 1.0])).positions
        array([0, 0, 2])
        >>> copies = Copies.of(np.array([0.5, 0.75, 0.75, 2.0]))
        >>> copies.positions, copies.unit
        (array([0, 1, 1, 2, 3, 3, 3, 3]), 0.5)
        """
        total, n_most = float(weights.sum()), max(2 * len(weights), MOST_COPIES)
        if total <= n_most and (weights == np.round(weights)).all():
            return cls(weights.astype(np.int64))
        factor = min(1.0 / weights[weights > 0.0].min(), n_most / total)
        counts = np.diff(np.floor(np.cumsum(weights) * factor + 0.5), prepend=0.0).astype(np.int64)
        return cls(counts, total / max(1, int(counts.sum())))

    @cached_property
    def positions(self) -> IntArray:
        """Every copy's row."""
        return np.repeat(np.arange(len(self.counts)), self.counts)


def checked_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    """Weights of rows as an array; raises unless they are numbers, not negative, and not all zero."""
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.ndim == 0:
        weights = np.full(n_rows, weights)
    if weights.shape != (n_rows,):
        raise ValueError(f"sample_weight.shape == {weights.shape}, expected {(n_rows,)}: one weight for each row.")
    if not np.isfinite(weights).all() or (weights < 0.0).any():
        raise ValueError("sample_weight has weights that are negative, NaN or infinite.")
    if not weights.any():
        raise ValueError("All weights in sample_weight are zero.")
    if weights.sum() < 1.0:
        raise ValueError(
            f"The weights add up to {weights.sum():.3g}, less than one row. A row of weight 2 counts as two rows; "
            "multiply the weights so that they add up to the number of rows."
        )
    return weights
