"""Folds for the encoding of categories, such that equal rows are left out together."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.row_hash import row_hashes


def folds_of(rows: FloatArray, labels: IntArray, n_folds: int, seed: int) -> IntArray:
    """The fold that leaves out each row; -1 for the rows of a class that are all equal, which are never left out.

    Of each class, the distinct rows are dealt out in the order of their hashes. So a row that occurs twice does not
    tell its own label by its copy, and neither the order of the rows nor their number of copies matters.
    """
    folds, hashes = np.full(len(labels), -1, dtype=np.int64), row_hashes(rows, seed)
    for label in np.unique(labels):
        own = labels == label
        distinct, rank = np.unique(hashes[own], return_inverse=True)
        if len(distinct) > 1:
            folds[own] = rank % n_folds
    return folds
