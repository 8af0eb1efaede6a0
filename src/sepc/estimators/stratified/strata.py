"""Strata: the combinations of categories in some columns, and which rows belong to which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.wording import MOST_NAMES, counted, listed, name_of, shown

if TYPE_CHECKING:
    import pandas as pd

# The stratum of rows that the pooled model decides on.
POOLED = -1

# The types of pandas' missing values, besides None and NaN.
MISSING_TYPES = ("NAType", "NaTType")


@dataclass(frozen=True, eq=False, repr=False)
class Strata(ShownAsCard):
    """The combinations of categories among the training rows, the largest first.

    Attributes
    ----------
    by : tuple of str
        Names of the columns.
    values : (S, k) array of object
        The categories of each combination; None where they are missing.
    classes : (C,) array
        The labels.
    counts : (S, C) array of int
        Training rows of each class.
    fitted : (S,) array of bool
        Whether the combination has a model of its own; the pooled model decides on the others.
    """

    by: tuple[str, ...]
    values: NDArray[Any]
    classes: NDArray[Any]
    counts: IntArray
    fitted: BoolArray

    @property
    def n_rows(self) -> IntArray:
        """Training rows of each combination."""
        return np.asarray(self.counts.sum(axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def of(self, values: NDArray[Any]) -> IntArray:
        """The stratum of each row of categories: its position here, or -1 if the pooled model decides."""
        known = {tuple(own): s for s, own in enumerate(self.values) if self.fitted[s]}
        return np.array([known.get(tuple(row), POOLED) for row in values], dtype=np.int64)

    def described(self, values: NDArray[Any]) -> str:
        """Categories as text, such as "workclass = Private, sex missing"."""
        pairs = zip(self.by, values, strict=True)
        return ", ".join(f"{name} missing" if value is None else f"{name} = {value}" for name, value in pairs)

    def to_frame(self) -> pd.DataFrame:
        """The strata as a pandas DataFrame: categories, rows, rows of each class, and which model decides."""
        columns: dict[str, Any] = {name: self.values[:, j] for j, name in enumerate(self.by)}
        columns |= {"n_rows": self.n_rows}
        columns |= {f"n_{label}": self.counts[:, c] for c, label in enumerate(self.classes)}
        return frame_of(columns | {"model": np.where(self.fitted, "own", "pooled")})

    def _card(self) -> Card:
        n_rows = self.n_rows
        facts = (
            ("by", ", ".join(self.by) or "no column"),
            ("with a model of their own", f"{self.fitted.sum():,}, for {n_rows[self.fitted].sum():,} training rows"),
            ("left to the pooled model", f"{(~self.fitted).sum():,}, for {n_rows[~self.fitted].sum():,} training rows"),
        )
        rows = tuple(
            (
                *("missing" if value is None else name_of(value) for value in own),
                f"{n:,}",
                "own" if fitted else "pooled",
            )
            for own, n, fitted in zip(self.values, n_rows, self.fitted, strict=True)
        )
        title = counted(len(self), "stratum", "strata")
        return Card(title, facts, (*self.by, "rows", "model"), rows, "As a DataFrame: to_frame()")


def find_strata(
    by: tuple[str, ...], values: NDArray[Any], classes: NDArray[Any], which: IntArray, min_rows: int, min_second: int
) -> tuple[Strata, IntArray]:
    """The strata of the training rows, and the stratum of each row (-1 if it is left to the pooled model).

    A stratum gets its own model if it has at least `min_rows` rows, and `min_second` of its second largest class.
    Without columns there are no strata.
    """
    seen: dict[tuple[Any, ...], int] = {}
    first = np.array([seen.setdefault(tuple(row), len(seen)) for row in values], dtype=np.int64)
    counts = np.zeros((len(seen), len(classes)), dtype=np.int64)
    np.add.at(counts, (first, which), 1)
    order = np.argsort(-counts.sum(axis=1), kind="stable") if by else np.empty(0, dtype=np.int64)
    counts = counts[order]
    second = np.sort(counts, axis=1)[:, -2] if len(classes) > 1 else np.zeros(len(counts), dtype=np.int64)
    fitted = (counts.sum(axis=1) >= min_rows) & (second >= min_second)
    combinations = np.empty((len(seen), len(by)), dtype=object)
    combinations[:] = list(seen)
    strata = Strata(by, combinations[order], classes, counts, fitted)
    of_first = np.full(len(seen), POOLED)
    of_first[order] = np.where(fitted, np.arange(len(order)), POOLED)
    return strata, of_first[first]


def column_names(X: Any) -> tuple[Any, ...]:
    """Names of the columns of a DataFrame; for an array x0, x1 and so on."""
    return tuple(X.columns) if hasattr(X, "columns") else tuple(f"x{j}" for j in range(X.shape[1]))


def column_positions(by: Any, X: Any) -> IntArray:
    """Positions of the columns `by`: one or several names or positions, or a function of `X` that returns them.

    Raises
    ------
    ValueError
        If a column does not exist or is repeated, or no column is left for the models.
    """
    chosen = by(X) if callable(by) else by
    chosen = [chosen] if isinstance(chosen, str | int | np.integer) else list(chosen)
    names = column_names(X)
    positions = [_position(column, names, named=hasattr(X, "columns")) for column in chosen]
    if len(set(positions)) < len(positions):
        raise ValueError(f"by names a column twice: {chosen}.")
    if len(positions) == len(names):
        raise ValueError(f"by names all {len(names)} columns, so nothing is left for the models to see.")
    return np.array(positions, dtype=np.int64)


def _position(column: Any, names: Sequence[Any], *, named: bool) -> int:
    if isinstance(column, int | np.integer) and not isinstance(column, bool):
        if not -len(names) <= column < len(names):
            raise ValueError(f"by has position {column}, but X has {len(names)} columns.")
        return int(column) % len(names)
    if not named:
        raise ValueError(f"by names the column {column!r}, but X is an array; give positions, or a DataFrame.")
    if column not in names:
        known = listed(map(shown, names), MOST_NAMES)
        raise ValueError(f"by names the column {column!r}; the columns are {known}.")
    return list(names).index(column)


def categories_of(X: Any, positions: IntArray) -> NDArray[Any]:
    """The cells of some columns, of shape (n, k), with None for all missing values."""
    cells = np.empty((X.shape[0], len(positions)), dtype=object)
    for j, position in enumerate(positions):
        column = _safe_indexing(X, int(position), axis=1)
        cells[:, j] = [None if _is_missing(cell) else cell for cell in np.asarray(column, dtype=object)]
    return cells


def _is_missing(cell: Any) -> bool:
    return cell is None or type(cell).__name__ in MISSING_TYPES or (isinstance(cell, float) and cell != cell)


def text_columns(X: Any) -> list[str]:
    """Names of the columns whose cells are not numbers."""
    return [str(name) for j, name in enumerate(column_names(X)) if not _holds_numbers(_safe_indexing(X, j, axis=1))]


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
