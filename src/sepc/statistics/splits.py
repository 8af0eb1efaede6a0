"""Stratified splits, which keep the shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray


def stratified_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of two parts, the second with a `share` of every class; the first keeps at least one row of each."""
    goes = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        # Random rounding keeps the share of small classes right on average.
        n_going = min(int(share * len(own) + random.uniform()), len(own) - 1)
        goes[own[:n_going]] = True
    return np.flatnonzero(~goes), np.flatnonzero(goes)


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold that leaves out each row; -1 for the only row of a class, which is never left out."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        if len(own) > 1:
            folds[own] = (np.arange(len(own)) + random.randint(n_folds)) % n_folds
    return folds
