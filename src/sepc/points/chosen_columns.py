"""Some columns of a set of rows, wherever it is stored, without copying."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
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
    return points if points.n_features == n_features else chosen_columns(points, slice(n_features))


def chosen_columns(points: PointSet, columns: slice | IntArray) -> PointSet:
    """The rows restricted to some of their columns.

    Examples
    --------
    >>> chosen_columns(ArrayPoints(np.array([[1.0, 2.0, 7.0]])), np.array([0, 2])).gather(1)
    array([[1., 7.]])
    """
    return (
        ArrayPoints(_cut(points.rows, columns)) if isinstance(points, ArrayPoints) else ChosenColumns(points, columns)
    )


def _cut(rows: FloatArray, columns: slice | IntArray) -> FloatArray:
    """Some columns of rows: a view of the first ones, a copy of others."""
    return rows[:, columns] if isinstance(columns, slice) else np.ascontiguousarray(rows[:, columns])


@dataclass(frozen=True, eq=False)
class ChosenColumns:
    """A set whose rows are restricted to some columns when they are read."""

    points: PointSet
    columns: slice | IntArray

    @cached_property
    def n_features(self) -> int:
        """Number of columns that are left."""
        return len(np.arange(self.points.n_features)[self.columns])

    @property
    def n_points(self) -> int:
        """Number of rows."""
        return self.points.n_points

    def reduce(self, reduction: Reduction[Any, Answer], /) -> Answer:
        """Summarise all rows in one pass."""
        cut: Reduction[Any, Answer] = _OfChosenColumns(reduction, self.columns)
        return self.points.reduce(cut)

    def split(self, region: Region, /) -> tuple[ChosenColumns, ChosenColumns]:
        """Divide into the rows inside `region` and the rows outside it."""
        inside, outside = self.points.split(_WithChosenColumns(region.contains, self.columns))
        return self._with(inside), self._with(outside)

    def union(self, other: PointSet, /) -> ChosenColumns:
        """All rows of both sets, those of `self` first."""
        if not isinstance(other, ChosenColumns):
            raise TypeError(f"Some columns of a set cannot be joined with {type(other).__name__}.")
        return self._with(self.points.union(other.points))

    def sample(self, share: float, seed: int, /) -> ChosenColumns:
        """Keep about `share` of the rows, chosen by `row_hashes` of these columns."""
        chosen = partial(is_sampled, share=share, seed=seed)
        return self._with(self.points.split(_WithChosenColumns(chosen, self.columns))[0])

    def rescaled(self, shift: FloatArray, scale: FloatArray, /) -> ChosenColumns:
        """The rows as ``(x - shift) / scale``."""
        all_shift, all_scale = np.zeros(self.points.n_features), np.ones(self.points.n_features)
        all_shift[self.columns], all_scale[self.columns] = shift, scale
        return self._with(self.points.rescaled(all_shift, all_scale))

    def gather(self, max_rows: int, /) -> FloatArray:
        """All rows in one array; raises if there are more than `max_rows`."""
        return np.ascontiguousarray(self.points.gather(max_rows)[:, self.columns])

    def _with(self, points: PointSet) -> ChosenColumns:
        return ChosenColumns(points, self.columns)


@dataclass(frozen=True, eq=False)
class _OfChosenColumns:
    """A reduction that sees only some columns."""

    reduction: Reduction[Any, Any]
    columns: slice | IntArray

    def map(self, block: FloatArray) -> Any:
        return self.reduction.map(_cut(block, self.columns))

    def combine(self, left: Any, right: Any) -> Any:
        return self.reduction.combine(left, right)

    def finish(self, state: Any) -> Any:
        return self.reduction.finish(state)


@dataclass(frozen=True, eq=False)
class _WithChosenColumns:
    """A region that considers only some columns."""

    test: Any
    columns: slice | IntArray

    def contains(self, rows: FloatArray) -> BoolArray:
        return np.asarray(self.test(_cut(rows, self.columns)))
