"""Splits of rows at random: into two parts that are alike, and into folds that keep the shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray


def random_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of two parts of rows in random order, the second with about this `share` of them.

    A row's label has no say in where the row goes, so the second part is to the first as rows that come later: it has
    labels that the first lacks as often as they have. Only if the first part would hold a single class, which few
    classifiers can be fitted to, it goes on until it meets a second one. That looks at no row of the second part.
    """
    order = random.permutation(len(labels))
    n_first = max(len(labels) - round(share * len(labels)), 1)
    others = np.flatnonzero(labels[order] != labels[order[:1]])
    if len(others):
        n_first = max(n_first, int(others[0]) + 1)
    return np.sort(order[:n_first]), np.sort(order[n_first:])


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold that leaves out each row; -1 for the only row of a class, which is never left out."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        if len(rows) > 1:
            folds[rows] = (np.arange(len(rows)) + random.randint(n_folds)) % n_folds
    return folds
