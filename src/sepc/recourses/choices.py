"""Columns of categories: one of them is chosen, and sets of them are relaxed to boxes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray

# A category that changes costs at least this share of its price; the rest grows with the distance, as for a number.
SURE_SHARE = 0.99


class RelaxedOptions(NamedTuple):
    """The ends of a box, in standardised features, the price of distances in it, and a squared cost on top."""

    low: FloatArray
    high: FloatArray
    price: float
    squared: float


@dataclass(frozen=True, eq=False)
class Choice:
    """A column of categories.

    Attributes
    ----------
    features : slice
        The features that stand for it.
    column : int
        Which of the codes that follow the features is that of this column.
    encodings : (m + 1, k) array
        The features of each category; the last are those of a category not seen in training.
    shift, scale : (k,) arrays
        How these features are standardised.
    current : int
        The category that the row has.
    allowed : array of int
        Categories that it may have, in the order of their first feature.
    price : float
        What it costs to change.
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
        """The same column, which cannot change."""
        return replace(self, allowed=np.array([self.current]))

    @cached_property
    def every(self) -> Options:
        """All categories that it may have."""
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
        """The box around the categories, with a cost in it that is never above theirs."""
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
        """Whether the row's own category is one of them."""
        return self.choice.current in self.codes

    @cached_property
    def parts(self) -> tuple[Options, ...]:
        """Fewer categories each: the row's own and all others, or two halves of the others."""
        others = self.codes[self.codes != self.choice.current]
        if self.has_current:
            return self.choice.only(self.choice.current), Options(self.choice, others)
        return tuple(Options(self.choice, half) for half in np.array_split(others, 2))

    def is_settled(self, place: FloatArray) -> bool:
        """Whether the relaxed cost is exact at a place: one category is left, or the row's own is taken."""
        return len(self.codes) == 1 or self._is_current(place)

    def nearest(self, place: FloatArray) -> Options:
        """The category nearest to a place; the row's own if that is as near as any."""
        if len(self.codes) == 1:
            return self
        if self._is_current(place):
            return self.choice.only(self.choice.current)
        apart = np.linalg.norm(self.choice.places[self.codes] - place, axis=1)
        return self.choice.only(int(self.codes[apart.argmin()]))

    def _is_current(self, place: FloatArray) -> bool:
        return self.has_current and bool((place == self.choice.places[self.choice.current]).all())
