"""The columns of a row that relations may name, under given limits, and their values in many rows."""

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
from sepc.recourses._limits import Choice, Limits
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

    @cached_property
    def choices(self) -> dict[str, Choice]:
        """The categorical columns."""
        names = self.row.model.feature_names
        return {names[choice.features.start]: choice for choice in self.limits.choices}

    @cached_property
    def features(self) -> dict[str, int]:
        """The positions of columns of numbers among the features."""
        every = {name: j for j, name in enumerate(self.row.model.feature_names)}
        return {name: every[name] for name in self.row.columns if name in every and name not in self.choices}

    def may_change(self, column: str) -> bool:
        """Whether a column may change."""
        if column in self.choices:
            choice = self.choices[column]
            return bool((choice.allowed != choice.current).any())
        return column in self.features and self.ends(column)[0] < self.ends(column)[1]

    def before(self, column: str) -> Any:
        """The value of a column before any change."""
        if column in self.choices:
            return self._values_of(column)[self.choices[column].current]
        if column in self.features:
            return float(self.limits.row[self.features[column]])
        value = self._unused[column]
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else value

    def number(self, column: str) -> float:
        """The number in a column that does not change."""
        value = self.ends(column)[0] if column in self.features else self.before(column)
        if not isinstance(value, float):
            raise ValueError(f"{column}: a category cannot be used as a number")
        return value

    def ends(self, column: str) -> tuple[float, float]:
        """The range of a number."""
        j = self.features[column]
        return float(self.limits.low[j]), float(self.limits.high[j])

    def values(self, rows: FloatArray) -> RowValues:
        """The values of rows."""
        return RowValues(self, rows)

    def codes(self, column: str, value: Any) -> list[int]:
        """The codes of a category, if it may be chosen."""
        choice, values = self.choices[column], self._values_of(column)
        return [code for code in choice.allowed.tolist() if values[code] == value]

    @cached_property
    def _unused(self) -> dict[str, Any]:
        if not is_table(self.given):
            return {}
        names = [name for name in self.given.columns if str(name) not in self.row.columns]
        return {str(name): category(self.given[name].iloc[0]) for name in names}

    def _values_of(self, column: str) -> NDArray[Any]:
        """The categories of a column by code; the last is one not seen in training, if the given row has it."""
        if column not in self._read:
            known = self.row.categories(column).values
            self._read[column] = values = np.empty(len(known) + 1, dtype=object)
            values[:-1] = known
            if self.choices[column].current == len(known):
                values[-1] = category(self.tables.given[self.tables.name(column)].iloc[0])
        return self._read[column]

    @cached_property
    def _read(self) -> dict[str, NDArray[Any]]:
        return {}

    def categories_at(self, column: str, rows: FloatArray) -> NDArray[Any]:
        """The categories that rows have in a column."""
        codes = self.limits.codes(rows, self.choices[column]).astype(np.int64)
        return np.asarray(self._values_of(column)[codes], dtype=object)


class RowValues(NamedTuple):
    """The values of rows of the model."""

    columns: RelationColumns
    rows: FloatArray

    def now(self, column: str) -> NDArray[Any]:
        """The values of a column in the rows."""
        if column in self.columns.choices:
            return self.columns.categories_at(column, self.rows)
        if column in self.columns.features:
            return np.asarray(self.rows[:, self.columns.features[column]])
        value = self.columns.before(column)
        return np.full(len(self.rows), value, dtype=np.float64 if isinstance(value, float) else object)

    def set_number(self, column: str, where: BoolArray, values: FloatArray) -> None:
        """Set a number in some rows, in place; numbers that must be whole lose only their rounding errors."""
        j = self.columns.features[column]
        values = np.broadcast_to(values, (len(self.rows),))[where]
        if self.columns.limits.is_whole[j]:
            values = np.where(np.abs(values - np.round(values)) < 1e-6, np.round(values), values)
        self.rows[where, j] = values

    def set_category(self, column: str, where: BoolArray, code: int) -> None:
        """Set a category in some rows, in place."""
        self.rows[where, self.columns.limits.n_features + self.columns.choices[column].column] = code
