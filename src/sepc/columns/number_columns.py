"""Numeric columns of a table; others are left out, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from sepc._typing import IntArray
from sepc.columns.table import NUMBER_KINDS
from sepc.wording import MOST_NAMES, listed, shown

# NumPy dtype kinds that NumPy would turn into numbers, though they are none.
DATE_KINDS = "mM"


def refuse_text(X: Any, who: str) -> None:
    """Raise if a DataFrame has columns that do not hold numbers, as those of training did."""
    text = [str(name) for name in getattr(X, "columns", ()) if not _holds_numbers(X[name])]
    if text:
        held = f"column{'s' if len(text) > 1 else ''} {listed(map(shown, text), MOST_NAMES)}"
        raise ValueError(
            f"{who} was fitted to numbers, and {held} now hold{'' if len(text) > 1 else 's'} something else."
        )


def has_numbers(X: Any) -> bool:
    """Whether a DataFrame has columns of numbers."""
    return any(_holds_numbers(X[name]) for name in X.columns)


def number_columns(X: Any, who: str) -> Any:
    """The numeric columns of a DataFrame, as a DataFrame of the same type; arrays are returned unchanged."""
    if not hasattr(X, "columns"):
        return X
    numbers = [name for name in X.columns if _holds_numbers(X[name])]
    if not numbers:
        raise ValueError(f"{who} found no column of numbers; give it a transformer that encodes the others.")
    return X[numbers]


def complete_rows(X: Any) -> IntArray:
    """Positions of the rows of numbers that have no gap."""
    return np.flatnonzero(~np.isnan(np.asarray(X, dtype=np.float64)).any(axis=1))


def _holds_numbers(column: Any) -> bool:
    kind = getattr(column.dtype, "kind", "?")
    if kind in NUMBER_KINDS or kind in DATE_KINDS:
        return kind in NUMBER_KINDS
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
