"""How cheap it can be to reach the ellipsoids of a label: branch and bound, with a proof for every branch."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import NamedTuple

import numpy as np

from sepc._typing import FloatArray, IntArray
from sepc.kernels.project import HalfSpace, Projection, Projector
from sepc.model.sep_model import SEPModel
from sepc.recourses.choices import Options
from sepc.recourses.limits import Limits

# Projections before the search for a sharper bound ends.
MOST_PROJECTIONS = 10
# Bounds and costs that differ by less, as a share, are equal.
EQUAL = 1e-9
# A number is whole if it is this near to a whole one, as a share.
WHOLE = 1e-7


class Relaxed(NamedTuple):
    """A box in standardised features, the prices of distances in it, and a squared cost that comes on top."""

    low: FloatArray
    high: FloatArray
    prices: FloatArray
    squared: float


@dataclass(frozen=True, eq=False)
class Box:
    """Some of the rows within limits: those with numbers between ends, and with some of the categories.

    Attributes
    ----------
    limits : Limits
    low, high : (d,) arrays
        The ends of the numbers, in standardised features.
    options : sequence of Options
        The categories, for each column of them.
    """

    limits: Limits
    low: FloatArray
    high: FloatArray
    options: Sequence[Options]

    @classmethod
    def whole(cls, limits: Limits) -> Box:
        """All rows within limits."""
        return cls(limits, *limits.ends, [choice.every for choice in limits.choices])

    @cached_property
    def relaxed(self) -> Relaxed:
        """The box of all features, with categories as if they were numbers, at a cost that is never above theirs."""
        low, high, prices, squared = self.low.copy(), self.high.copy(), self.limits.prices.copy(), 0.0
        for options in self.options:
            own, features = options.relaxed, options.choice.features
            low[features], high[features], prices[features] = own.low, own.high, own.price
            squared += own.squared
        return Relaxed(low, high, prices, squared)

    def rows_at(self, places: FloatArray) -> FloatArray:
        """Rows within limits at places in standardised features, with the first category left in each column.

        Whole numbers are rounded, and what did not move keeps its value to the last bit.
        """
        limits = self.limits
        rows, d = limits.rounded(self.rows_near(places)), limits.n_features
        rows[:, :d] = np.where(places == limits.start, limits.row[:d], np.clip(rows[:, :d], limits.low, limits.high))
        return limits.encoded(rows)

    def rows_near(self, places: FloatArray) -> FloatArray:
        """The same, neither rounded nor held within limits."""
        codes = np.array([options.codes[0] for options in self.options], dtype=np.float64)
        values = self.limits.model.shift + self.limits.model.scale * places
        return self.limits.encoded(np.column_stack([values, np.tile(codes, (len(places), 1))]))

    def projector(self, k: int, shrunk: float = 1.0) -> Projector:
        """Projects on an ellipsoid within the box, or on a smaller one like it."""
        model, (low, high, prices, _) = self.limits.model, self.relaxed
        return Projector(model.centers[k], model.roots[k] / (shrunk * radius_of(model)), low, high, prices)

    def projected(self, k: int) -> Projection:
        """The point of an ellipsoid in the box that is nearest to the row."""
        return self.projector(k).project(self.limits.start)

    def bound(self, proof: HalfSpace) -> float:
        """A squared cost that no row of the box in a half-space falls below."""
        low, high, prices, squared = self.relaxed
        return squared + proof.bound(self.limits.start, low, high, prices)

    def parts(self, place: FloatArray) -> list[Box]:
        """The box in parts, cut where a place is not whole; empty if it is."""
        return next(self._by_categories(place), None) or next(self._by_numbers(place), [])

    def _by_categories(self, place: FloatArray) -> Iterator[list[Box]]:
        unsettled = [i for i, own in enumerate(self.options) if not own.is_settled(place[own.choice.features])]
        if unsettled:
            i = max(unsettled, key=lambda i: len(self.options[i].codes))
            yield [self._with_options(i, part) for part in self.options[i].parts]

    def _with_options(self, i: int, options: Options) -> Box:
        return replace(self, options=[*self.options[:i], options, *self.options[i + 1 :]])

    def _by_numbers(self, place: FloatArray) -> Iterator[list[Box]]:
        model = self.limits.model
        for j in np.flatnonzero(self.limits.is_whole & (self.low < self.high)).tolist():
            value = float(model.shift[j] + model.scale[j] * place[j])
            if abs(value - round(value)) > WHOLE * max(1.0, abs(value)):
                low, high = self.low.copy(), self.high.copy()
                high[j] = (np.floor(value) - model.shift[j]) / model.scale[j]
                low[j] = (np.ceil(value) - model.shift[j]) / model.scale[j]
                yield [replace(self, high=high), replace(self, low=low)]

    def settled(self, place: FloatArray) -> Box:
        """The part of the box nearest to a place with one category in each column, and one value for whole numbers."""
        model, whole = self.limits.model, self.limits.is_whole
        low, high = self.low.copy(), self.high.copy()
        values = np.round(model.shift[whole] + model.scale[whole] * place[whole])
        low[whole] = high[whole] = np.clip((values - model.shift[whole]) / model.scale[whole], low[whole], high[whole])
        return replace(
            self, low=low, high=high, options=[own.nearest(place[own.choice.features]) for own in self.options]
        )


@dataclass(frozen=True, eq=False)
class Leaf:
    """A box and an ellipsoid, with the proof of what it costs at least to be in both.

    Attributes
    ----------
    ellipsoid : int
    box : Box
    proof : HalfSpace
        It holds the ellipsoid.
    bound : float
        A squared cost that no row in both falls below; infinite if there is none.
    """

    ellipsoid: int
    box: Box
    proof: HalfSpace
    bound: float


class Entry(NamedTuple):
    """The point of an ellipsoid that is nearest to the row, in a box with nothing left to choose but numbers."""

    ellipsoid: int
    box: Box
    place: FloatArray
    squared: float


@dataclass(frozen=True, eq=False)
class Reach:
    """How cheap it can be to reach the ellipsoids of a label within limits.

    Attributes
    ----------
    leaves : sequence of Leaf
        Together they hold every row within the limits, for every ellipsoid of the label.
    entries : sequence of Entry
        Ways into ellipsoids that were found.
    """

    leaves: Sequence[Leaf]
    entries: Sequence[Entry]

    @property
    def bound(self) -> float:
        """A squared cost that no row in an ellipsoid of the label falls below; infinite if none can be reached."""
        return min((leaf.bound for leaf in self.leaves), default=np.inf)

    @property
    def cost(self) -> float:
        """The squared cost of the cheapest way found."""
        return min((entry.squared for entry in self.entries), default=np.inf)

    def nearest(self, n: int) -> list[int]:
        """The ellipsoids that may be reached, the cheapest `n` of them, by their bounds."""
        bounds: dict[int, float] = {}
        for leaf in self.leaves:
            bounds[leaf.ellipsoid] = min(bounds.get(leaf.ellipsoid, np.inf), leaf.bound)
        return sorted((k for k in bounds if np.isfinite(bounds[k])), key=bounds.__getitem__)[:n]


def bound_cost(limits: Limits, ellipsoids: IntArray) -> Reach:
    """Bound the cost of reaching any of some ellipsoids, by cutting the cheapest box until it is whole."""
    search = _Search()
    every = Box.whole(limits)
    for k, proof in zip(ellipsoids.tolist(), half_spaces(every, ellipsoids), strict=True):
        search.add(Leaf(k, every, proof, every.bound(proof)))
    search.run()
    return Reach(search.leaves + [leaf for _, _, leaf, _ in search.heap], search.entries)


class _Search:
    """Leaves by their bounds, the cheapest first; a box is projected on only when it comes up."""

    def __init__(self) -> None:
        self.order = count()
        self.heap: list[tuple[float, int, Leaf, Projection | None]] = []
        self.leaves: list[Leaf] = []
        self.entries: list[Entry] = []
        self.best = np.inf
        self.n_left = MOST_PROJECTIONS

    def add(self, leaf: Leaf, found: Projection | None = None) -> None:
        if np.isfinite(leaf.bound):
            heapq.heappush(self.heap, (leaf.bound, next(self.order), leaf, found))
        else:
            self.leaves.append(leaf)

    def run(self) -> None:
        while self.heap and self.n_left > 0 and self.heap[0][0] < self.best * (1.0 - EQUAL):
            _, _, leaf, found = heapq.heappop(self.heap)
            if found is None:
                self._project(leaf)
            else:
                self._cut(leaf, found)

    def _project(self, leaf: Leaf) -> None:
        self.n_left -= 1
        found = leaf.box.projected(leaf.ellipsoid)
        sharper = leaf.box.relaxed.squared + found.bound
        self.add(replace(leaf, proof=found.proof, bound=sharper) if sharper >= leaf.bound else leaf, found)

    def _cut(self, leaf: Leaf, found: Projection) -> None:
        parts = leaf.box.parts(found.point) if found.is_feasible else []
        settled = leaf.box.settled(found.point)
        if parts:
            self.n_left -= 1
            self._enter(leaf.ellipsoid, settled, settled.projected(leaf.ellipsoid))
        else:
            self._enter(leaf.ellipsoid, settled, found)
            self.leaves.append(leaf)
        for part in parts:
            self.add(replace(leaf, box=part, proof=found.proof, bound=max(leaf.bound, part.bound(found.proof))))

    def _enter(self, k: int, box: Box, found: Projection) -> None:
        if found.is_feasible:
            squared = box.relaxed.squared + found.squared
            self.entries.append(Entry(k, box, found.point, squared))
            self.best = min(self.best, squared)


def radius_of(model: SEPModel) -> float:
    """The radius up to which a row counts as in an ellipsoid, hardly above 1."""
    return float(np.sqrt(1.0 + model.slack))


def half_spaces(box: Box, ellipsoids: IntArray) -> list[HalfSpace]:
    """A half-space around each ellipsoid, turned towards the row, which bounds at once how cheap it can be to reach."""
    model, (low, high, prices, _) = box.limits.model, box.relaxed
    centers, roots = model.centers[ellipsoids], model.roots[ellipsoids] / radius_of(model)
    outward = np.einsum("kij,kj->ki", roots, np.clip(box.limits.start, low, high) - centers)
    gauges = np.maximum(np.linalg.norm(outward, axis=1), np.finfo(float).tiny)
    normals = np.einsum("kij,ki->kj", roots, outward / gauges[:, np.newaxis])
    free = (low < high) & (prices > 0.0)
    sizes = ((normals[:, free] / prices[free]) ** 2).sum(axis=1)
    # Where nothing can move towards an ellipsoid, it is in reach or not, and no multiplier makes it dearer.
    can_move = sizes > np.finfo(float).tiny
    multipliers = np.where(can_move, np.maximum(gauges - 1.0, 0.0) / np.where(can_move, sizes, 1.0), 0.0)
    return [HalfSpace(*own) for own in zip(normals, centers, multipliers.tolist(), strict=True)]
