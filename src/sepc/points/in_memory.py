"""Rows in memory, in all and by class, and a view of rows anywhere that transforms each when it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import FloatArray
from sepc.points.reductions import Answer, Moments, PointSet, Reduction, Region, Spread, Transformed


@dataclass(frozen=True, eq=False)
class ArrayPoints:
    """The rows of one array.

    Parameters
    ----------
    rows : (n, d) array
        Not copied if it holds 64-bit floats, and never written to.
    """

    rows: FloatArray

    def __post_init__(self) -> None:
        rows = np.asarray(self.rows, dtype=np.float64)
        if rows.ndim != 2:
            raise ValueError(f"A point set needs a table with rows and columns, not an array of shape {rows.shape}.")
        object.__setattr__(self, "rows", rows)

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return int(self.rows.shape[1])

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @cached_property
    def spread(self) -> Spread:
        """Number, mean and scatter of the rows."""
        return self.reduce(Moments())

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows."""
        return reduction.finish(reduction.map(self.rows))

    def split(self, region: Region) -> tuple[ArrayPoints, ArrayPoints]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside = region.contains(self.rows)
        return ArrayPoints(self.rows.compress(inside, axis=0)), ArrayPoints(self.rows.compress(~inside, axis=0))


@dataclass(frozen=True, eq=False)
class ClassArrays:
    """The rows of each class, in memory."""

    arrays: tuple[ArrayPoints, ...]

    @property
    def sizes(self) -> list[int]:
        """Number of rows of each class."""
        return [points.n_points for points in self.arrays]

    def reduce_each(self, reductions: Mapping[int, Reduction[Any, Answer]]) -> dict[int, Answer]:
        """Summarise the rows of some classes, each by a reduction of its own."""
        return {k: self.arrays[k].reduce(reduction) for k, reduction in reductions.items()}


@dataclass(frozen=True, eq=False)
class TransformedPoints:
    """The rows of another set, transformed when they are read."""

    points: PointSet
    transform: Callable[[FloatArray], FloatArray]

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        transformed: Reduction[Any, Answer] = Transformed(reduction, self.transform)
        return self.points.reduce(transformed)
