"""Verdicts of the paper's rules on rows or sets of ellipsoids, and the model's cache of them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepc._typing import FloatArray, IntArray

# All arrays of verdicts, and those still needed where weights decide.
FIELDS = ("label", "trust", "probabilities", "counts", "rule", "region")
BESIDE_WEIGHTS = ("label", "counts", "rule", "region")


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Verdicts of the rules on rows or sets of ellipsoids: arrays with one entry for each."""

    label: IntArray
    trust: FloatArray
    probabilities: FloatArray
    counts: IntArray
    rule: IntArray
    region: IntArray

    @classmethod
    def blank(cls, n: int, n_classes: int) -> Verdicts:
        """Uninitialised arrays for `n` verdicts."""
        label, rule, region = np.empty((3, n), dtype=np.int64)
        trust = np.empty(n)
        counts = np.empty((n, n_classes), dtype=np.int64)
        return cls(label, trust, np.empty((n, n_classes)), counts, rule, region)

    def put(
        self, where: slice | IntArray, others: Verdicts, which: IntArray | None = None, names: Collection[str] = FIELDS
    ) -> None:
        """Copy `others`, or `others[which]`, to the positions `where`; only the arrays in `names`."""
        for name in names:
            entries, values = getattr(self, name), getattr(others, name)
            if which is None or not isinstance(where, slice):
                entries[where] = values if which is None else values[which]
            else:
                np.take(values, which, axis=0, out=entries[where], mode="wrap")


class KeptVerdicts:
    """Verdicts on the sets in a model's table, each filled in when a row first has that set.

    Memory is reserved for all of them, and used for those that occur. The last entry, at -1, stands for sets that are
    not in the table.
    """

    def __init__(self, n_sets: int, n_classes: int) -> None:
        self._size = n_sets, n_classes
        self.verdicts, self.is_known = Verdicts.blank(n_sets + 1, n_classes), np.zeros(n_sets + 1, dtype=bool)

    def __reduce__(self) -> Any:
        # The cache is cheap to rebuild, so it is not sent to other processes with a model.
        return KeptVerdicts, self._size
