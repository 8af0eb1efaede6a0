"""In which units features are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray
from sepc.points.joint_reduction import Together
from sepc.points.protocol import Answer, PointSet, Reduction
from sepc.points.reductions import ColumnRange, Moments, Spread

# A column varies if its deviation exceeds the rounding of its own values.
CONSTANT = 8.0 * float(np.finfo(np.float64).eps)

# Squares of numbers with exponents up to this neither overflow nor vanish, nor do their sums.
SAFE_EXPONENT = 400


@dataclass(frozen=True, eq=False)
class Extent:
    """Where rows lie: the ends of every column, and the moments of all."""

    lowest: FloatArray
    highest: FloatArray
    spread: Spread

    @classmethod
    def of(cls, points: PointSet) -> Extent:
        """Measure a set of rows in one pass."""
        (lowest, highest), spread = points.reduce(Together((ColumnRange(), Moments())))
        return cls(lowest, highest, spread)


@dataclass(frozen=True, eq=False)
class Standardization:
    """Where rows are moved and by what features are divided."""

    shift: FloatArray
    scale: FloatArray

    @classmethod
    def of(cls, points: PointSet, extent: Extent | None = None) -> Standardization:
        """Mean and deviation of the columns; a constant column keeps its scale."""
        extent = Extent.of(points) if extent is None else extent
        exponents = np.frexp(np.maximum(np.abs(extent.lowest), np.abs(extent.highest)))[1]
        # Powers of two lose no digit.
        size = np.ldexp(1.0, np.where(np.abs(exponents) > SAFE_EXPONENT, exponents, 0))
        spread = extent.spread
        if (size != 1.0).any():
            spread = points.rescaled(np.zeros(points.n_features), size).reduce(Moments())
        deviation = np.sqrt(np.diagonal(spread.scatter) / spread.n)
        constant = deviation <= CONSTANT * (np.abs(spread.mean) + deviation)
        return cls(np.where(constant, extent.lowest, spread.mean * size), np.where(constant, 1.0, deviation * size))

    @classmethod
    def none(cls, n_features: int) -> Standardization:
        """Leave rows as they are."""
        return cls(np.zeros(n_features), np.ones(n_features))

    def of_set(self, points: PointSet) -> PointSet:
        """A set of rows in standard units."""
        if (self.shift == 0.0).all() and (self.scale == 1.0).all():
            return points
        return points.rescaled(self.shift, self.scale)

    def of_reduction(self, reduction: Reduction[Any, Answer]) -> Reduction[Any, Answer]:
        """A reduction that sees rows in standard units; nobody keeps a copy of them."""
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
