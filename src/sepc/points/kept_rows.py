"""A cache of the rows that a worker has picked out of its blocks, for the next pass over the same set."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock

from sepc._typing import FloatArray

# The most bytes that a worker keeps. A larger part of a shard is picked again in every pass.
KEPT_BYTES = 256_000_000


class KeptRows:
    """A cache of arrays by name; the least recently used are dropped once it is full.

    Examples
    --------
    >>> import numpy as np
    >>> kept = KeptRows(most_bytes=100)
    >>> first = kept.get("a", lambda: np.zeros((5, 2)))
    >>> kept.get("a", lambda: np.ones((5, 2))) is first
    True
    >>> kept.get("b", lambda: np.ones((3, 2))).shape, kept.n_bytes  # "a" had to go
    ((3, 2), 48)
    """

    def __init__(self, most_bytes: int = KEPT_BYTES) -> None:
        self.most_bytes = most_bytes
        self.n_bytes = 0
        self._arrays: OrderedDict[Hashable, FloatArray] = OrderedDict()
        self._lock = Lock()

    def get(self, name: Hashable, pick: Callable[[], FloatArray]) -> FloatArray:
        """The array of this name, computed by `pick` if it is not in the cache."""
        with self._lock:
            if name in self._arrays:
                self._arrays.move_to_end(name)
                return self._arrays[name]
        rows = pick()
        with self._lock:
            if name not in self._arrays:
                self._arrays[name] = rows
                self.n_bytes += rows.nbytes
            while self.n_bytes > self.most_bytes:
                self.n_bytes -= self._arrays.popitem(last=False)[1].nbytes
        return rows
