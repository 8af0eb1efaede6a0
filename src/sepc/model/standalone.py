"""Features that enter through their own curve alone, and the direction in which a curve may go."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import IntArray
from sepc.records import ints, record, whole

UP, DOWN = 1, -1


@record
class Standalone:
    """The features that take no part in ellipsoids, nor in nearness to isolated rows."""

    features: IntArray = ints("A", below="d")
    directions: IntArray = ints("A", low=DOWN, high=UP)
    towards: int = whole()

    def flaw(self) -> str | None:
        """What is wrong with the features, if anything."""
        if len(self.features) == 0 or (np.diff(self.features) <= 0).any():
            return "has no standalone features, or some that are repeated or not in order"
        return None

    def among(self, all_labels: NDArray[Any], labels: NDArray[Any]) -> Standalone:
        """The same for a model of some of the classes; without the class of directions, all curves are free."""
        at = np.flatnonzero(labels == all_labels[self.towards])
        if len(at):
            return replace(self, towards=int(at[0]))
        return replace(self, towards=0, directions=np.zeros_like(self.directions))
