"""Encodings of categories as if some of the training rows had not been there.

The encoding of a category comes from labels. A model that must not know the labels of some rows needs rows whose
encodings do not know them either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.columns.categories import encodings_like
from sepc.columns.folds import folds_of
from sepc.columns.preparation import N_FOLDS
from sepc.estimators.sep.weighed_columns import CategoryColumn


class Recoded(NamedTuple):
    """Rows with other encodings; and for each column of categories, the encodings of its codes."""

    rows: FloatArray
    encodings: tuple[FloatArray, ...]


@dataclass(frozen=True, eq=False)
class Recoder:
    """Rows of features, followed by codes of categories, with their classes; each counts as `unit` rows."""

    rows: FloatArray
    which: IntArray
    category_columns: Sequence[CategoryColumn] = ()
    unit: float = 1.0

    def without(self, is_left_out: BoolArray) -> Recoded:
        """The rows, encoded without the labels of some; these are encoded as new rows would be."""
        rows, encodings = self.rows, []
        if self.category_columns:
            rows, is_known = rows.copy(), ~is_left_out
            classes = np.unique(self.which[is_known], return_inverse=True)[1]
            folds = folds_of(self.rows[is_known], classes, N_FOLDS, seed=0)
        for column, codes in zip(self.category_columns, self._codes, strict=True):
            own = slice(column.feature, column.feature + column.n_features)
            new, known = encodings_like(
                self.rows[is_known, own], codes[is_known], classes, column.n_categories, self.unit, folds
            )
            rows[is_known, own], rows[is_left_out, own] = known, new[codes[is_left_out]]
            encodings.append(new)
        return Recoded(rows, tuple(encodings))

    @property
    def _codes(self) -> IntArray:
        """The codes of each column of categories."""
        return self.rows[:, self.rows.shape[1] - len(self.category_columns) :].astype(np.int64).T


def recoded(
    rows: FloatArray, encodings: Sequence[FloatArray], category_columns: Sequence[CategoryColumn]
) -> FloatArray:
    """Rows with other encodings of their categories."""
    rows = rows.copy()
    codes = rows[:, rows.shape[1] - len(category_columns) :].astype(np.int64).T
    for column, own, code in zip(category_columns, encodings, codes, strict=True):
        rows[:, column.feature : column.feature + column.n_features] = own[code]
    return rows
