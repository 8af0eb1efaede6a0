"""Uniform access to the columns of pandas, polars and Arrow tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray
from sepc.columns.notations import has_zone
from sepc.points.inputs import is_gap as is_gap  # re-exported for modules that read columns
from sepc.wording import MOST_NAMES, listed, shown

# NumPy dtype kinds that are numbers; booleans are 0 and 1.
NUMBER_KINDS = "biuf"
# Types of cells that are numbers.
NUMBERS = (bool, int, float, Decimal, np.number, np.bool_)

# Names for cells with several values, in messages.
NESTED = {list: "lists", np.ndarray: "lists", dict: "dictionaries", set: "sets"}

# Above this, doubles skip whole numbers.
LARGEST_EXACT = 2.0**53


def is_table(X: Any) -> bool:
    """Whether this is a table with named columns: a DataFrame of pandas or polars, or an Arrow table."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "column_names"))


def column_names(X: Any) -> list[Any]:
    """The names of the columns."""
    names = X.column_names if hasattr(type(X), "column_names") else X.columns
    return names.tolist() if hasattr(names, "tolist") else list(names)  # slower for an Index


def refuse_repeated(names: Sequence[Any], among: Collection[Any] | None = None) -> None:
    """Raise if several columns have the same name; of those `among` which it matters, or of all."""
    times = Counter(names)
    repeated = [name for name, n in times.items() if n > 1 and (among is None or name in among)]
    if repeated:
        raise ValueError(
            f"There are several columns called {listed(map(shown, repeated), MOST_NAMES)}; it is unclear which is "
            "meant. Give every column a name of its own."
        )


def refuse_masked(X: Any) -> None:
    """Raise for a masked array, whose mask scikit-learn would ignore."""
    if np.ma.is_masked(X):
        raise TypeError("X is a masked array; mark its missing cells by NaN, as X.astype(float).filled(np.nan) does.")


def with_columns(X: Any, names: Sequence[Any]) -> Any:
    """The table with just these columns, in this order; columns it lacks are filled with missing values."""
    if hasattr(X, "reindex"):
        table = X if X.columns.is_unique else X[[name for name in names if name in X.columns]]
        return table.reindex(columns=names)
    lacking = [name for name in names if name not in column_names(X)]
    if hasattr(X, "append_column"):
        for name in lacking:
            X = X.append_column(name, [[None] * len(X)])
    elif lacking:
        X = X.with_columns(**dict.fromkeys(lacking))
    return X.select(names)


def column_of(X: Any, name: Any) -> NDArray[Any]:
    """A column as an array, converted by `as_typed`; dates with a time zone are converted to UTC."""
    values = as_typed(_as_array(X.column(name) if hasattr(X, "column_names") else X[name]))
    if values.dtype.kind == "O":
        _refuse_nested(values, name)
    return values


def last_cells(X: Any) -> dict[str, NDArray[Any]]:
    """The last cell of each column, as `column_of` gives it; empty arrays if there are no rows."""
    last = X.iloc[-1:] if hasattr(X, "iloc") else X[-1:]
    return {str(name): column_of(last, name) for name in column_names(last)}


def as_typed(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as doubles, dates as datetime64, durations as timedelta64, all else as objects with None if missing."""
    if values.dtype.kind in NUMBER_KINDS:
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    if values.dtype.kind == "m":
        return values.astype("timedelta64[us]")
    objects = _with_none(values.astype(object))
    types = set(map(type, objects.tolist())) - {type(None)}
    if all(issubclass(cell_type, NUMBERS) for cell_type in types):
        return numbers_of(objects)
    if all(issubclass(cell_type, date) for cell_type in types):
        return dates_of(objects)
    if all(issubclass(cell_type, timedelta) for cell_type in types):
        return np.array(objects, dtype="timedelta64[us]")
    return objects


def exact_column_of(X: Any, name: Any) -> NDArray[Any]:
    """`column_of`, but as objects if whole numbers, such as 64-bit ids, are too large for doubles to tell apart."""
    values = column_of(X, name)
    if not has_large(values):
        return values
    objects = np.empty(len(values), dtype=object)
    cells = cells_of(X.column(name) if hasattr(X, "column_names") else X[name])
    objects[:] = [
        int(cell) if isinstance(cell, Decimal) and cell.is_finite() and cell == int(cell) else cell for cell in cells
    ]
    return _with_none(objects)


def has_large(values: NDArray[Any]) -> bool:
    """Whether a column has whole numbers too large for doubles to tell apart."""
    return values.dtype.kind == "f" and bool((np.abs(values) >= LARGEST_EXACT).any())


def cells_of(column: Any) -> list[Any]:
    """The cells of a column as a list; whole numbers stay int even if some are missing."""
    if hasattr(getattr(column, "cat", None), "codes"):
        # As an array, pandas would turn whole numbers into doubles to hold missing values.
        known = [*column.cat.categories.tolist(), None]
        return [known[code] for code in column.cat.codes.tolist()]
    return list(column.to_pylist() if hasattr(column, "to_pylist") else column.to_list())


def _with_none(objects: NDArray[Any]) -> NDArray[Any]:
    """The cells, with None for those that are missing or blank."""
    cells = objects.tolist()
    # Most columns are text without gaps; calling `is_gap` on each cell would dominate the run time.
    if set(map(type, cells)) != {str} or not all(map(str.strip, set(cells))):
        objects[[not value.strip() if type(value) is str else is_gap(value) for value in cells]] = None
    return objects


def _refuse_nested(objects: NDArray[Any], name: Any) -> None:
    """Raise if a cell holds several values, as lists do; such cells cannot be compared like categories."""
    nested = next((cell_type for cell_type in set(map(type, objects.tolist())) if cell_type.__hash__ is None), None)
    if nested is not None:
        kind = NESTED.get(nested, f"values of type {nested.__name__}")
        raise ValueError(
            f"Column {shown(name)} holds {kind}; a cell must hold one value. Make a column for each part that "
            "matters, or leave the column out."
        )


def numbers_of(values: Iterable[Any]) -> FloatArray:
    """Objects as doubles, with NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def dates_of(values: Iterable[Any]) -> NDArray[Any]:
    """Python's dates and times as datetime64, with NaT for None."""
    return np.array([None if value is None else _without_zone(value) for value in values], dtype="datetime64[us]")


def _without_zone(value: date) -> date:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def is_categorical(X: Any, name: Any) -> bool:
    """Whether a column has a categorical dtype, whatever it holds."""
    column = X.column(name) if hasattr(X, "column_names") else X[name]
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(("category", "categorical", "enum", "dictionary"))


def zones_of(X: Any, name: Any) -> BoolArray:
    """Which times of a column of dates have a time zone."""
    column = X.column(name) if hasattr(X, "column_names") else X[name]
    kind = getattr(column, "dtype", getattr(column, "type", None))
    kind = getattr(kind, "pyarrow_dtype", kind)
    if getattr(kind, "tz", None) is not None or getattr(kind, "time_zone", None) is not None:
        return np.ones(len(column), dtype=bool)
    if str(kind).lower().startswith(("date", "timestamp")):
        return np.zeros(len(column), dtype=bool)
    given = cells_of(column)
    zoned = {cell: has_zone(cell) for cell in set(given) if isinstance(cell, str)}
    return np.array([zoned.get(cell, getattr(cell, "tzinfo", None) is not None) for cell in given], dtype=bool)


def _as_array(column: Any) -> NDArray[Any]:
    if hasattr(getattr(column, "type", None), "value_type") and hasattr(column.type, "index_type"):
        # Arrow takes the codes of missing cells in a dictionary for the last category.
        column = column.cast(column.type.value_type)
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_convert(None)
    if str(getattr(column, "dtype", "")) == "Int128":
        return np.array(column.to_list(), dtype=object)  # NumPy has no such integers
    if hasattr(column, "to_numpy"):
        try:
            values = column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else column.to_numpy()
        except (TypeError, ValueError):
            values = np.array(list(column), dtype=object)
        return np.asarray(values)
    return np.asarray(column)
