"""Columns of extreme magnitude: divisors that keep the squares of their values within the range of doubles."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.points.protocol import PointSet
from sepc.points.reductions import ColumnRange, Spread

# Sums of squares in this range have overflowed nowhere and lost no digit to underflow.
SQUARES_FROM, SQUARES_TO = 1e-280, 1e280
# Columns that vary by less leave no room for a thickness with a finite inverse; twice the upper limit would overflow.
RANGE_FROM, RANGE_TO = 1e-301, 8e307
# A column that varies by less than this share of its unit is flat; such squares could not be told from zero.
NEGLIGIBLE = 1e-140


def divisors(points: PointSet, spread: Spread, unit: FloatArray | None = None) -> FloatArray | None:
    """Powers of two to divide the columns by, or None if the squares in `spread` are accurate as they are.

    Beside a given `unit` of each column, a variation that is far smaller does not count.
    """
    squares = np.diag(spread.scatter)
    if squares.min() > SQUARES_FROM and squares.max() < SQUARES_TO:
        return None
    low, high = points.reduce(ColumnRange())
    extent = width(low, high)
    if unit is not None:
        extent = np.where(extent < NEGLIGIBLE * unit, 0.0, extent)
    refuse_unworkable(low, high, (extent > RANGE_TO) | ((extent > 0.0) & (extent < RANGE_FROM)))
    alike = extent.max() or 1.0 if unit is None else unit
    size = np.where(extent > 0.0, extent, np.maximum(np.abs(low), alike))
    sound = (size > SQUARES_FROM**0.5) & (size < SQUARES_TO**0.5)
    return None if sound.all() else power_of_two(size)


def width(low: FloatArray, high: FloatArray) -> FloatArray:
    """How far columns run; infinity if that is too far for a double."""
    with np.errstate(over="ignore"):
        return np.asarray(high - low)


def power_of_two(values: FloatArray) -> FloatArray:
    """The powers of two next to positive `values`: dividing by them loses no digit."""
    return np.ldexp(np.ones_like(values), np.minimum(np.frexp(values)[1], np.finfo(np.float64).maxexp - 1))


def refuse_unworkable(
    low: FloatArray, high: FloatArray, is_unworkable: BoolArray, names: Sequence[str] | None = None
) -> None:
    """Raise for the first column that is marked as one double precision cannot work with."""
    for j in np.flatnonzero(is_unworkable).tolist():
        column = f"Column {j}" if names is None else f"Feature {names[j]!r}"
        action = "Divide" if high[j] > 1.0 or low[j] < -1.0 else "Multiply"
        raise ValueError(
            f"{column} runs from {low[j]:.3g} to {high[j]:.3g}, a range that double precision "
            f"cannot work with. {action} it by a constant first."
        )
