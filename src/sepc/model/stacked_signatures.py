"""Count rows by their sets of ellipsoids, with the same matrix product that decisions use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sepc._typing import FloatArray
from sepc.model.membership import Stack, stacked, tiles_of_squared_radii
from sepc.points.signatures import WORD_BITS, Signatures, Words
from sepc.shapes.ellipsoid import Ellipsoid


@dataclass(frozen=True)
class StackedSignatures(Signatures):
    """`Signatures` of all ellipsoids at once, three times as fast as one by one.

    Attributes
    ----------
    stack : Stack
    slack : float
        A row lies in an ellipsoid if its squared radius is at most ``1 + slack``.
    """

    stack: Stack
    slack: float

    @classmethod
    def of(cls, ellipsoids: tuple[Ellipsoid, ...], n_features: int, slack: float) -> Self:
        """Prepare the ellipsoids."""
        centers = np.array([ellipsoid.center for ellipsoid in ellipsoids]).reshape(-1, n_features)
        roots = np.array([ellipsoid.root for ellipsoid in ellipsoids]).reshape(-1, n_features, n_features)
        return cls(ellipsoids, stacked(centers, roots), slack)

    def words(self, tile: FloatArray) -> Words:
        """The signatures of rows."""
        n_words = max(1, -(-len(self.regions) // WORD_BITS))
        packed = np.zeros((len(tile), n_words * WORD_BITS // 8), dtype=np.uint8)
        for place, squared in tiles_of_squared_radii(tile, self.stack):
            bits = np.packbits(1.0 + self.slack >= squared.T, axis=0)
            packed[place, : len(bits)] = bits.T
        return np.ascontiguousarray(packed.view(">u8").T, dtype=np.uint64)
