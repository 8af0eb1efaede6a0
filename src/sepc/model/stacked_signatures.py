"""Count rows by their sets of ellipsoids, with the same matrix product that decisions use."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from sepc._typing import FloatArray
from sepc.model.membership import Stack, stacked, tiles_of_squared_radii
from sepc.points.signatures import WORD_BITS, Signatures, Words
from sepc.shapes.ellipsoid import Ellipsoid

HALF_BITS = WORD_BITS // 2


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
        halves = np.zeros((len(self._powers), len(tile)))
        for place, squared in tiles_of_squared_radii(tile, self.stack):
            # A product with powers of two packs the bits, several times as fast as packing bytes.
            halves[:, place] = self._powers @ (1.0 + self.slack >= squared.T).astype(np.float64)
        upper, lower = halves[::2].astype(np.uint64), halves[1::2].astype(np.uint64)
        return np.asarray(upper << np.uint64(HALF_BITS) | lower)

    @cached_property
    def _powers(self) -> FloatArray:
        """What each ellipsoid adds to which half of a word, of shape (halves, K): sums of halves are exact."""
        K = len(self.regions)
        n_halves = 2 * max(1, -(-K // WORD_BITS))
        half, place = np.divmod(np.arange(K), HALF_BITS)
        return np.where(half == np.arange(n_halves)[:, np.newaxis], 2.0 ** (HALF_BITS - 1 - place), 0.0)
