"""Training rows of a table whose preparation was learnt from a sample of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.columns.preparation import Preparation
from sepc.points.row_digest import row_hashes

SEED = 0


class EncodedColumn(NamedTuple):
    """A column of cross-fitted encodings: its position, its distinct values, and which of them each row has."""

    position: int
    values: FloatArray
    which: NDArray[np.unsignedinteger[Any]]

    @classmethod
    def of(cls, position: int, encoded: FloatArray) -> EncodedColumn:
        """From the value of each row."""
        values, which = np.unique(encoded, return_inverse=True)
        return cls(position, values, which.astype(np.min_scalar_type(len(values))))


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Turns blocks of a table into rows, such that no row's label leaks into its encoding."""

    preparation: Preparation
    hashes: NDArray[np.uint64]
    columns: tuple[EncodedColumn, ...]

    @classmethod
    def of(cls, preparation: Preparation, sample: Any, cross_fitted: FloatArray) -> TrainingRows:
        """From the sample, given as a table and as the rows that `Preparation.fit` returned for it."""
        as_new = preparation.rows_of(sample)
        hashes, first = np.unique(row_hashes(as_new, SEED), return_index=True)
        differ = np.flatnonzero((as_new != cross_fitted).any(axis=0))
        return cls(preparation, hashes, tuple(EncodedColumn.of(int(j), cross_fitted[first, j]) for j in differ))

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns used as features."""
        return self.preparation.used_columns

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.preparation.feature_names

    @property
    def n_codes(self) -> int:
        """How many category codes follow the features."""
        return self.preparation.n_codes

    def rows_of(self, X: Any) -> FloatArray:
        """Rows of a block, with NaN for missing numbers."""
        rows = self.preparation.rows_of(X)
        hashes = row_hashes(rows, SEED)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        is_known = self.hashes[place] == hashes
        for column in self.columns:
            rows[is_known, column.position] = column.values[column.which[place[is_known]]]
        return rows
