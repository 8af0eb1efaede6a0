"""ADWIN, the adaptive window of Bifet and Gavaldà (2007) as river runs it, for all features at once.

A window of past values is kept as buckets of growing size. Whenever it can be cut in two parts whose means differ by
more than chance allows, there is a change. Defaults are river's: a look every 32 rows, 5 buckets of each size, delta
0.002.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

CLOCK, MOST_BUCKETS, DELTA = 32, 5, 0.002

Rows = NDArray[np.float64]


class AdaptiveWindow:
    """The buckets of all features, oldest first: rows, sums and sums of squares."""

    def __init__(self, X: Rows) -> None:
        self.n: list[int] = []
        self.sums: list[Rows] = []
        self.squares: list[Rows] = []
        self.shift, self.left = X.mean(axis=0), X[:0]
        self.update(X)

    def update(self, X: Rows) -> bool:
        """Whether any feature has changed, looking after every 32 rows."""
        rows = np.concatenate([self.left, X - self.shift])
        n_whole = len(rows) // CLOCK * CLOCK
        self.left = rows[n_whole:]
        looks = [self._take(block) for block in rows[:n_whole].reshape(-1, CLOCK, rows.shape[1])]
        return any(looks)

    def _take(self, block: Rows) -> bool:
        self.n.append(len(block))
        self.sums.append(block.sum(axis=0))
        self.squares.append((block**2).sum(axis=0))
        self._compress()
        return self._cut()

    def _compress(self) -> None:
        """Join the two oldest buckets of a size of which there are too many."""
        size = CLOCK
        while self.n.count(size) > MOST_BUCKETS:
            i = self.n.index(size)
            every: tuple[list[Any], ...] = (self.n, self.sums, self.squares)
            for values in every:
                values[i : i + 2] = [values[i] + values[i + 1]]
            size *= 2

    def _cut(self) -> bool:
        n = np.cumsum(self.n)[:-1, None]
        if len(n) == 0:
            return False
        sums, total = np.cumsum(self.sums, axis=0)[:-1], np.sum(self.sums, axis=0)
        width = int(sum(self.n))
        variance = np.maximum(np.sum(self.squares, axis=0) / width - (total / width) ** 2, 0.0)
        apart = np.abs(sums / n - (total - sums) / (width - n))
        share = 1.0 / n + 1.0 / (width - n)
        spent = np.log(2.0 * np.log(width) / DELTA)
        return bool((apart > np.sqrt(2.0 * share * variance * spent) + 2.0 / 3.0 * share * spent).any())
