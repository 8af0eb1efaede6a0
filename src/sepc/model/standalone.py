"""Features that enter through their own curve alone, and the direction in which a curve may go."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.records import floats, ints, record, whole

UP, DOWN = 1, -1
# The unit of a feature that may lie anywhere.
ANYWHERE = 1e100
# The unit of a constant feature: the thickness of ellipsoids around flat sets.
THICKNESS = 1e-6


@record
class Standalone:
    """The features that take no part in ellipsoids, nor in nearness to isolated rows.

    Missing values of other features are not imputed from them. So within the range seen in training, a change of such a
    feature changes nothing but its own term. Beyond this range trust fades, unless the feature has a direction: if its
    curve only rises, so do the log-odds, wherever the other features are.

    Attributes
    ----------
    features : (A,) array
        Positions among the features, ascending.
    directions : (A,) array
        1 if larger values may only raise the log-odds of the class `towards` against every other class, -1 if they may
        only lower them, 0 if the curve is free.
    towards : int
        The class that directions refer to, as a position among the classes.
    low, high : (A,) arrays
        The range seen in training, standardised.
    unit : (A,) array
        A feature that lies this far beyond its range counts as a gauge of 2, where trust begins to fade; 1e100 for
        features with a direction, which may lie anywhere.
    """

    features: IntArray = ints("A", below="d")
    directions: IntArray = ints("A", low=DOWN, high=UP)
    towards: int = whole()
    low: FloatArray = floats("A")
    high: FloatArray = floats("A")
    unit: FloatArray = floats("A", low=THICKNESS, high=ANYWHERE)

    @classmethod
    def of(cls, by_feature: Mapping[int, int], towards: int) -> Standalone:
        """Features with these directions, which may lie anywhere."""
        features = sorted(by_feature)
        nothing = np.zeros(len(features))
        return cls(
            features=np.array(features, dtype=np.int64),
            directions=np.array([by_feature[j] for j in features], dtype=np.int64),
            towards=towards,
            low=nothing,
            high=nothing,
            unit=np.full(len(features), ANYWHERE),
        )

    def with_range(self, low: FloatArray, high: FloatArray) -> Standalone:
        """The same with the range of all d features, standardised, that was seen in training."""
        low, high = low[self.features], high[self.features]
        unit = np.where(self.directions != 0, ANYWHERE, np.where(low < high, 1.0, THICKNESS))
        return replace(self, low=low, high=high, unit=unit)

    @property
    def is_guarded(self) -> BoolArray:
        """Which of the features lose trust beyond their range."""
        return np.asarray(self.unit < ANYWHERE)

    def gauges(self, columns: FloatArray) -> FloatArray:
        """How far these features, standardised and of shape (n, A), lie beyond their ranges; 1 for within."""
        beyond = np.maximum(self.low - columns, columns - self.high) / self.unit
        return np.asarray(1.0 + np.maximum(beyond, 0.0))

    def flaw(self) -> str | None:
        """What is wrong with the features, if anything."""
        if len(self.features) == 0 or (np.diff(self.features) <= 0).any():
            return "has no standalone features, or some that are repeated or not in order"
        if (self.low > self.high).any():
            return "has standalone features with an empty range"
        return None

    def among(self, all_labels: NDArray[Any], labels: NDArray[Any]) -> Standalone:
        """The same for a model of some of the classes; without the class of directions, all curves are free."""
        at = np.flatnonzero(labels == all_labels[self.towards])
        if len(at):
            return replace(self, towards=int(at[0]))
        return replace(self, towards=0, directions=np.zeros_like(self.directions))
