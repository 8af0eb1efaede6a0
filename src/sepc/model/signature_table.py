"""The signature table: how many training rows of each class have which set of ellipsoids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.cards import ShownOnOneLine
from sepc.model.locate import as_values, packed
from sepc.points.signatures import SignatureCounts


@dataclass(frozen=True, eq=False, repr=False)
class SignatureTable(ShownOnOneLine):
    """How many training rows of each class lie in exactly which ellipsoids, for every set that occurs.

    Attributes
    ----------
    memberships : (T, K) bool array
        The sets, in lexicographic order.
    counts : (T, C) array
        Rows of each class.

    Examples
    --------
    Two ellipsoids; 5 rows of the first class lie in the first alone, 1 in both, 3 rows of the second in the second.

    >>> table = SignatureTable(np.array([[0, 1], [1, 0], [1, 1]], dtype=bool), np.array([[0, 3], [5, 0], [1, 0]]))
    >>> table.inside_all(np.array([[True, False]]))
    array([[6, 0]])
    >>> table.inside_any(np.array([[True, True]]))
    array([[6, 3]])
    >>> table.find(packed(np.array([[True, False], [False, False]])))
    array([ 1, -1])
    """

    memberships: BoolArray
    counts: IntArray

    @classmethod
    def of_classes(cls, per_class: Sequence[SignatureCounts]) -> SignatureTable:
        """Build the table from the signatures of each class."""
        memberships = np.concatenate([signatures.memberships for signatures in per_class])
        which = np.repeat(np.arange(len(per_class)), [len(signatures.counts) for signatures in per_class])
        if memberships.shape[1] == 0:
            sets, places = memberships[:1], np.zeros(len(memberships), dtype=np.int64)
        else:
            sets, places = np.unique(memberships, axis=0, return_inverse=True)
        counts = np.zeros((len(sets), len(per_class)), dtype=np.int64)
        np.add.at(counts, (places.ravel(), which), np.concatenate([signatures.counts for signatures in per_class]))
        return cls(sets, counts)

    def inside_all(self, sets: BoolArray) -> IntArray:
        """Rows of each class that lie in every ellipsoid of a set, for each of `sets`, of shape (S, C)."""
        n_missing = sets.astype(np.float64) @ (~self.memberships).T.astype(np.float64)
        return self._sum_over(n_missing == 0.0)

    def inside_any(self, sets: BoolArray) -> IntArray:
        """Rows of each class that lie in some ellipsoid of a set, for each of `sets`, of shape (S, C)."""
        n_common = sets.astype(np.float64) @ self.memberships.T.astype(np.float64)
        return self._sum_over(n_common > 0.0)

    def find(self, keys: FloatArray) -> IntArray:
        """The table row of each key (see `packed`); -1 where no training row has that set."""
        wanted, (known, rows) = as_values(keys), self._sorted_keys
        places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[places] == wanted, rows[places], -1)

    def _sum_over(self, chosen: BoolArray) -> IntArray:
        # Doubles, since BLAS takes no integers; they hold counts exactly up to 2^53 rows.
        return (chosen.astype(np.float64) @ self.counts.astype(np.float64)).astype(np.int64)

    @cached_property
    def _sorted_keys(self) -> tuple[NDArray[Any], IntArray]:
        keys = as_values(packed(self.memberships))
        order = np.argsort(keys)
        return keys[order], order
