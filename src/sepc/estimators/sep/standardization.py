"""Standardisation of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.kernels.magnitude import RANGE_TO, power_of_two, refuse_unworkable, width
from sepc.points.chosen_columns import chosen_columns, first_columns
from sepc.points.joint_reduction import JointReduction
from sepc.points.protocol import Answer, PointSet, Reduction
from sepc.points.reductions import ColumnRange, Moments, Spread

# A column is constant if its deviation is at most this share of its values, the size of rounding errors.
CONSTANT = 8.0 * float(np.finfo(np.float64).eps)

# Squares of numbers with binary exponents up to this, and their sums, neither overflow nor underflow.
SAFE_EXPONENT = 400

# Features with smaller deviations have lost digits, and the reciprocal of their deviation may overflow.
SMALLEST_DEVIATION = float(np.finfo(np.float64).tiny)

# Without standardisation, a feature with a smaller range, in the common unit of all, is lost to rounding.
SMALLEST_SHARE = 1e-250


@dataclass(frozen=True, eq=False)
class Extent:
    """Range of every column, and moments of the rows.

    Attributes
    ----------
    lowest, highest : (d,) arrays
    size : (d,) array
        Powers of two; 1 unless the squares of a column's values would leave the range of doubles.
    spread : Spread
        Of the columns divided by `size`.
    """

    lowest: FloatArray
    highest: FloatArray
    size: FloatArray
    spread: Spread

    @classmethod
    def of(cls, points: PointSet) -> Extent:
        """Measure a set of rows in one pass, or two if values are extremely large or small."""
        (lowest, highest), spread = points.reduce(JointReduction((ColumnRange(), Moments())))
        size = _size_of(np.maximum(np.abs(lowest), np.abs(highest)))
        extent = cls(lowest, highest, size, spread)
        return extent if (size == 1.0).all() else replace(extent, spread=extent.sized(points).reduce(Moments()))

    @property
    def deviation(self) -> FloatArray:
        """Standard deviation of every column, divided by `size`."""
        return np.asarray(np.sqrt(np.diagonal(self.spread.scatter) / self.spread.n))

    @property
    def is_constant(self) -> BoolArray:
        """Which columns vary by no more than the rounding of their values."""
        deviation = self.deviation
        return np.asarray(deviation <= CONSTANT * (np.abs(self.spread.mean) + deviation))

    def sized(self, points: PointSet) -> PointSet:
        """The rows divided by `size`."""
        return points if (self.size == 1.0).all() else points.rescaled(np.zeros_like(self.size), self.size)

    def refuse_extremes(self, names: Sequence[str]) -> None:
        """Raise for a column whose range is too large for double precision, or so near zero that digits are lost."""
        is_tiny = ~self.is_constant & (self.deviation * self.size < SMALLEST_DEVIATION)
        refuse_unworkable(self.lowest, self.highest, is_tiny | (self.width > RANGE_TO), names)

    @property
    def width(self) -> FloatArray:
        """The range (highest - lowest) of every column."""
        return width(self.lowest, self.highest)


def _size_of(values: FloatArray) -> FloatArray:
    """The nearest powers of two for extreme values, and 1 for all others."""
    is_safe = np.abs(np.frexp(values)[1]) <= SAFE_EXPONENT
    return np.where(is_safe, 1.0, power_of_two(values))


@dataclass(frozen=True, eq=False)
class Standardization:
    """The standardisation ``(x - shift) / scale``.

    `placed` holds the features that ellipsoids are made of; None if all are.
    """

    shift: FloatArray
    scale: FloatArray
    placed: IntArray | None = None

    @classmethod
    def of(cls, extent: Extent) -> Standardization:
        """From mean and standard deviation; a constant column is only shifted."""
        constant = extent.is_constant
        shift = np.where(constant, extent.lowest, extent.spread.mean * extent.size)
        return cls(shift, np.where(constant, 1.0, extent.deviation * extent.size))

    @classmethod
    def none(cls, extent: Extent, names: Sequence[str]) -> Standardization:
        """Leave rows unchanged; if they are extremely large or small, divide all columns by one power of two.

        Raises
        ------
        ValueError
            If features differ so much in size that double precision cannot compare them.
        """
        largest = np.where(extent.is_constant, 0.0, np.maximum(np.abs(extent.lowest), np.abs(extent.highest)))
        unit = float(_size_of(largest.max(keepdims=True))[0])
        lost = ~extent.is_constant & (extent.width / unit < SMALLEST_SHARE)
        if lost.any():
            small, large = names[int(lost.argmax())], names[int(largest.argmax())]
            raise ValueError(
                f"Feature {small!r} varies by {extent.width[lost][0]:.3g} and {large!r} reaches {largest.max():.3g}; "
                "without standardisation double precision cannot compare them. Bring them to similar units first."
            )
        return cls(np.zeros_like(largest), np.full_like(largest, unit))

    @property
    def n_placed(self) -> int:
        """The number of features that ellipsoids are made of."""
        return len(self.shift) if self.placed is None else len(self.placed)

    def of_set(self, points: PointSet) -> PointSet:
        """The placed features of a set of rows in standard units, without category codes that may follow."""
        if self.placed is not None:
            points = chosen_columns(points, self.placed)
            return points.rescaled(self.shift[self.placed], self.scale[self.placed])
        points = first_columns(points, len(self.shift))
        if (self.shift == 0.0).all() and (self.scale == 1.0).all():
            return points
        return points.rescaled(self.shift, self.scale)

    def of_reduction(self, reduction: Reduction[Any, Answer]) -> Reduction[Any, Answer]:
        """The reduction applied to placed features in standard units, without a standardised copy of the data."""
        return _InStandardUnits(reduction, self)

    def apply(self, rows: FloatArray) -> FloatArray:
        """The features of rows in standard units."""
        moved = rows[:, : len(self.shift)] - self.shift
        moved /= self.scale
        return np.asarray(moved)

    def place(self, rows: FloatArray) -> FloatArray:
        """The placed features of rows in standard units."""
        moved = self.apply(rows)
        return moved if self.placed is None else np.ascontiguousarray(moved[:, self.placed])


@dataclass(frozen=True, eq=False)
class _InStandardUnits:
    reduction: Reduction[Any, Any]
    standard: Standardization

    def map(self, block: FloatArray) -> Any:
        return self.reduction.map(self.standard.place(block))

    def combine(self, left: Any, right: Any) -> Any:
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        return self.reduction.finish(state)
