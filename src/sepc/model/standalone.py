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
    """The features that take no part in ellipsoids, nor in nearness to isolated rows.

    Missing values of other features are not imputed from them. So a change of such a feature changes nothing but its
    own term, and if its curve only rises, so do the log-odds, wherever the other features are.

    Attributes
    ----------
    features : (A,) array
        Positions among the features, ascending.
    directions : (A,) array
        1 if larger values may only raise the log-odds of the class `towards` against every other class, -1 if they may
        only lower them, 0 if the curve is free.
    towards : int
        The class that directions refer to, as a position among the classes.
    """

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
