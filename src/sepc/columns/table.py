"""Tables of pandas, polars and Arrow, read column by column in one way."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray

# NumPy dtype kinds that are numbers; booleans are 0 and 1.
NUMBER_KINDS = "biuf"


def is_table(X: Any) -> bool:
    """Whether this is a table with named columns: a DataFrame of pandas or polars, or an Arrow table."""
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "column_names"))


def column_names(X: Any) -> list[Any]:
    """The names of the columns."""
    return list(X.column_names if hasattr(X, "column_names") else X.columns)


def column_of(X: Any, name: Any) -> NDArray[Any]:
    """A column as an array, as `typed` gives it; dates with a time zone are converted to UTC."""
    return typed(_as_array(X.column(name) if hasattr(X, "column_names") else X[name]))


def typed(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as doubles, dates as datetime64, durations as timedelta64, all else as objects with None for gaps."""
    if values.dtype.kind in NUMBER_KINDS:
        return values.astype(np.float64)
    if values.dtype.kind == "M":
        return values.astype("datetime64[us]")
    if values.dtype.kind == "m":
        return values.astype("timedelta64[us]")
    objects = values.astype(object)
    objects[[value is None or _is_missing(value) for value in objects]] = None
    if all(value is None or isinstance(value, bool | int | float | np.number | np.bool_) for value in objects):
        return numbers_of(objects)
    if all(value is None or isinstance(value, date) for value in objects):
        return dates_of(objects)
    if all(value is None or isinstance(value, timedelta) for value in objects):
        return np.array(objects, dtype="timedelta64[us]")
    return objects


def numbers_of(values: NDArray[Any]) -> FloatArray:
    """Objects as doubles, with NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def dates_of(values: NDArray[Any]) -> NDArray[Any]:
    """Python's dates and times as datetime64, with NaT for None."""
    return np.array([None if value is None else _without_zone(value) for value in values], dtype="datetime64[us]")


def _without_zone(value: date) -> date:
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC).replace(tzinfo=None)
    return value


def is_categorical(X: Any, name: Any) -> bool:
    """Whether a column has a type made for categories, whatever it holds."""
    column = X.column(name) if hasattr(X, "column_names") else X[name]
    kind = str(getattr(column, "dtype", getattr(column, "type", ""))).lower()
    return kind.startswith(("category", "categorical", "enum", "dictionary"))


def _as_array(column: Any) -> NDArray[Any]:
    if getattr(getattr(column, "dtype", None), "tz", None) is not None:
        column = column.dt.tz_convert(None)
    if hasattr(column, "to_numpy"):
        try:
            values = column.to_numpy(zero_copy_only=False) if hasattr(column, "type") else column.to_numpy()
        except (TypeError, ValueError):
            values = np.array(list(column), dtype=object)
        return np.asarray(values)
    return np.asarray(column)


def _is_missing(value: Any) -> bool:
    """Whether this is a mark for a gap: NaN, or pandas' NaT or NA, which has no truth value."""
    return (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
