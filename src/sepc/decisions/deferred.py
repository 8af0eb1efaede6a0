"""Lazy columns: computed on first access, since many callers never need them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Deferred:
    """A column with one entry per row that is computed once, on first access.

    Indexing with a slice, a mask or positions gives the column of these rows, and computes only these unless the
    whole column is known.

    Parameters
    ----------
    compute : callable
        Computes the column from `by_row`, row by row.
    by_row : arrays, deferred columns, or anything else with one entry per row that can be indexed the same way
    """

    def __init__(self, compute: Callable[..., NDArray[Any]], *by_row: Any) -> None:
        self._compute, self._by_row = compute, by_row
        self._values: NDArray[Any] | None = None

    @property
    def values(self) -> NDArray[Any]:
        """The column."""
        if self._values is None:
            self._values = self._compute(*map(values_of, self._by_row))
        return self._values

    def __getitem__(self, rows: Any) -> Deferred | NDArray[Any]:
        if self._values is not None:
            return np.asarray(self._values[rows])
        return Deferred(self._compute, *(column[rows] for column in self._by_row))

    def __reduce__(self) -> Any:
        # A pickle holds the computed values, and can be read without this class.
        return np.asarray, (self.values,)


class DeferrableColumn:
    """A dataclass field that may be given as `Deferred`, and is read as an array."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, rows: Any, owner: type | None = None) -> Any:
        if rows is None:
            # This way dataclasses see a field without a default.
            raise AttributeError(self._name)
        return values_of(vars(rows)[self._name])

    def __set__(self, rows: Any, column: Any) -> None:
        vars(rows)[self._name] = column


def deferrable_column() -> Any:
    """Declare a field that may be given as `Deferred`; annotate it with the type it is read as."""
    return DeferrableColumn()


def defer(compute: Callable[..., NDArray[Any]], *by_row: Any) -> Any:
    """A `Deferred` column, for a field declared with `deferrable_column`."""
    return Deferred(compute, *by_row)


def values_of(column: Any) -> Any:
    """A column itself or, if it is deferred, its values."""
    return column.values if isinstance(column, Deferred) else column
