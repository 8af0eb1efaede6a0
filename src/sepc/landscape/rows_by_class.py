"""A table and its labels, checked and sorted by class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sepc._typing import FloatArray, IntArray
from sepc.points.in_memory import ArrayPoints
from sepc.points.inputs import as_points, feature_names
from sepc.points.missing_labels import refuse_missing_labels
from sepc.points.row_hash import row_hashes


@dataclass(frozen=True, eq=False)
class RowsByClass:
    """Rows sorted by class, so that the rows of one class are a view, not a copy.

    Attributes
    ----------
    rows : (n, d) array
    classes : (C,) array
        The labels, sorted.
    n_rows : (C,) array
        Rows of each class.
    places : (n,) array
        The original position of each row.
    names : tuple of str
        Names of the features.
    """

    rows: FloatArray
    classes: NDArray[Any]
    n_rows: IntArray
    places: IntArray
    names: tuple[str, ...]

    @cached_property
    def of_class(self) -> tuple[FloatArray, ...]:
        """The rows of each class."""
        return tuple(np.split(self.rows, np.cumsum(self.n_rows)[:-1]))

    def sample(self, n: int | None, fewest: int, seed: int) -> RowsByClass:
        """Draw about `n` rows in proportion to the classes, but at least `fewest` of each, or all of a smaller one.

        Rows with the smallest hashes of their values are taken, so the order of the table does not matter.
        """
        if n is None or n >= len(self.rows):
            return self
        share = n / len(self.rows)
        wanted = np.maximum((share * self.n_rows).astype(np.int64), np.minimum(self.n_rows, fewest))
        starts = np.cumsum(self.n_rows) - self.n_rows
        parts = zip(self.of_class, starts, wanted.tolist(), strict=True)
        chosen = np.concatenate([start + _smallest_hashes(rows, k, seed) for rows, start, k in parts])
        return RowsByClass(self.rows[chosen], self.classes, wanted, self.places[chosen], self.names)

    @property
    def labels(self) -> NDArray[Any]:
        """The label of every row."""
        return np.repeat(self.classes, self.n_rows)


def rows_by_class(X: Any, y: ArrayLike) -> RowsByClass:
    """Check a table of finite numbers and its labels, and sort the rows by class."""
    points, names = as_points(X), feature_names(X)
    if not isinstance(points, ArrayPoints):
        raise TypeError("Landscape needs an in-memory array or DataFrame; X is read lazily or in blocks.")
    labels = _check_labels(y)
    if len(labels) != points.n_points:
        raise ValueError(f"X has {points.n_points:,} rows but y has {len(labels):,} labels; give one for each row.")
    classes, which = np.unique(labels, return_inverse=True)
    order = np.argsort(which, kind="stable")
    return RowsByClass(points.rows[order], classes, np.bincount(which), order, names)


def _check_labels(y: Any) -> NDArray[Any]:
    if y is None:
        raise ValueError("Landscape needs the label of every row; y is None.")
    labels = np.asarray(column_or_1d(y, warn=True))
    refuse_missing_labels(labels)
    kinds = sorted({type(label).__name__ for label in labels.tolist()}) if labels.dtype.kind == "O" else []
    if "str" in kinds and len(kinds) > 1:
        raise TypeError(f"y mixes labels of types {', '.join(kinds)}, which cannot be sorted; convert them to one.")
    check_classification_targets(labels)
    return labels


def _smallest_hashes(rows: FloatArray, n: int, seed: int) -> IntArray:
    if n >= len(rows):
        return np.arange(len(rows))
    return np.sort(np.argpartition(row_hashes(rows, seed), n - 1)[:n])
