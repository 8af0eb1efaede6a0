"""Convert rows of a model to rows of the user's table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sepc._typing import FloatArray
from sepc.columns.preparation import Preparation
from sepc.columns.table import is_table
from sepc.recourses.limits import Limits

# NumPy dtype kinds that hold only whole numbers.
WHOLE_KINDS = ("b", "i", "u")


def as_rows(row: Any) -> Any:
    """One row, or several, as a table or matrix; raises a ValueError if there are none."""
    if isinstance(row, dict):
        row = _pandas().DataFrame([row])
    if type(row).__name__ == "Series" and hasattr(row, "to_frame"):
        # In a Series, the columns of a mixed table have lost their types.
        row = row.to_frame().T.infer_objects()
    if not is_table(row):
        row = np.asarray(row)
        row = row[np.newaxis] if row.ndim == 1 else row
    if len(row) == 0:
        raise ValueError("Recourse needs at least one row; the table has none.")
    return row.to_pandas() if is_table(row) and not hasattr(row, "iloc") else row


@dataclass(frozen=True, eq=False)
class Tables:
    """Converts rows of the model to rows like the given one.

    Attributes
    ----------
    given : DataFrame or matrix of one row
    limits : Limits
    preparation : Preparation or None
    """

    given: Any
    limits: Limits
    preparation: Preparation | None

    def of(self, rows: FloatArray) -> Any:
        """The given row, with the changes of each row of the model."""
        if not is_table(self.given):
            return rows[:, : self.limits.n_features]
        table = self.given.iloc[np.zeros(len(rows), dtype=int)].reset_index(drop=True)
        changed = set(self.limits.changed_in_any(rows))
        for j in changed.intersection(self.limits.free.tolist()):
            table[self.name(self.limits.model.feature_names[j])] = self._numbers(rows[:, j], j)
        for choice in self.limits.choices:
            if choice.features.start in changed:
                name = self.limits.model.feature_names[choice.features.start]
                values = self.values_of(name, self.limits.codes(rows, choice))
                column = table[self.name(name)]
                table[self.name(name)] = _pandas().Series(values, index=table.index, dtype=object).astype(column.dtype)
        return table

    def values_of(self, name: str, codes: FloatArray) -> list[Any]:
        """The categories of a column with these codes; for one not seen in training, that of the given row."""
        assert self.preparation is not None  # Otherwise there are no categories.
        known = self.preparation.categories[name].values
        given = self.given[self.name(name)].iloc[0]
        return [known[int(code)] if code < len(known) else given for code in codes]

    def _numbers(self, values: FloatArray, j: int) -> Any:
        name = self.limits.model.feature_names[j]
        column_type = self.given[self.name(name)].dtype
        kind = getattr(column_type, "kind", "")
        if kind == "m":
            # The table has durations, the model their seconds.
            return np.round(1e6 * values).astype("timedelta64[us]")
        if kind not in WHOLE_KINDS or not self.limits.is_whole[j]:
            return values
        # Types with gaps take no fractions, which the search tries on its way.
        whole = np.round(values)
        return _pandas().Series(whole.clip(0, 1) if kind == "b" else whole).astype(column_type)

    def name(self, name: str) -> Any:
        """The name of a column in the table, where it may not be a string."""
        return self._names[name]

    @cached_property
    def _names(self) -> dict[str, Any]:
        # Of columns with the same text, the first counts.
        return {str(column): column for column in reversed(list(self.given.columns))}


def _pandas() -> Any:
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError("Rows with column names need pandas; install it with 'pip install pandas'.") from error
    return pd
