"""Random splits of rows: into two exchangeable parts, and into stratified folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray


def random_parts(labels: NDArray[Any], share: float, random: np.random.RandomState) -> tuple[IntArray, IntArray]:
    """Positions of two parts of rows in random order, the second with about this `share` of them.

    The split ignores labels, so the second part is to the first what future rows are: labels that the first part lacks
    occur as often. Only if the first part would contain a single class, to which few classifiers can be fitted, is it
    extended up to the first row of another. This inspects no row of the second part.
    """
    order = random.permutation(len(labels))
    n_first = max(len(labels) - round(share * len(labels)), 1)
    others = np.flatnonzero(labels[order] != labels[order[:1]])
    if len(others):
        n_first = max(n_first, int(others[0]) + 1)
    return np.sort(order[:n_first]), np.sort(order[n_first:])


def stratified_folds(labels: NDArray[Any], n_folds: int, random: np.random.RandomState) -> IntArray:
    """The fold in which each row is held out; -1 for the only row of a class, which is never held out."""
    folds = np.full(len(labels), -1, dtype=np.int64)
    for label in np.unique(labels):
        rows = random.permutation(np.flatnonzero(labels == label))
        if len(rows) > 1:
            folds[rows] = (np.arange(len(rows)) + random.randint(n_folds)) % n_folds
    return folds
