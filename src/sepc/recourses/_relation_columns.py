"""Relations between columns under given limits: linear for the bound, checks for every row, and repairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import category
from sepc.columns.table import is_table
from sepc.kernels.project import LinearRelations
from sepc.model.training_summary import FeatureKind
from sepc.recourses._formulas import Linear
from sepc.recourses._limits import Choice, Duration, Limits
from sepc.recourses.given_row import Row
from sepc.recourses.recourse import Tables
from sepc.wording import MOST_NAMES, listed, shown


@dataclass(frozen=True, eq=False)
class RelationColumns:
    """The columns of a row that relations may name, under given limits."""

    row: Row
    given: Any
    limits: Limits

    @cached_property
    def tables(self) -> Tables:
        """Converts rows of the model to tables."""
        return Tables(self.given, self.limits, self.row.preparation)

    def check(self, column: str) -> None:
        """Raise a ValueError if there is no such column, or it holds dates."""
        if column in self.row.columns:
            if self.row.kind(column) in (FeatureKind.DATE, FeatureKind.PART):
                raise ValueError(f"column {shown(column)} holds dates, which relations cannot use")
        elif column not in self._unused:
            known = listed(map(shown, [*self.row.columns, *self._unused]), MOST_NAMES)
            raise ValueError(f"there is no column {shown(column)}; there are {known}")

    def is_category(self, column: str) -> bool:
        """Whether a column of the model holds categories."""
        return column in self._choices

    def choice(self, column: str) -> Choice:
        """A categorical column."""
        return self._choices[column]

    def feature(self, column: str) -> int | None:
        """The position of a column of numbers among the features; None if it is not one."""
        return self._features.get(column)

    @cached_property
    def _features(self) -> dict[str, int]:
        every = {name: j for j, name in enumerate(self.row.model.feature_names)}
        return {name: every[name] for name in self.row.columns if name in every and name not in self._choices}

    def may_change(self, column: str) -> bool:
        """Whether a column may change."""
        if column in self._choices:
            choice = self._choices[column]
            return bool((choice.allowed != choice.current).any())
        j = self.feature(column)
        return j is not None and bool(self.limits.low[j] < self.limits.high[j])

    def before(self, column: str) -> Any:
        """The value of a column before any change."""
        if column in self._choices:
            return self._values_of(column)[self._choices[column].current]
        j = self.feature(column)
        if j is not None:
            return float(self.limits.row[j])
        value = self._unused[column]
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    def known(self, column: str) -> float | None:
        """The number of a column that cannot change; None if it can. Raises a KeyError for categories and texts."""
        if column in self._choices:
            raise KeyError(column)
        j = self.feature(column)
        if j is None:
            value = self.before(column)
            if not isinstance(value, float):
                raise KeyError(column)
            return value
        if self.limits.low[j] < self.limits.high[j]:
            return None
        return float(self.limits.low[j])

    def ends(self, column: str) -> tuple[float, float]:
        """The range of a number."""
        j = self.feature(column)
        assert j is not None
        return float(self.limits.low[j]), float(self.limits.high[j])

    def values(self, rows: FloatArray) -> RowValues:
        """The values of rows, for formulas."""
        return RowValues(self, rows)

    def codes(self, column: str, value: Any) -> list[int]:
        """The codes of a category, if it may be chosen."""
        choice, values = self._choices[column], self._values_of(column)
        return [code for code in choice.allowed.tolist() if values[code] == value]

    @cached_property
    def _choices(self) -> dict[str, Choice]:
        names = self.row.model.feature_names
        return {names[choice.features.start]: choice for choice in self.limits.choices}

    @cached_property
    def _unused(self) -> dict[str, Any]:
        if not is_table(self.given):
            return {}
        names = [name for name in self.given.columns if str(name) not in self.row.columns]
        return {str(name): category(self.given[name].iloc[0]) for name in names}

    def _values_of(self, column: str) -> NDArray[Any]:
        """The categories of a column by code; the last is one not seen in training, if the given row has it."""
        if column not in self._values:
            self._values[column] = self._read_values(column)
        return self._values[column]

    @cached_property
    def _values(self) -> dict[str, NDArray[Any]]:
        return {}

    def _read_values(self, column: str) -> NDArray[Any]:
        known = self.row.categories(column).values
        values = np.empty(len(known) + 1, dtype=object)
        values[:-1] = known
        unseen = self._choices[column].current == len(known)
        values[-1] = category(self.tables.given[self.tables.name(column)].iloc[0]) if unseen else None
        return values

    def categories_at(self, column: str, rows: FloatArray) -> NDArray[Any]:
        """The categories that rows have in a column."""
        codes = self.limits.codes(rows, self._choices[column]).astype(np.int64)
        return np.asarray(self._values_of(column)[codes], dtype=object)


class RowValues(NamedTuple):
    """The values of rows of the model, for formulas."""

    columns: RelationColumns
    rows: FloatArray

    def now(self, column: str) -> NDArray[Any]:
        """The values of a column in the rows."""
        if self.columns.is_category(column):
            return self.columns.categories_at(column, self.rows)
        j = self.columns.feature(column)
        if j is not None:
            return np.asarray(self.rows[:, j])
        value = self.columns.before(column)
        return np.full(len(self.rows), value, dtype=np.float64 if isinstance(value, float) else object)

    def before(self, column: str) -> Any:
        """The value of a column before any change."""
        return self.columns.before(column)

    def set_number(self, column: str, where: BoolArray, values: FloatArray) -> None:
        """Set a number in some rows, in place; numbers that must be whole lose only their rounding errors."""
        j = self.columns.feature(column)
        assert j is not None
        values = np.broadcast_to(values, (len(self.rows),))[where]
        if self.columns.limits.is_whole[j]:
            values = np.where(np.abs(values - np.round(values)) < 1e-6, np.round(values), values)
        self.rows[where, j] = values

    def set_category(self, column: str, where: BoolArray, code: int) -> None:
        """Set a category in some rows, in place."""
        self.rows[where, self.columns.limits.n_features + self.columns.choice(column).column] = code


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
    """What one relation means for a row."""

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
    """Relations between the columns of a row, under given limits."""

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
