"""Categorical columns: one category is to be chosen, and sets of them are relaxed to boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray

# Changing a category costs at least this share of its price; the rest grows with distance, as for a number.
SURE_SHARE = 0.99


class RelaxedOptions(NamedTuple):
    """The ends of a box in standardised features, the price per unit of distance in it, and a squared cost to add."""

    low: FloatArray
    high: FloatArray
    price: float
    squared: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A categorical column, and the categories to choose from.

    Attributes
    ----------
    features : slice
        The features that encode it.
    column : int
        Position of its code among the codes that follow the features.
    encodings : (m + 1, k) array
        The features of each category; the last row is for a category not seen in training.
    shift, scale : (k,) arrays
        How these features are standardised.
    current : int
        The category of the given row.
    allowed : array of int
        Categories that it may change to, in the order of their first feature.
    price : float
        The cost of changing it.
    """

    features: slice
    column: int
    encodings: FloatArray
    shift: FloatArray
    scale: FloatArray
    current: int
    allowed: IntArray
    price: float

    @cached_property
    def places(self) -> FloatArray:
        """The standardised features of each category."""
        return np.asarray((self.encodings - self.shift) / self.scale)

    def fix(self) -> Choice:
        """The same column, fixed at its current category."""
        return replace(self, allowed=np.array([self.current]))

    @cached_property
    def every(self) -> Options:
        """All categories that it may change to."""
        return Options(self, self.allowed)

    def only(self, code: int) -> Options:
        """A single category."""
        if code not in self._singles:
            self._singles[code] = Options(self, np.array([code]))
        return self._singles[code]

    @cached_property
    def _singles(self) -> dict[int, Options]:
        return {}


@dataclass(frozen=True, eq=False)
class Options:
    """Some categories of a column, of which one is to be chosen."""

    choice: Choice
    codes: IntArray

    @cached_property
    def relaxed(self) -> RelaxedOptions:
        """The box around the categories, with a cost that never exceeds theirs."""
        choice, places = self.choice, self.choice.places[self.codes]
        low, high = places.min(axis=0), places.max(axis=0)
        if len(self.codes) == 1:
            return RelaxedOptions(low, high, 0.0, 0.0 if self.codes[0] == choice.current else choice.price**2)
        farthest = float(np.linalg.norm(places - choice.places[choice.current], axis=1).max())
        price = choice.price / farthest if farthest > 0.0 else 0.0
        if self.has_current:
            return RelaxedOptions(low, high, price, 0.0)
        return RelaxedOptions(low, high, float(np.sqrt(1.0 - SURE_SHARE)) * price, SURE_SHARE * choice.price**2)

    @cached_property
    def has_current(self) -> bool:
        """Whether the current category is one of them."""
        return self.choice.current in self.codes

    @cached_property
    def parts(self) -> tuple[Options, ...]:
        """Smaller sets: the current category and all others, or two halves of the others."""
        others = self.codes[self.codes != self.choice.current]
        if self.has_current:
            return self.choice.only(self.choice.current), Options(self.choice, others)
        return tuple(Options(self.choice, half) for half in np.array_split(others, 2))

    def is_settled(self, place: FloatArray) -> bool:
        """Whether the relaxed cost is exact at a place: one category is left, or the current one is taken."""
        return len(self.codes) == 1 or self._is_current(place)

    def nearest(self, place: FloatArray) -> Options:
        """The category nearest to a place; the current one if that is as near as any."""
        if len(self.codes) == 1:
            return self
        if self._is_current(place):
            return self.choice.only(self.choice.current)
        apart = np.linalg.norm(self.choice.places[self.codes] - place, axis=1)
        return self.choice.only(int(self.codes[apart.argmin()]))

    def _is_current(self, place: FloatArray) -> bool:
        return self.has_current and bool((place == self.choice.places[self.choice.current]).all())
