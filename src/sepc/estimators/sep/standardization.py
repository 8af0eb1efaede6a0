"""Standardisation of the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray
from sepc.points.joint_reduction import JointReduction
from sepc.points.protocol import Answer, PointSet, Reduction
from sepc.points.reductions import ColumnRange, Moments, Spread

# A column is constant if its deviation is at most this share of its values, the size of their rounding.
CONSTANT = 8.0 * float(np.finfo(np.float64).eps)

# Squares of numbers with binary exponents up to this, and their sums, neither overflow nor underflow.
SAFE_EXPONENT = 400


@dataclass(frozen=True, eq=False)
class Extent:
    """Range of every column, and moments of all rows."""

    lowest: FloatArray
    highest: FloatArray
    spread: Spread

    @classmethod
    def of(cls, points: PointSet) -> Extent:
        """Measure a set of rows in one pass."""
        (lowest, highest), spread = points.reduce(JointReduction((ColumnRange(), Moments())))
        return cls(lowest, highest, spread)


@dataclass(frozen=True, eq=False)
class Standardization:
    """The standardisation ``(x - shift) / scale``."""

    shift: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, points: PointSet, extent: Extent | None = None) -> Standardization:
        """By mean and standard deviation; a constant column is only shifted."""
        extent = Extent.of(points) if extent is None else extent
        exponents = np.frexp(np.maximum(np.abs(extent.lowest), np.abs(extent.highest)))[1]
        # Powers of two, so that dividing loses no digits.
        size = np.ldexp(1.0, np.where(np.abs(exponents) > SAFE_EXPONENT, exponents, 0))
        spread = extent.spread
        if (size != 1.0).any():
            spread = points.rescaled(np.zeros(points.n_features), size).reduce(Moments())
        deviation = np.sqrt(np.diagonal(spread.scatter) / spread.n)
        constant = deviation <= CONSTANT * (np.abs(spread.mean) + deviation)
        return cls(np.where(constant, extent.lowest, spread.mean * size), np.where(constant, 1.0, deviation * size))

    @classmethod
    def none(cls, n_features: int) -> Standardization:
        """Leave rows unchanged."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def of_set(self, points: PointSet) -> PointSet:
        """A set of rows in standard units."""
        if (self.shift == 0.0).all() and (self.scale == 1.0).all():
            return points
        return points.rescaled(self.shift, self.scale)

    def of_reduction(self, reduction: Reduction[Any, Answer]) -> Reduction[Any, Answer]:
        """A reduction that sees rows in standard units, without a standardised copy of the data."""
        return _InStandardUnits(reduction, self)

    def apply(self, rows: FloatArray) -> FloatArray:
        """Rows in standard units."""
        return (rows - self.shift) / self.scale


@dataclass(frozen=True, eq=False)
class _InStandardUnits:
    reduction: Reduction[Any, Any]
    standard: Standardization

    def map(self, block: FloatArray) -> Any:
        return self.reduction.map(self.standard.apply(block))

    def combine(self, left: Any, right: Any) -> Any:
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        return self.reduction.finish(state)
