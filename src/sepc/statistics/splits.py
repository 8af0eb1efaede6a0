"""Splits of rows that keep the shares of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray


def stratified_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of the rows that stay and of the `share` of every class that goes; one row of a class always stays."""
    goes = np.zeros(len(labels), dtype=bool)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        # Rounding at random keeps the expected shares of small classes.
        n_going = min(int(share * len(own) + random.uniform()), len(own) - 1)
        goes[own[:n_going]] = True
    return np.flatnonzero(~goes), np.flatnonzero(goes)


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold in which each row is left out; -1, never, for the only row of a class, so that no fold lacks a class."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        own = random.permutation(np.flatnonzero(labels == label))
        if len(own) > 1:
            folds[own] = (np.arange(len(own)) + random.randint(n_folds)) % n_folds
    return folds
