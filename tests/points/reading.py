"""Blocks that say how they are read."""

import weakref
from collections.abc import Sequence

import numpy as np


def made_rows(i, n_rows):
    return np.random.default_rng(i).normal(size=(n_rows, 2)) + i


class MadeOnDemand(Sequence):
    """Blocks made when asked for; fails if an earlier one is still alive."""

    def __init__(self, n_blocks, n_rows):
        self.n_blocks, self.n_rows = n_blocks, n_rows
        self.asked_for = []
        self.last = None

    def __len__(self):
        return self.n_blocks

    def __getitem__(self, i):
        assert self.last is None or self.last() is None, "two blocks are in memory"
        self.asked_for.append(i)
        block = made_rows(i, self.n_rows)
        self.last = weakref.ref(block)
        return block


class Counted(list):
    """Blocks that count how often they are read."""

    n_read = 0

    def __getitem__(self, i):
        self.n_read += 1
        return super().__getitem__(i)
