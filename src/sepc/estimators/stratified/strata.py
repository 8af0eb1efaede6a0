"""Strata: combinations of categories in some columns, and the rows that belong to each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from sepc._typing import BoolArray, IntArray
from sepc.cards import Card, ShownAsCard
from sepc.decisions.frames import frame_of
from sepc.estimators.columns_by import column_names
from sepc.records import bools, counts, labels, lists, record, texts
from sepc.wording import counted, name_of

if TYPE_CHECKING:
    import pandas as pd

# The stratum of rows that the pooled model decides on.
POOLED = -1


@record
class Strata(ShownAsCard):
    """The combinations of categories among the training rows, the largest first.

    Attributes
    ----------
    by : tuple of str
        Names of the columns.
    values : tuple of S tuples
        The categories of each combination; None where they are missing.
    classes : (C,) array
        The labels.
    counts : (S, C) array of int
        Training rows of each class.
    fitted : (S,) array of bool
        Whether the combination has a model of its own; the pooled model decides on the others.
    """

    by: tuple[str, ...] = texts("k", name="by_names")
    values: tuple[tuple[Any, ...], ...] = lists("S", "k")
    classes: NDArray[Any] = labels("C")
    counts: IntArray = counts("S", "C")
    fitted: BoolArray = bools("S")

    @property
    def n_rows(self) -> IntArray:
        """Training rows of each combination."""
        return np.asarray(self.counts.sum(axis=1))

    def __len__(self) -> int:
        return len(self.values)

    def of(self, values: NDArray[Any]) -> IntArray:
        """The stratum of each row of categories: its position here, or -1 if the pooled model decides."""
        known = {combination: s for s, combination in enumerate(self.values) if self.fitted[s]}
        return np.array([known.get(tuple(row), POOLED) for row in values], dtype=np.int64)

    def described(self, values: NDArray[Any]) -> str:
        """Categories as text, such as "workclass = Private, sex missing"."""
        pairs = zip(self.by, values, strict=True)
        return ", ".join(f"{name} missing" if value is None else f"{name} = {value}" for name, value in pairs)

    def to_frame(self) -> pd.DataFrame:
        """The strata as a pandas DataFrame: categories, rows, rows of each class, and which model decides."""
        columns: dict[str, Any] = {
            name: np.array([combination[j] for combination in self.values], dtype=object)
            for j, name in enumerate(self.by)
        }
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
                *("missing" if value is None else name_of(value) for value in combination),
                f"{n:,}",
                "own" if fitted else "pooled",
            )
            for combination, n, fitted in zip(self.values, n_rows, self.fitted, strict=True)
        )
        title = counted(len(self), "stratum", "strata")
        return Card(title, facts, (*self.by, "rows", "model"), rows, "As a DataFrame: to_frame()")


def find_strata(
    by: tuple[str, ...], values: NDArray[Any], classes: NDArray[Any], which: IntArray, min_rows: int, min_second: int
) -> tuple[Strata, IntArray]:
    """The strata of the training rows, and the stratum of each row (-1 if it is left to the pooled model).

    A stratum gets its own model if it has at least `min_rows` rows, and at least `min_second` of its second-largest
    class.
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
    combinations = list(seen)
    strata = Strata(by, tuple(combinations[i] for i in order), classes, counts, fitted)
    of_first = np.full(len(seen), POOLED)
    of_first[order] = np.where(fitted, np.arange(len(order)), POOLED)
    return strata, of_first[first]


def text_columns(X: Any) -> list[str]:
    """Names of the columns whose cells are not numbers."""
    return [str(name) for j, name in enumerate(column_names(X)) if not _holds_numbers(_safe_indexing(X, j, axis=1))]


def _holds_numbers(column: Any) -> bool:
    try:
        np.asarray(column, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return True
