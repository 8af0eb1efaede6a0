"""The first columns of a set of rows, wherever it is stored, without copying."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.points.in_memory import ArrayPoints
from sepc.points.protocol import Answer, PointSet, Reduction, Region
from sepc.points.row_hash import is_sampled


def first_columns(points: PointSet, n_features: int) -> PointSet:
    """The rows restricted to their first `n_features` columns; the set itself if it has no others.

    Examples
    --------
    >>> first_columns(ArrayPoints(np.array([[1.0, 2.0, 7.0]])), 2).gather(1)
    array([[1., 2.]])
    """
    if points.n_features == n_features:
        return points
    if isinstance(points, ArrayPoints):
        return ArrayPoints(points.rows[:, :n_features])
    return FirstColumns(points, n_features)


@dataclass(frozen=True, eq=False)
class FirstColumns:
    """A set whose rows are truncated to `n_features` columns when they are read."""

    points: PointSet
    n_features: int

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return self.points.n_points

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        cut: Reduction[Any, Answer] = _OfFirstColumns(reduction, self.n_features)
        return self.points.reduce(cut)

    def split(self, region: Region, /) -> tuple[FirstColumns, FirstColumns]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside, outside = self.points.split(_WithFirstColumns(region.contains, self.n_features))
        return self._with(inside), self._with(outside)

    def union(self, other: PointSet, /) -> FirstColumns:
        """All rows of both sets, those of `self` first."""
        if not isinstance(other, FirstColumns):
            raise TypeError(f"The first columns of a set cannot be joined with {type(other).__name__}.")
        return self._with(self.points.union(other.points))

    def sample(self, share: float, seed: int, /) -> FirstColumns:
        """Keep about `share` of the rows, chosen by `row_hashes` of these columns."""
        chosen = partial(is_sampled, share=share, seed=seed)
        return self._with(self.points.split(_WithFirstColumns(chosen, self.n_features))[0])

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> FirstColumns:
        """The rows as ``(x - shift) / scale``."""
        others = np.zeros(self.points.n_features - self.n_features)
        return self._with(self.points.rescaled(np.append(shift, others), np.append(scale, others + 1.0)))

    def gather(self, max_rows: int, /) -> FloatArray:
        """All rows in one array; raises if there are more than `max_rows`."""
        return np.ascontiguousarray(self.points.gather(max_rows)[:, : self.n_features])

    def _with(self, points: PointSet) -> FirstColumns:
        return FirstColumns(points, self.n_features)


@dataclass(frozen=True, eq=False)
class _OfFirstColumns:
    """A reduction that sees only the first columns."""

    reduction: Reduction[Any, Any]
    n_features: int

    def map(self, block: FloatArray) -> Any:
        return self.reduction.map(block[:, : self.n_features])

    def combine(self, left: Any, right: Any) -> Any:
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        return self.reduction.finish(state)


@dataclass(frozen=True, eq=False)
class _WithFirstColumns:
    """A region that considers only the first columns."""

    test: Any
    n_features: int

    def contains(self, rows: FloatArray) -> BoolArray:
        return np.asarray(self.test(rows[:, : self.n_features]))
