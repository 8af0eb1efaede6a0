"""Time: how fast columns can change, and how long an answer takes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.recourses._formulas import Linear
from sepc.recourses._limits import DAYS, Duration
from sepc.recourses._relation_columns import GivenRelation, LinearRelation, Parts, RelationColumns, RowValues
from sepc.wording import shown

# A column of whole numbers may be ahead of its exact value, or behind, by less than one.
LESS_THAN_ONE = 1.0 - 1e-6


class Pace(NamedTuple):
    """How a column changes with time."""

    column: str
    rate: float
    is_exact: bool
    unit: str


@dataclass(frozen=True, eq=False)
class PaceRelation(GivenRelation):
    """How a column changes with time; time itself is a relation between all of these."""

    pace: Pace

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return [self.pace.column]

    def parts(self, columns: RelationColumns) -> Parts:
        """Nothing by itself."""
        if columns.feature(self.pace.column) is None:
            raise ValueError(f"column {shown(self.pace.column)} is not a number that the model uses")
        return Parts()


@dataclass(frozen=True, eq=False)
class WithinRelation(GivenRelation):
    """The most time that an answer may take."""

    days: float

    @property
    def columns(self) -> list[str]:
        """The columns it is about: none."""
        return []

    def parts(self, columns: RelationColumns) -> Parts:
        """Nothing by itself."""
        return Parts()


@dataclass(frozen=True, eq=False)
class Time:
    """All that is said about time."""

    columns: RelationColumns
    paces: Sequence[Pace]
    within: float | None
    unit: str

    def parts(self) -> Parts:
        """The relations between columns that time brings about: they say that one time fits all."""
        equations, bounds = self._relations()
        linear = [LinearRelation(function, True) for function in equations]
        linear += [LinearRelation(function, False) for function in bounds]
        return Parts(linear, [self._fits], [self._let_time_pass])

    def duration(self, row: FloatArray) -> Duration:
        """How long the changes in a row take."""
        values = self.columns.values(row[np.newaxis])
        days = float(np.minimum(self._needed(values), self._most(values))[0])
        return Duration(max(days, 0.0) / DAYS[self.unit], self.unit)

    def _relations(self) -> tuple[list[Linear], list[Linear]]:
        clocks = [self._days(pace) for pace in self.paces if pace.is_exact and not self._is_whole(pace)]
        equations = [clock + clocks[0].times(-1.0) for clock in clocks[1:]]
        least, most = [("", Linear({}, 0.0))], [("", clock) for clock in clocks[:1]]
        least += [("", clock) for clock in clocks[:1]]
        if self.within is not None:
            most.append(("", Linear({}, self.within)))
        for pace in self.paces:
            if not pace.is_exact:
                least.append((pace.column, self._days(pace)))
            elif self._is_whole(pace):
                slack = Linear({}, LESS_THAN_ONE / abs(pace.rate))
                least.append((pace.column, self._days(pace) + slack.times(-1.0)))
                most.append((pace.column, self._days(pace) + slack))
        bounds = [one + other.times(-1.0) for name, one in least for of, other in most if name != of or not name]
        return equations, [bound for bound in bounds if bound.slopes or bound.constant > 0.0]

    def _days(self, pace: Pace) -> Linear:
        """The days that a change takes, as a function of the column."""
        known = self.columns.known(pace.column)
        own = Linear({pace.column: 1.0}, 0.0) if known is None else Linear({}, known)
        return (own + Linear({}, -float(self.columns.before(pace.column)))).times(1.0 / pace.rate)

    def _is_whole(self, pace: Pace) -> bool:
        j = self.columns.feature(pace.column)
        return j is not None and bool(self.columns.limits.is_whole[j])

    def _passed(self, values: RowValues) -> Iterator[tuple[Pace, FloatArray]]:
        for pace in self.paces:
            yield pace, (values.now(pace.column) - float(values.before(pace.column))) / pace.rate

    def _needed(self, values: RowValues) -> FloatArray:
        """The days that the changes in each row need."""
        days = [days for _, days in self._passed(values)]
        return np.asarray(np.maximum.reduce([np.zeros(len(values.rows)), *days]))

    def _most(self, values: RowValues) -> FloatArray:
        """The days that can have passed at most, given what changes by itself."""
        most = np.full(len(values.rows), np.inf if self.within is None else self.within)
        for pace, days in self._passed(values):
            if pace.is_exact:
                slack = LESS_THAN_ONE / abs(pace.rate) if self._is_whole(pace) else 0.0
                most = np.minimum(most, days + slack)
        return most

    def _fits(self, values: RowValues) -> BoolArray:
        """Whether there is a time at which all columns can have the values of a row."""
        least = np.zeros(len(values.rows))
        for pace, days in self._passed(values):
            slack = LESS_THAN_ONE / abs(pace.rate) if pace.is_exact and self._is_whole(pace) else 0.0
            least = np.maximum(least, days - slack)
        most = self._most(values)
        return np.asarray(least <= most + 1e-7 * (1.0 + least))

    def _let_time_pass(self, values: RowValues) -> None:
        """Set columns that change by themselves to what they are once all other changes are made."""
        needed = self._needed(values)
        for pace, days in self._passed(values):
            if not pace.is_exact or not self.columns.may_change(pace.column):
                continue
            gone = np.abs(pace.rate) * needed
            if self._is_whole(pace):
                gone = np.floor(gone + 1e-6)
            behind = days < needed - 1e-12 * (1.0 + needed)
            values.set_number(pace.column, behind, float(values.before(pace.column)) + np.sign(pace.rate) * gone)
