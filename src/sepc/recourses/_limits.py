"""What may change in a row, and what each change costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np

from sepc._typing import BoolArray, FloatArray, IntArray
from sepc.kernels.project import LinearRelations
from sepc.model.sep_model import SEPModel
from sepc.model.training_summary import TrainingSummary

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
    """A categorical column, and the categories to choose from."""

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


# Values tried for a number: every eighth of the quantiles of the training rows.
QUANTILES = slice(0, None, 8)


class RowRelations(Protocol):
    """Relations between the columns of a row."""

    @property
    def linear(self) -> LinearRelations | None:
        """The linear relations, in standardised features."""

    @property
    def loose(self) -> tuple[str, ...]:
        """The relations that are not fully linear."""

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether all relations hold in each row."""

    def repair(self, rows: FloatArray) -> FloatArray:
        """Change rows, in place, so that relations hold in more of them."""

    @property
    def under(self) -> Callable[[Limits], RowRelations]:
        """Gives the same relations under other limits."""


@dataclass(frozen=True, eq=False)
class Limits:
    """What may change in a row, in the user's own features."""

    model: SEPModel
    row: FloatArray
    low: FloatArray
    high: FloatArray
    prices: FloatArray
    is_whole: BoolArray
    choices: Sequence[Choice]
    relations: RowRelations | None = None

    @cached_property
    def usual(self) -> TrainingSummary:
        """The summary of the training rows."""
        assert self.model.usual is not None  # Every fitted model has it.
        return self.model.usual

    @cached_property
    def start(self) -> FloatArray:
        """The row in standardised features."""
        return np.asarray(self.model.standardize(self.row[np.newaxis])[0])

    @cached_property
    def ends(self) -> tuple[FloatArray, FloatArray]:
        """The ranges of numbers, in standardised features."""
        low, high = self.model.standardize(np.array([self.low, self.high]))
        return low, high

    @property
    def n_features(self) -> int:
        """The number of features, without category codes."""
        return len(self.low)

    @cached_property
    def free(self) -> IntArray:
        """The numbers that may change."""
        return np.flatnonzero((self.prices > 0.0) & (self.low < self.high))

    def ways(self, row: FloatArray) -> FloatArray:
        """How far each number of a row has moved, times its price."""
        return np.asarray(np.abs(self.prices * (self.model.standardize(row[np.newaxis])[0] - self.start)))

    def price_paid(self, row: FloatArray, j: int) -> float:
        """How far a changed number of a row has moved, times its price; or the price of a changed category."""
        for choice in self.choices:
            if choice.features.start == j:
                return choice.price
        return float(self.ways(row)[j])

    def costs(self, rows: FloatArray) -> FloatArray:
        """The cost of changing to each of some rows."""
        squared = ((self.prices * (self.model.standardize(rows) - self.start)) ** 2).sum(axis=1)
        differs = rows[:, self.n_features :] != self.row[self.n_features :]
        return np.asarray(np.sqrt(squared + differs @ self._squared_prices))

    @cached_property
    def _squared_prices(self) -> FloatArray:
        """The squared price of each categorical column."""
        return np.array([choice.price**2 for choice in self.choices])

    @cached_property
    def _allowed(self) -> BoolArray:
        """Which codes are allowed in each categorical column, of shape (Q, most codes)."""
        allowed = np.zeros(
            (len(self.choices), max((len(choice.encodings) for choice in self.choices), default=0)), dtype=bool
        )
        for is_allowed, choice in zip(allowed, self.choices, strict=True):
            is_allowed[choice.allowed] = True
        return allowed

    def codes(self, rows: FloatArray, choice: Choice) -> FloatArray:
        """The codes of some rows in a categorical column."""
        return rows[:, self.n_features + choice.column]

    def changed(self, row: FloatArray) -> tuple[int, ...]:
        """The features in which a row differs; for a categorical column, its first feature."""
        return self.changed_in_any(row[np.newaxis])

    def changed_in_any(self, rows: FloatArray) -> tuple[int, ...]:
        """The features in which any of some rows differs; for a categorical column, its first feature."""
        differs, d = (rows != self.row).any(axis=0), self.n_features
        numbers = np.flatnonzero(differs[:d] & (self.prices > 0.0)).tolist()
        columns = [self.choices[i].features.start for i in np.flatnonzero(differs[d:]).tolist()]
        return tuple(sorted([*numbers, *columns]))

    def allow(self, rows: FloatArray) -> BoolArray:
        """Whether rows are within all limits."""
        d, numbers = self.n_features, self.prices > 0.0
        values = rows[:, :d][:, numbers]
        within = ((self.low[numbers] <= values) & (values <= self.high[numbers])).all(axis=1)
        within &= (rows[:, :d][:, self.is_whole] % 1.0 == 0.0).all(axis=1)
        codes = rows[:, d:].astype(np.int64)
        within &= self._allowed[np.arange(len(self.choices)), codes].all(axis=1)
        if self.relations is not None and within.any():
            within[within] = self.relations.allow(rows[within])
        return np.asarray(within)

    @cached_property
    def moves(self) -> tuple[IntArray, FloatArray]:
        """Changes of a single feature: the position in a row, and the new value."""
        columns = [self.n_features + choice.column for choice in self.choices]
        values = [np.unique(np.clip(self.usual.overall[j, QUANTILES], self.low[j], self.high[j])) for j in self.free]
        values += [choice.allowed.astype(np.float64) for choice in self.choices]
        where = np.repeat([*self.free.tolist(), *columns], [len(tried) for tried in values])
        return where.astype(np.int64), np.concatenate([np.empty(0), *values])

    def round_whole_numbers(self, rows: FloatArray) -> FloatArray:
        """Round numbers that must be whole, in place; returns the rows."""
        whole = np.flatnonzero(self.is_whole)
        rows[:, whole] = np.round(rows[:, whole])
        return rows

    def encode_categories(self, rows: FloatArray) -> FloatArray:
        """Set the features that encode categories from the codes, in place; returns the rows."""
        for choice in self.choices:
            rows[:, choice.features] = choice.encodings[self.codes(rows, choice).astype(np.int64)]
        return rows

    def complete(self, rows: FloatArray) -> FloatArray:
        """Let relations set what follows from other changes, and encode categories, in place; returns the rows."""
        rows = self.encode_categories(rows)
        if self.relations is None:
            return rows
        return self.encode_categories(self.relations.repair(rows))

    def may_stay(self, j: int) -> bool:
        """Whether a feature, or a categorical column by its first feature, may keep the value it has."""
        for choice in self.choices:
            if choice.features.start == j:
                return bool((choice.allowed == choice.current).any())
        return bool(self.low[j] <= self.row[j] <= self.high[j])

    def with_fixed(self, features: Collection[int]) -> Limits:
        """The same limits, with more features fixed."""
        low, high = self.low.copy(), self.high.copy()
        fixed = list(features)
        low[fixed] = high[fixed] = self.row[fixed]
        choices = [choice.fix() if choice.features.start in features else choice for choice in self.choices]
        fewer = replace(self, low=low, high=high, choices=choices, relations=None)
        return fewer if self.relations is None else replace(fewer, relations=self.relations.under(fewer))
