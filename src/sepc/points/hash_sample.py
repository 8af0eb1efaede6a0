"""A sample of the rows, drawn and gathered in one pass."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sepc._typing import FloatArray
from sepc.points.row_hash import is_sampled

SampleState: TypeAlias = tuple[int, tuple[FloatArray, ...]]


@dataclass(frozen=True)
class HashSample:
    """About `share` of the rows, chosen by `row_hashes`: the same as ``points.sample(share, seed)``, but gathered.

    Equal rows are chosen together, so there may be many more than expected. If there are more than `max_rows`, they are
    dropped on the way and the answer is None.
    """

    share: float
    seed: int
    max_rows: float = math.inf

    def map(self, block: FloatArray) -> SampleState:
        """Choose rows of one block."""
        rows = block[is_sampled(block, self.share, self.seed)]
        return len(rows), (rows,) if len(rows) <= self.max_rows else ()

    def combine(self, left: SampleState, right: SampleState) -> SampleState:
        """Keep all rows in order, unless there are too many."""
        n = left[0] + right[0]
        return n, left[1] + right[1] if n <= self.max_rows else ()

    def finish(self, state: SampleState) -> FloatArray | None:
        """Join them in one array."""
        return np.concatenate(state[1]) if state[1] else None
