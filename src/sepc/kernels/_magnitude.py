"""Columns of extreme magnitude: divisors that keep the squares of their values within the range of doubles."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray
from sepc.points.protocol import PointSet
from sepc.points.reductions import ColumnRange, Spread

# Sums of squares in this range have overflowed nowhere and lost no digit to underflow.
SQUARES_FROM, SQUARES_TO = 1e-280, 1e280
# Columns that vary by less leave no room for a thickness with a finite inverse; twice the upper limit would overflow.
RANGE_FROM, RANGE_TO = 1e-301, 8e307


def divisors(points: PointSet, spread: Spread) -> FloatArray | None:
    """Powers of two to divide the columns by, or None if the squares in `spread` are accurate as they are."""
    squares = np.diag(spread.scatter)
    if squares.min() > SQUARES_FROM and squares.max() < SQUARES_TO:
        return None
    low, high = points.reduce(ColumnRange())
    with np.errstate(over="ignore"):
        extent = high - low
    _refuse_unrepresentable(low, high, extent)
    size = np.where(extent > 0.0, extent, np.maximum(np.abs(low), extent.max() or 1.0))
    sound = (size > SQUARES_FROM**0.5) & (size < SQUARES_TO**0.5)
    return None if sound.all() else power_of_two(size)


def power_of_two(values: FloatArray) -> FloatArray:
    """The powers of two next to positive `values`: dividing by them loses no digit."""
    return np.ldexp(np.ones_like(values), np.frexp(values)[1])


def _refuse_unrepresentable(low: FloatArray, high: FloatArray, extent: FloatArray) -> None:
    for column in np.flatnonzero((extent > RANGE_TO) | ((extent > 0.0) & (extent < RANGE_FROM))):
        action = "Divide" if extent[column] > 1.0 else "Multiply"
        raise ValueError(
            f"Column {column} runs from {low[column]:.3g} to {high[column]:.3g}, a range that double precision "
            f"cannot work with. {action} it by a constant first."
        )
