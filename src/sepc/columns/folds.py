"""Folds for the encoding of categories, that do not depend on the order of the rows."""

from __future__ import annotations

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.points.row_hash import row_hashes


def folds_of(rows: FloatArray, labels: IntArray, n_folds: int, seed: int) -> IntArray:
    """The fold that leaves out each row; -1 for the only row of a class, which is never left out.

    The rows of each class are dealt out in the order of their hashes, so equal ones are spread over the folds. Left out
    together they would be encoded by rows of other labels alone, and thus by their own.
    """
    folds, hashes = np.full(len(labels), -1, dtype=np.int64), row_hashes(rows, seed)
    for label in np.unique(labels):
        own = np.flatnonzero(labels == label)
        if len(own) > 1:
            folds[own[np.argsort(hashes[own], kind="stable")]] = np.arange(len(own)) % n_folds
    return folds
