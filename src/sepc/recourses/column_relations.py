"""Relations that are not formulas: one of several columns, combinations of values, and columns that are computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import BoolArray, FloatArray
from sepc.recourses.formulas import EQUAL, Linear
from sepc.recourses.relation_columns import RelationColumns, RowValues
from sepc.recourses.relations import GivenRelation, LinearRelation, Parts
from sepc.wording import counted, shown

# A combination that undoes a change of the row is taken only if there is no other.
UNDOING = 1e6


@dataclass(frozen=True, eq=False)
class OneOf(GivenRelation):
    """Columns of zeros and a single one: a category that was encoded before."""

    names: tuple[str, ...]

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return list(self.names)

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        for name in self.names:
            if columns.feature(name) is None or columns.before(name) not in (0.0, 1.0):
                raise ValueError(f"column {shown(name)} is not a number 0 or 1 that the model uses")
        function = Linear({}, -1.0)
        for name in self.names:
            known = columns.known(name)
            function = function + (Linear({name: 1.0}, 0.0) if known is None else Linear({}, known))

        def holds(values: RowValues) -> BoolArray:
            table = np.column_stack([values.now(name) for name in self.names])
            return np.asarray(np.isin(table, (0.0, 1.0)).all(axis=1) & (table.sum(axis=1) == 1.0))

        def leave_new_one(values: RowValues) -> None:
            table = np.column_stack([values.now(name) for name in self.names])
            before = np.array([float(values.before(name)) for name in self.names])
            new = (table == 1.0) & (before == 0.0)
            for name, is_new in zip(self.names, new.T, strict=True):
                values.set_number(name, new.any(axis=1) & ~is_new, np.zeros(len(table)))

        is_exact = all(columns.limits.is_whole[columns.feature(name)] for name in self.names)
        return Parts([LinearRelation(function, True)], [holds], [leave_new_one], is_exact)


@dataclass(frozen=True, eq=False)
class Combinations(GivenRelation):
    """The combinations of values that some columns can have."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]

    @property
    def columns(self) -> list[str]:
        """The columns it is about."""
        return list(self.names)

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        known = [columns.feature(name) is not None for name in self.names]
        try:
            cells = [
                np.array([row[i] for row in self.rows], dtype=np.float64 if is_number else object)
                for i, is_number in enumerate(known)
            ]
        except (TypeError, ValueError):
            raise ValueError("a column of numbers has a combination that is not a number") from None

        def differs(values: RowValues) -> list[BoolArray]:
            return [
                np.asarray(values.now(name)[:, np.newaxis] != cell)
                for name, cell in zip(self.names, cells, strict=True)
            ]

        def holds(values: RowValues) -> BoolArray:
            return np.asarray(~np.logical_or.reduce(differs(values)).all(axis=1))

        def take_nearest(values: RowValues) -> None:
            differing = differs(values)
            wrong = np.logical_or.reduce(differing).all(axis=1)
            if wrong.any():
                self._set(values, wrong, self._costs(values, differing, cells).argmin(axis=1), cells)

        return Parts((), [holds], [take_nearest], is_exact=False)

    def _costs(self, values: RowValues, differing: list[BoolArray], cells: list[Any]) -> FloatArray:
        """What it costs to take each combination in each row; much if it undoes a change."""
        columns, costs = values.columns, np.zeros(differing[0].shape)
        for name, differs, cell in zip(self.names, differing, cells, strict=True):
            now, j = values.now(name), columns.feature(name)
            undoes = np.asarray(now != values.before(name))[:, np.newaxis]
            if j is None:
                step = np.asarray(differs, dtype=np.float64)
                allowed = [bool(columns.codes(name, value)) for value in cell] if columns.is_category(name) else False
                costs = costs + np.where(np.asarray(allowed) | ~differs, 0.0, np.inf)
            else:
                limits = columns.limits
                step = (limits.prices[j] * (now[:, np.newaxis] - cell) / limits.model.scale[j]) ** 2
                costs = costs + np.where((limits.low[j] <= cell) & (cell <= limits.high[j]), 0.0, np.inf)
            costs = costs + step + UNDOING * (differs & undoes)
        return np.asarray(costs)

    def _set(self, values: RowValues, wrong: BoolArray, taken: Any, cells: list[Any]) -> None:
        columns = values.columns
        for name, cell in zip(self.names, cells, strict=True):
            if columns.is_category(name):
                for value in dict.fromkeys(cell.tolist()):
                    for code in columns.codes(name, value):
                        values.set_category(name, wrong & (cell[taken] == value), code)
            elif columns.feature(name) is not None:
                values.set_number(name, wrong, cell[taken])


@dataclass(frozen=True, eq=False)
class Derived(GivenRelation):
    """A column that a function of the user computes from a table."""

    column: str
    function: Callable[[Any], Any]

    @property
    def columns(self) -> list[str]:
        """The columns it is known to be about."""
        return [self.column]

    def parts(self, columns: RelationColumns) -> Parts:
        """What it means for a row."""
        if columns.feature(self.column) is None:
            raise ValueError(f"column {shown(self.column)} is not a number that the model uses")

        def computed(values: RowValues) -> FloatArray:
            table = columns.tables.of(columns.limits.encode_categories(values.rows.copy()))
            try:
                result = np.asarray(self.function(table), dtype=np.float64).reshape(-1)
            except Exception as error:
                raise ValueError(f"The function that computes {shown(self.column)} failed: {error!r}.") from error
            if len(result) not in (1, len(values.rows)):
                given, returned = counted(len(values.rows), "row"), counted(len(result), "value")
                raise ValueError(f"The function for {shown(self.column)} was given {given} and returned {returned}.")
            return np.broadcast_to(result, (len(values.rows),))

        def holds(values: RowValues) -> BoolArray:
            own, other = values.now(self.column), computed(values)
            return np.asarray(np.abs(own - other) <= EQUAL * (1.0 + np.abs(own) + np.abs(other)))

        def compute(values: RowValues) -> None:
            values.set_number(self.column, np.ones(len(values.rows), dtype=bool), computed(values))

        return Parts((), [holds], [compute] if columns.may_change(self.column) else [], is_exact=False)
