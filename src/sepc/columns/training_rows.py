"""Rows to train on, of a table whose preparation was learnt from a sample of its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import FloatArray
from sepc.columns.preparation import Preparation
from sepc.points.row_hash import row_hashes

SEED = 0


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Turns blocks of a table into rows, such that no row has its own label in its encoding.

    Rows of the sample are found again by their hashes, and encoded by what other folds of it say; the labels of all
    other rows are in no encoding.

    Attributes
    ----------
    preparation : Preparation
    hashes : (n,) array
        Of the distinct rows of the sample, sorted.
    rows : (n, d + q) array
        These rows with their cross-fitted encodings.
    """

    preparation: Preparation
    hashes: NDArray[np.uint64]
    rows: FloatArray

    @classmethod
    def of(cls, preparation: Preparation, sample: Any, cross_fitted: FloatArray) -> TrainingRows:
        """From the sample as a table, and as the rows that `Preparation.fitted` gives."""
        hashes, first = np.unique(row_hashes(preparation.rows_of(sample), SEED), return_index=True)
        return cls(preparation, hashes, cross_fitted[first])

    @property
    def used_columns(self) -> tuple[str, ...]:
        """Names of the columns that features are made from."""
        return self.preparation.used_columns

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.preparation.feature_names

    @property
    def n_codes(self) -> int:
        """How many codes of categories follow the features."""
        return self.preparation.n_codes

    def rows_of(self, X: Any) -> FloatArray:
        """Rows of a block, with NaN for gaps in numbers."""
        rows = self.preparation.rows_of(X)
        hashes = row_hashes(rows, SEED)
        place = np.minimum(np.searchsorted(self.hashes, hashes), len(self.hashes) - 1)
        is_known = self.hashes[place] == hashes
        rows[is_known] = self.rows[place[is_known]]
        return rows
