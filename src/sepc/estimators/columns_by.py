"""Grouping columns, given by name or by position, and their cells."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import IntArray
from sepc.columns.table import LARGEST_EXACT, cells_of, is_gap
from sepc.columns.table import column_names as names_in_table
from sepc.wording import MOST_NAMES, listed, shown


def column_names(X: Any) -> tuple[Any, ...]:
    """Names of the columns of a DataFrame; for an array x0, x1 and so on."""
    return tuple(names_in_table(X)) if hasattr(X, "columns") else tuple(f"x{j}" for j in range(X.shape[1]))


def column_positions(by: Any, X: Any) -> IntArray:
    """Positions of the columns `by`: one or several names or positions, or a function of `X` that returns them.

    Raises
    ------
    ValueError
        If a column does not exist or is repeated.
    """
    chosen = by(X) if callable(by) else by
    if not isinstance(chosen, str | int | np.integer | Iterable):
        raise ValueError(f"by is {chosen!r}; it must name columns, or give their positions.")
    chosen = [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)
    names = column_names(X)
    positions = [_position(column, names, named=hasattr(X, "columns")) for column in chosen]
    if len(set(positions)) < len(positions):
        raise ValueError(f"by names a column twice: {chosen}.")
    return np.array(positions, dtype=np.int64)


def _position(column: Any, names: Sequence[Any], *, named: bool) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -len(names) <= column < len(names):
            raise ValueError(f"by has position {column}, but X has {len(names)} columns.")
        return int(column) % len(names)
    if not named:
        raise ValueError(f"by names the column {column!r}, but X is an array; give positions, or pass a DataFrame.")
    if column not in names:
        known = listed(map(shown, names), MOST_NAMES)
        raise ValueError(f"by names the column {column!r}; the columns are {known}.")
    return list(names).index(column)


def categories_of(X: Any, positions: IntArray) -> NDArray[Any]:
    """The cells of some columns, of shape (n, k), with None for all missing values."""
    cells = np.empty((X.shape[0], len(positions)), dtype=object)
    for j, position in enumerate(positions):
        column = _safe_indexing(X, int(position), axis=1)
        values = np.asarray(column, dtype=object).tolist()
        has_large = any(isinstance(cell, float) and abs(cell) >= LARGEST_EXACT for cell in values)
        if has_large and hasattr(column, "to_list"):
            values = cells_of(column)
        cells[:, j] = [None if is_gap(cell) else cell for cell in values]
    return cells
