"""Choose the rows of a block that go into a sample of its table."""

from __future__ import annotations

import numpy as np

from sepc._typing import IntArray


def draw_rows(n_rows: int, n_wanted: int, block: int, seed: int) -> IntArray:
    """Positions of at most `n_wanted` rows of a block, in order; the same each time the block is read.

    Examples
    --------
    >>> draw_rows(3, 5, block=0, seed=0)
    array([0, 1, 2])
    >>> len(draw_rows(100, 5, block=0, seed=0))
    5
    """
    if n_rows <= n_wanted:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng([seed, block]).choice(n_rows, n_wanted, replace=False))
