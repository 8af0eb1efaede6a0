"""The trust score of Jiang, Kim, Guan and Gupta, "To trust or not to trust a classifier" (2018), from the paper."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

SMALLEST_DISTANCE = 1e-12


class JiangScore:
    """Distance to the nearest other class over distance to the predicted class, each class without its sparse rows.

    Parameters
    ----------
    k : int, default=10
        The neighbour whose distance says how dense it is around a row of a class.
    alpha : float, default=0.0625
        The share of rows of each class, those in the sparsest places, that is not used.
    """

    def __init__(self, k: int = 10, alpha: float = 0.0625) -> None:
        self.k = k
        self.alpha = alpha

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Self:
        """Keep the dense rows of each class; classes are numbered from 0."""
        self.trees_ = [cKDTree(self._dense(X[y == label])) for label in range(int(y.max()) + 1)]
        return self

    def _dense(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        k = min(self.k, len(rows) - 1)
        radii = np.asarray(cKDTree(rows).query(rows, [k + 1])[0])[:, 0]
        return rows[radii <= np.quantile(radii, 1 - self.alpha)]

    def score(self, X: NDArray[np.float64], label: NDArray[np.int64]) -> NDArray[np.float64]:
        """The trust score of each row's label; from 0 up, and above 1 where the label's class is the nearest."""
        distances = np.column_stack([tree.query(X)[0] for tree in self.trees_])
        rows = np.arange(len(X))
        own = distances[rows, label]
        distances[rows, label] = np.inf
        return distances.min(axis=1) / np.maximum(own, SMALLEST_DISTANCE)
