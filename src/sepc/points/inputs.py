"""Turn arrays, lists and DataFrames into validated rows of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from sepc._typing import FloatArray
from sepc.points.in_memory import ArrayPoints
from sepc.wording import counted

# NumPy dtype kinds: numbers, and types whose cells may be numbers.
NUMBER_KINDS = "biuf"
CELL_KINDS = "OUS"

# The types of pandas' missing values in non-float columns; NumPy converts None by itself.
MISSING_TYPES = ("NAType", "NaTType")


def is_gap(value: Any) -> bool:
    """Whether a single value is missing: None, NaN, NaT, or one of pandas' markers."""
    if isinstance(value, np.datetime64 | np.timedelta64):
        return bool(np.isnat(value))
    # Comparisons with NA have no truth value.
    is_nan = isinstance(value, float | np.floating) and value != value
    is_nan = is_nan or (isinstance(value, Decimal) and value.is_nan())
    return value is None or bool(is_nan) or type(value).__name__ in MISSING_TYPES


def as_points(X: Any) -> ArrayPoints:
    """Validate a table of numbers and turn it into a set of rows."""
    table = _as_table(X)
    names = _column_names(X, table)
    rows = _as_numbers(table, names)
    refuse_non_finite(rows, names)
    return ArrayPoints(rows)


def feature_names(X: Any) -> tuple[str, ...]:
    """Column names of anything `as_points` accepts; ``x0``, ``x1`` and so on if there are none."""
    return _column_names(X, _as_table(X))


def _column_names(X: Any, table: NDArray[Any]) -> tuple[str, ...]:
    if hasattr(X, "columns"):
        # The `columns` of an Arrow table are its cells.
        return tuple(str(name) for name in getattr(X, "column_names", X.columns))
    return _default_names(table.shape[1])


def _default_names(n_features: int) -> tuple[str, ...]:
    return tuple(f"x{j}" for j in range(n_features))


def _as_table(X: Any) -> NDArray[Any]:
    table = _as_array(X)
    if table.ndim != 2:
        raise ValueError(
            f"Reshape your data; expected a table with rows and columns, got an array of shape {table.shape}: "
            "for one feature use X.reshape(-1, 1), for one row X.reshape(1, -1)."
        )
    if table.shape[0] == 0:
        raise ValueError(f"X has 0 row(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.shape[1] == 0:
        raise ValueError(f"X has 0 feature(s) (shape={table.shape}) while a minimum of 1 is required.")
    return table


def _as_array(X: Any) -> NDArray[Any]:
    if sparse.issparse(X):
        raise TypeError("Sparse data is not supported; if it fits in memory, use X.toarray().")
    if hasattr(X, "__dask_graph__"):
        raise TypeError("Dask collections are not supported here; if the data fits in memory, use X.compute().")
    if isinstance(X, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(X.astype(np.float64), np.nan))
    try:
        return np.asarray(X.to_numpy() if hasattr(X, "to_numpy") else X)
    except ValueError as error:
        raise ValueError(f"X cannot be read as a table: its rows differ in length ({error}).") from error


def _as_numbers(table: NDArray[Any], names: Sequence[str]) -> FloatArray:
    kind = table.dtype.kind
    if kind in NUMBER_KINDS:
        # A wider float may become infinite; `refuse_non_finite` then names its cell.
        with np.errstate(over="ignore"):
            return table.astype(np.float64, copy=False)
    if kind == "c":
        raise ValueError("Complex data not supported; use real and imaginary parts as two features.")
    if kind not in CELL_KINDS:
        raise ValueError(f"X contains {table.dtype} instead of numbers; convert dates and durations to numbers first.")
    return np.column_stack([_numeric_column(table[:, j], name) for j, name in enumerate(names)])


def _numeric_column(column: NDArray[Any], name: str) -> FloatArray:
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        return np.array([_number(cell, name, i) for i, cell in enumerate(column)])


def _number(cell: Any, name: str, i: int) -> float:
    if cell is None or type(cell).__name__ in MISSING_TYPES:
        return np.nan
    try:
        return float(cell)
    except ValueError as error:
        raise ValueError(
            f"Feature {name!r} is not numeric: row {i} contains {cell!r}. Encode it as numbers or leave it out."
        ) from error
    except TypeError as error:
        raise TypeError(f"Feature {name!r} is not numeric: row {i} contains {cell!r} ({error}).") from error


def refuse_non_finite(rows: FloatArray, names: Sequence[str]) -> None:
    """Raise a ValueError that names the first NaN or infinite cell, if there is one."""
    is_finite = np.isfinite(rows)
    if is_finite.all():
        return
    i, j = np.argwhere(~is_finite)[0]
    n_cells = rows.size - int(np.count_nonzero(is_finite))
    raise ValueError(
        f"X contains NaN or infinity in {counted(n_cells, 'cell')}; the first is feature "
        f"{names[j]!r} in row {i}. Fill these cells or leave the rows out."
    )


class TableEncoder(Protocol):
    """Turns every block of a table into rows in the same way: features first, then the code of every category."""

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns it reads."""
        ...

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        ...

    @property
    def n_codes(self) -> int:
        """How many codes follow the features."""
        ...

    def rows_of(self, X: Any, /) -> FloatArray:
        """Rows of a block, with NaN for missing numbers."""
        ...


def n_columns(encoder: TableEncoder) -> int:
    """Number of columns of the rows: features and codes."""
    return len(encoder.feature_names) + encoder.n_codes


def refuse_missing_labels(y: ArrayLike) -> None:
    """Raise a ValueError if labels are missing, with their number and the position of the first, counted from 0."""
    labels = np.asarray(y)
    if labels.ndim != 1 or labels.dtype.kind not in "fOmM":
        return
    missing = [i for i, label in enumerate(labels.tolist()) if is_gap(label)]
    if missing:
        raise ValueError(missing_labels("y", len(missing), f"row {missing[0]:,}"))


def missing_labels(name: str, n: int, first: str) -> str:
    """The message for `n` missing labels, the first of them at `first`."""
    return f"{name} has {counted(n, 'missing label')}, the first in {first}; leave these rows out or give them a label."
