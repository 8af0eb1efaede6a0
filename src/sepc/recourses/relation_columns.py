"""Columns as relations see them: numbers, categories, and columns that the model does not use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.columns.categories import category
from sepc.columns.table import is_table
from sepc.model.training_summary import FeatureKind
from sepc.recourses.choices import Choice
from sepc.recourses.given_row import Row
from sepc.recourses.limits import Limits
from sepc.recourses.tables import Tables
from sepc.wording import MOST_NAMES, listed, shown


@dataclass(frozen=True, eq=False)
class RelationColumns:
    """The columns of a row that relations may name, under given limits.

    Attributes
    ----------
    row : Row
    given : DataFrame or matrix of one row
    limits : Limits
    """

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
