"""Relations between columns under given limits: linear for the bound, checks for every row, and ways to repair rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.kernels.project_related import LinearRelations
from sepc.recourses.durations import Duration
from sepc.recourses.formulas import Linear
from sepc.recourses.limits import Limits
from sepc.recourses.relation_columns import RelationColumns, RowValues

# Repairing one relation may break another, so all are repaired this many times.
SWEEPS = 2


class LinearRelation(NamedTuple):
    """``function <= 0``, or ``== 0``."""

    function: Linear
    is_equal: bool


Check = Callable[[RowValues], BoolArray]
Repair = Callable[[RowValues], None]


@dataclass(frozen=True, eq=False)
class Parts:
    """What one relation means for a row.

    Attributes
    ----------
    linear : sequence of LinearRelation
        What holds in every row in which the relation holds.
    checks : sequence of callable
        Whether the relation holds in each of some rows.
    repairs : sequence of callable
        Change rows, in place, so that the relation holds in more of them.
    is_exact : bool
        Whether `linear` is all that the relation says.
    """

    linear: Sequence[LinearRelation] = ()
    checks: Sequence[Check] = ()
    repairs: Sequence[Repair] = ()
    is_exact: bool = True


@dataclass(frozen=True, eq=False)
class GivenRelation:
    """One relation, in the words of the user."""

    words: str

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        raise NotImplementedError

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Relations:
    """Relations between the columns of a row, under given limits.

    Attributes
    ----------
    columns : RelationColumns
    given : sequence of GivenRelation
    parts : sequence of Parts
        One for each relation; further ones are those of time.
    under : callable
        Gives the same relations under other limits.
    time : callable or None
        Gives the duration of a row; None without relations of time.
    """

    columns: RelationColumns
    given: Sequence[GivenRelation]
    parts: Sequence[Parts]
    under: Callable[[Limits], Relations]
    time: Callable[[FloatArray], Duration] | None = None

    @cached_property
    def linear(self) -> LinearRelations | None:
        """The linear relations, in standardised features; None if there are none."""
        every = [relation for part in self.parts for relation in part.linear]
        every.sort(key=lambda relation: not relation.is_equal)
        if not every:
            return None
        rows, ends = zip(*map(self._standardised, every), strict=True)
        return LinearRelations(np.array(rows), np.array(ends), sum(relation.is_equal for relation in every))

    def _standardised(self, relation: LinearRelation) -> tuple[FloatArray, float]:
        model = self.columns.limits.model
        row, constant = np.zeros(self.columns.limits.n_features), relation.function.constant
        for column, slope in relation.function.slopes.items():
            j = self.columns.feature(column)
            assert j is not None
            row[j] += slope * model.scale[j]
            constant += slope * float(model.shift[j])
        size = float(np.linalg.norm(row)) or 1.0
        return row / size, -constant / size

    @property
    def loose(self) -> tuple[str, ...]:
        """The relations, in words, of which the bound does not know all."""
        return tuple(
            relation.words for relation, part in zip(self.given, self.parts, strict=False) if not part.is_exact
        )

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether all relations hold in each row."""
        holds, values = np.ones(len(rows), dtype=bool), self.columns.values(rows)
        for part in self.parts:
            for check in part.checks:
                if holds.any():
                    holds &= check(values)
        return holds

    def repair(self, rows: FloatArray) -> FloatArray:
        """Change rows, in place, so that relations hold in more of them; returns the rows."""
        values = self.columns.values(rows)
        for _ in range(SWEEPS if len(rows) else 0):
            for part in self.parts:
                for repair in part.repairs:
                    repair(values)
        return rows

    def duration(self, row: FloatArray) -> Duration | None:
        """How long it takes to get to a row; None without relations of time."""
        return None if self.time is None else self.time(row)


def pivot_repair(columns: RelationColumns, relation: LinearRelation, first: str | None) -> list[Repair]:
    """Ways to make a linear relation hold by changing one column: the first one named, or one that changes freely."""
    limits, slopes = columns.limits, relation.function.slopes
    movable = [name for name in slopes if columns.may_change(name)]
    if not movable:
        return []

    def ease(name: str) -> tuple[bool, bool, float]:
        j = columns.feature(name)
        assert j is not None
        return name == first, not limits.is_whole[j], abs(slopes[name]) * limits.model.scale[j] / limits.prices[j]

    column = max(movable, key=ease)
    j = columns.feature(column)
    assert j is not None
    position = j

    def repair(values: RowValues) -> None:
        left = np.full(len(values.rows), relation.function.constant)
        size = np.abs(left)
        for name, slope in slopes.items():
            part = slope * values.now(name)
            left, size = left + part, size + np.abs(part)
        wrong = np.abs(left) > 1e-12 * size if relation.is_equal else left > 1e-12 * size
        if not wrong.any():
            return
        target = values.now(column) - left / slopes[column]
        if limits.is_whole[position] and not relation.is_equal:
            target = np.floor(target + 1e-9) if slopes[column] > 0.0 else np.ceil(target - 1e-9)
        values.set_number(column, wrong, target)

    return [repair]
